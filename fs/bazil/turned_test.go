package bazil

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// What was opened, mapped or looked up before a policy has turned obeys the new
// one within a second. S1-09, X-05.

// heldRow is one operation on a descriptor.
type heldRow struct {
	request string
	op      policy.Op
	on      string // "file", "dir" or "link"
	act     func(fd int) error
}

var heldRows = []heldRow{
	{"getattr", policy.Stat, "file", func(fd int) error { return unix.Fstat(fd, new(unix.Stat_t)) }},
	{"statfs", policy.Stat, "file", func(fd int) error { return unix.Fstatfs(fd, new(unix.Statfs_t)) }},
	{"read", policy.Read, "file", func(fd int) error { _, err := unix.Pread(fd, make([]byte, 9), 0); return err }},
	{"read", policy.Read, "file", func(fd int) error { return sending(fd) }},
	{"write", policy.Write, "file", func(fd int) error { _, err := unix.Pwrite(fd, []byte("new"), 0); return err }},
	{"fallocate", policy.Write, "file", func(fd int) error { return unix.Fallocate(fd, 0, 0, 9000) }},
	{"fallocate", policy.Write, "file", func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 5)
	}},
	{"fsync", policy.Write, "file", unix.Fsync},
	{"fsync", policy.Write, "file", unix.Fdatasync},
	{"setattr", policy.Truncate, "file", func(fd int) error { return unix.Ftruncate(fd, 3) }},
	{"setattr", policy.Truncate, "file", func(fd int) error { return unix.Ftruncate(fd, 0) }},
	{"setattr", policy.Chmod, "file", func(fd int) error { return unix.Fchmod(fd, 0o600) }},
	{"setattr", policy.Chown, "file", func(fd int) error { return unix.Fchown(fd, unix.Geteuid(), unix.Getegid()) }},
	{"setattr", policy.Utimes, "file", func(fd int) error {
		return unix.UtimesNanoAt(fd, "", []unix.Timespec{{}, {}}, unix.AT_EMPTY_PATH)
	}},
	{"getxattr", policy.Getxattr, "file", func(fd int) error { _, err := unix.Fgetxattr(fd, "user.x", make([]byte, 9)); return err }},
	{"listxattr", policy.Getxattr, "file", func(fd int) error { _, err := unix.Flistxattr(fd, make([]byte, 99)); return err }},
	{"setxattr", policy.Setxattr, "file", func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("new"), 0) }},
	{"removexattr", policy.Setxattr, "file", func(fd int) error { return unix.Fremovexattr(fd, "user.x") }},
	{"setlk", policy.Lock, "file", func(fd int) error { return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) }},
	{"open", policy.Open, "file", func(fd int) error { return reopening(fd, unix.O_RDONLY) }},
	{"open", policy.Write, "file", func(fd int) error { return reopening(fd, unix.O_WRONLY) }},
	{"readlink", policy.Readlink, "link", func(fd int) error { _, err := unix.Readlinkat(fd, "", make([]byte, 99)); return err }},
	{"readdir", policy.List, "dir", func(fd int) error { _, err := unix.Getdents(fd, make([]byte, 999)); return err }},
	{"fsyncdir", policy.List, "dir", unix.Fsync},
	{"setattr", policy.Chmod, "dir", func(fd int) error { return unix.Fchmod(fd, 0o700) }},
	{"setxattr", policy.Setxattr, "dir", func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("new"), 0) }},
}

// sending copies a file into a pipe within the kernel.
func sending(fd int) error {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	off := int64(0)
	_, err := unix.Sendfile(pipe[1], fd, &off, 9)
	return err
}

// reopening opens what fd holds once more.
func reopening(fd, flags int) error {
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), flags|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(again)
	}
	return err
}

// place returns the name of the row's directory.
func (r *heldRow) place(i int) string { return fmt.Sprintf("%02d-%s-%s", i, r.request, r.op) }

// label names the row in the matrix that is printed.
func (r *heldRow) label(i int) string {
	return fmt.Sprintf("%02d %s, %s, open %s", len(rows)+i, r.request, r.op, r.on)
}

// heldRuled returns a rule for each row, as ruled does.
func heldRuled(decision string, alone bool) []string {
	var rules []string
	for i := range heldRows {
		r := &heldRows[i]
		op, path := "*", fmt.Sprintf("/%s/%s", r.place(i), r.on)
		if alone {
			op = r.op.String()
		}
		if finer := r.op.Covers() &^ r.op.Set(); alone && finer != 0 {
			rules = append(rules, fmt.Sprintf("%s-finer allow %s %s", r.place(i), finer, path))
		}
		rules = append(rules, fmt.Sprintf("%s %s %s %s", r.place(i), decision, op, path))
	}
	return append(rules, "all allow * /**")
}

// hold mounts a view that allows everything, and opens what each row is tried on.
func hold(t *testing.T) (*view, []int) {
	t.Helper()
	w := mount(t, allowAll())
	fds := make([]int, len(heldRows))
	for i := range heldRows {
		r := &heldRows[i]
		fill(t, filepath.Join(w.backing, r.place(i)))
		check(t, unix.Setxattr(filepath.Join(w.backing, r.place(i), "dir"), "user.x", []byte("value"), 0), nil, "setxattr")
		flags := map[string]int{"file": unix.O_RDWR, "dir": unix.O_RDONLY, "link": unix.O_PATH | unix.O_NOFOLLOW}[r.on]
		fd, err := unix.Open(filepath.Join(w.at, r.place(i), r.on), flags|unix.O_CLOEXEC, 0)
		check(t, err, nil, "open "+r.place(i))
		fds[i] = fd
		t.Cleanup(func() { unix.Close(fd) })
		if r.on == "file" {
			_, err := unix.Pread(fd, make([]byte, 9), 0) // its page is in the cache
			check(t, err, nil, "pread")
		}
		check(t, unix.Fstat(fd, new(unix.Stat_t)), nil, "fstat")
	}
	return w, fds
}

// untilRefused repeats an operation that the kernel may answer from its cache
// for a moment after the turn.
func untilRefused(t *testing.T, what string, act func() error) error {
	t.Helper()
	var err error
	eventually(t, what+" is refused", func() bool {
		err = act()
		return err != nil
	})
	return err
}

func TestTurnedToDeny(t *testing.T) {
	w, fds := hold(t)
	if err := w.server.Swap(rootView(t, w.backing, parsePolicy(t, heldRuled("deny", true)))); err != nil {
		t.Fatal(err)
	}
	for i := range heldRows {
		r := &heldRows[i]
		dir := r.place(i)
		t.Run(dir+"-"+r.on, func(t *testing.T) {
			events, err := w.try(t, filepath.Join(w.backing, dir), func() error {
				return untilRefused(t, dir, func() error { return r.act(fds[i]) })
			})
			note("denied", r.label(i), err)
			check(t, err, unix.EACCES, dir)
			wantEvents(t, events, dir, policy.Deny, unix.EACCES)
			for _, e := range events { // two of a read: the kernel reads ahead, then a page
				if e.Op != r.op || string(e.Path) != "/"+dir+"/"+r.on {
					t.Errorf("event %s of %s, want %s of /%s/%s", e.Op, e.Path, r.op, dir, r.on)
				}
			}
		})
	}
	// And back: another turn gives access again.
	if err := w.server.Swap(rootView(t, w.backing, allowAll())); err != nil {
		t.Fatal(err)
	}
	for i := range heldRows {
		eventually(t, heldRows[i].place(i)+" is allowed again", func() bool { return heldRows[i].act(fds[i]) == nil })
	}
}

func TestTurnedToHide(t *testing.T) {
	w, fds := hold(t)
	if err := w.server.Swap(rootView(t, w.backing, parsePolicy(t, heldRuled("hide", false)))); err != nil {
		t.Fatal(err)
	}
	for i := range heldRows {
		r := &heldRows[i]
		dir := r.place(i)
		t.Run(dir+"-"+r.on, func(t *testing.T) {
			events, err := w.try(t, filepath.Join(w.backing, dir), func() error {
				return untilRefused(t, dir, func() error { return r.act(fds[i]) })
			})
			note("hidden", r.label(i), err)
			check(t, err, unix.ENOENT, dir)
			wantEvents(t, events, dir, policy.Hide, unix.ENOENT)
		})
		path := filepath.Join(w.at, dir, r.on)
		eventually(t, path+" is gone", func() bool { return unix.Lstat(path, new(unix.Stat_t)) == unix.ENOENT })
	}
}

func TestTurnedToReadonly(t *testing.T) {
	w, fds := hold(t)
	mounts := rootView(t, w.backing, allowAll()).Mounts()
	mounts[0].ReadOnly = true
	readonly, err := overlay.New(mounts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Swap(readonly); err != nil {
		t.Fatal(err)
	}
	for i := range heldRows {
		r := &heldRows[i]
		dir := r.place(i)
		t.Run(dir+"-"+r.on, func(t *testing.T) {
			events, err := w.try(t, filepath.Join(w.backing, dir), func() error { return r.act(fds[i]) })
			note("readonly", r.label(i), err)
			if !policy.ChangeOps.Has(r.op) {
				check(t, err, nil, dir)
				return
			}
			check(t, err, unix.EROFS, dir)
			wantEvents(t, events, "builtin:readonly-mount", policy.Deny, unix.EROFS)
		})
	}
}

// mapped names the file that a process of TestTurnedMapping maps.
const mapped = "SANDBOXFS_TEST_MAPPED"

// TestTurnedMapping reads a mapped page, and writes to one, after the turn.
func TestTurnedMapping(t *testing.T) {
	for _, c := range []struct {
		op   string
		want string
	}{
		{"read", "SIGBUS\n"},
		{"write", "permission denied\n"}, // of msync
	} {
		t.Run(c.op, func(t *testing.T) {
			w := mount(t, allowAll())
			makeFile(t, w.backing+"/file", "content")
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), mapped+"="+w.at+"/file", mappedOp+"="+c.op, quickExit)
			cmd.Stderr = os.Stderr
			in, err := cmd.StdinPipe()
			check(t, err, nil, "pipe")
			out, err := cmd.StdoutPipe()
			check(t, err, nil, "pipe")
			check(t, cmd.Start(), nil, "start")
			defer cmd.Wait()
			defer in.Close()
			lines := bufio.NewReader(out)
			if line, err := lines.ReadString('\n'); line != "content\n" {
				t.Fatalf("the mapping before the turn = %q, %v", line, err)
			}
			rules := []string{"finer allow stat,open /**", "no-" + c.op + " deny " + c.op + " /file", "all allow * /**"}
			if err := w.server.Swap(rootView(t, w.backing, parsePolicy(t, rules))); err != nil {
				t.Fatal(err)
			}
			io.WriteString(in, "turned\n")
			if line, err := lines.ReadString('\n'); line != c.want {
				t.Errorf("the mapping after the turn: %q, %v; want %q", line, err, c.want)
			}
			if got, err := os.ReadFile(w.backing + "/file"); string(got) != "content" || err != nil {
				t.Errorf("the backing has %q, %v", got, err)
			}
			for _, e := range w.records.since(0) { // of write-back nobody knows the process
				if e.Verdict.Rule.Name != "no-"+c.op || e.Path != "/file" || e.Errno != unix.EACCES {
					t.Errorf("event %s of %s by %s with %v", e.Op, e.Path, e.Verdict.Rule.Name, e.Errno)
				}
			}
			if w.records.count() == 0 {
				t.Error("no event")
			}
		})
	}
}

const mappedOp = "SANDBOXFS_TEST_MAPPED_OP"

// useMapping maps a file and uses it, before and after the test has said that
// the policy has turned, until that fails. It runs in a process of its own: a
// page fault stops this one until it is answered.
func useMapping(path string) {
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	fail(err)
	m, err := unix.Mmap(fd, 0, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	fail(err)
	debug.SetPanicOnFault(true)
	defer func() {
		if recover() != nil {
			fmt.Println("SIGBUS")
		}
	}()
	fmt.Println(string(m))
	bufio.NewReader(os.Stdin).ReadString('\n')
	for range 1000 {
		if os.Getenv(mappedOp) == "write" {
			copy(m, "CON")
			if err := unix.Msync(m, unix.MS_SYNC); err != nil {
				fmt.Println(err)
				return
			}
		}
		sum += int(m[0])
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("nothing")
}

// sum is what the mapping was read for.
var sum int

func fail(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
