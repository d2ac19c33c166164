package bazil

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// The deny-all matrix: every operation that takes a name, tried where it is
// denied, asked for, hidden, on a readonly mount, and where no mount is. Each
// gives the errno of the contract, changes nothing of the backing, and leaves
// one event for each decision, which names the rule, and one count.
// Operations on open descriptors are in turned_test.go, and what no system call
// can bring about, or what is refused whatever a policy says, in refusal_test.go.

// site is where a row is tried, as paths on the view.
type site struct {
	subject string // what the rule of the row speaks of
	other   string // a file that may be used for everything
	fresh   string // a name that is not there and may be made
}

// row is one operation on a name.
type row struct {
	request string    // of the transport, as operations.go calls it
	op      policy.Op // that the rule of the row names
	subject string    // "file", "dir", "link" or "new", a name that is not there
	act     func(s site) error

	// synth is what becomes of it on a synthesised directory, and of a new name
	// in one. Its errno is the kernel's own where it has no rule.
	synth answer
}

// answer is an errno with the rule that made it.
type answer struct {
	errno unix.Errno
	rule  *policy.Rule
}

var (
	nothing   = answer{}
	unmounted = answer{unix.EACCES, policy.Unmounted}
	pinned    = answer{unix.EBUSY, policy.Mountpoint}
)

var rows = []row{
	{"lookup", policy.Stat, "file", func(s site) error { return unix.Lstat(s.subject, new(unix.Stat_t)) }, nothing},
	{"readlink", policy.Readlink, "link", func(s site) error { _, err := unix.Readlink(s.subject, make([]byte, 99)); return err }, answer{unix.EINVAL, nil}},
	{"open", policy.Open, "file", opening(unix.O_RDONLY), nothing},
	{"open", policy.Open, "file", opening(unix.O_WRONLY), answer{unix.EISDIR, nil}},
	{"open", policy.Open, "file", opening(unix.O_RDWR), answer{unix.EISDIR, nil}},
	{"open", policy.Open, "file", execute, answer{unix.EACCES, nil}},
	{"open", policy.Read, "file", opening(unix.O_RDONLY), nothing},
	{"open", policy.Read, "file", opening(unix.O_RDWR), answer{unix.EISDIR, nil}},
	{"open", policy.Write, "file", opening(unix.O_WRONLY), answer{unix.EISDIR, nil}},
	{"open", policy.Write, "file", opening(unix.O_WRONLY | unix.O_TRUNC), answer{unix.EISDIR, nil}},
	{"open", policy.Exec, "file", execute, answer{unix.EACCES, nil}},
	{"opendir", policy.List, "dir", opening(unix.O_RDONLY | unix.O_DIRECTORY), nothing},
	{"setattr", policy.Chmod, "file", func(s site) error { return unix.Chmod(s.subject, 0o600) }, unmounted},
	{"setattr", policy.Chown, "file", func(s site) error { return unix.Chown(s.subject, unix.Geteuid(), unix.Getegid()) }, unmounted},
	{"setattr", policy.Utimes, "file", func(s site) error { return unix.UtimesNano(s.subject, []unix.Timespec{{}, {}}) }, unmounted},
	{"setattr", policy.Truncate, "file", func(s site) error { return unix.Truncate(s.subject, 3) }, answer{unix.EISDIR, nil}},
	{"create", policy.Create, "new", opening(unix.O_CREAT | unix.O_WRONLY), unmounted},
	{"create", policy.Create, "new", opening(unix.O_CREAT | unix.O_EXCL | unix.O_RDWR), unmounted},
	{"mknod", policy.Create, "new", func(s site) error { return unix.Mknod(s.subject, unix.S_IFREG|0o600, 0) }, unmounted},
	{"mknod", policy.Mknod, "new", func(s site) error { return unix.Mkfifo(s.subject, 0o600) }, unmounted},
	{"mknod", policy.Mknod, "new", func(s site) error { return unix.Mknod(s.subject, unix.S_IFSOCK|0o600, 0) }, unmounted},
	{"mkdir", policy.Mkdir, "new", func(s site) error { return unix.Mkdir(s.subject, 0o700) }, unmounted},
	{"symlink", policy.Symlink, "new", func(s site) error { return unix.Symlink("target", s.subject) }, unmounted},
	{"link", policy.Link, "new", func(s site) error { return unix.Link(s.other, s.subject) }, unmounted},
	{"link", policy.Read, "file", func(s site) error { return unix.Link(s.subject, s.fresh) }, answer{unix.EPERM, nil}},
	{"link", policy.Write, "file", func(s site) error { return unix.Link(s.subject, s.fresh) }, answer{unix.EPERM, nil}},
	{"unlink", policy.Unlink, "file", func(s site) error { return unix.Unlink(s.subject) }, answer{unix.EISDIR, nil}},
	{"unlink", policy.Delete, "file", func(s site) error { return unix.Unlink(s.subject) }, answer{unix.EISDIR, nil}},
	{"rmdir", policy.Rmdir, "dir", func(s site) error { return unix.Rmdir(s.subject) }, pinned},
	{"rename", policy.Rename, "file", func(s site) error { return unix.Rename(s.subject, s.fresh) }, pinned},
	{"rename", policy.Rename, "dir", func(s site) error { return unix.Rename(s.subject, s.fresh) }, pinned},
	{"rename", policy.Create, "new", func(s site) error { return unix.Rename(s.other, s.subject) }, unmounted},
	{"rename", policy.Write, "file", func(s site) error { return unix.Rename(s.other, s.subject) }, answer{unix.EISDIR, nil}},
	{"getxattr", policy.Getxattr, "file", func(s site) error { _, err := unix.Getxattr(s.subject, "user.x", make([]byte, 9)); return err }, unmounted},
	{"listxattr", policy.Getxattr, "file", func(s site) error { _, err := unix.Listxattr(s.subject, make([]byte, 99)); return err }, unmounted},
	{"setxattr", policy.Setxattr, "file", func(s site) error { return unix.Setxattr(s.subject, "user.x", []byte("new"), 0) }, unmounted},
	{"removexattr", policy.Setxattr, "file", func(s site) error { return unix.Removexattr(s.subject, "user.x") }, unmounted},
	{"setlk", policy.Lock, "file", locking, nothing}, // the kernel keeps the locks of directories itself
}

func opening(flags int) func(s site) error {
	return func(s site) error {
		fd, err := unix.Open(s.subject, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func locking(s site) error {
	fd, err := unix.Open(s.subject, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)
}

// execute runs a script by way of a shell, which says 126 for EACCES and 127
// for ENOENT: this process would stop until it had answered itself.
func execute(s site) error {
	err := exec.Command("/bin/sh", "-c", `exec "$0"`, s.subject).Run()
	if exit, ok := err.(*exec.ExitError); ok {
		switch exit.ExitCode() {
		case 126:
			return unix.EACCES
		case 127:
			return unix.ENOENT
		}
	}
	return err
}

// asks returns the operation that the gate is asked for. None asks for delete:
// a rule that names it speaks of unlink, rmdir and rename.
func (r *row) asks() policy.Op {
	if r.op == policy.Delete {
		return policy.Unlink
	}
	return r.op
}

// changes reports whether the row would change something, were it allowed.
func (r *row) changes() bool {
	readWrite := r.request == "open" && r.synth.errno == unix.EISDIR
	return policy.ChangeOps.Has(r.op) || r.request == "link" || readWrite
}

// label names the row in the matrix that is printed.
func (r *row) label(i int) string {
	return fmt.Sprintf("%02d %s, %s, %s", i, r.request, r.op, r.subject)
}

// place returns the name of the row's directory.
func (r *row) place(i int) string { return fmt.Sprintf("%02d-%s-%s", i, r.request, r.op) }

// ruled returns a rule for each row, named as its directory, and a last one that
// allows the rest. The rule speaks of all operations, or with alone of that of
// the row and none that it includes.
func ruled(decision string, alone bool) []string {
	var rules []string
	for i := range rows {
		r := &rows[i]
		for _, dir := range []string{r.place(i), r.place(i) + "-other"} {
			op, path := "*", fmt.Sprintf("/%s/%s", dir, r.subject)
			if alone {
				op = r.op.String()
			}
			if finer := r.op.Covers() &^ r.op.Set(); alone && finer != 0 && r.op != policy.Delete {
				rules = append(rules, fmt.Sprintf("%s-finer allow %s %s", dir, finer, path))
			}
			rules = append(rules, fmt.Sprintf("%s %s %s %s", dir, decision, op, path))
		}
	}
	return append(rules, "all allow * /**")
}

// lineOf returns the line on which parsePolicy writes the rule of that name.
func lineOf(rules []string, name string) int {
	return 3 + slices.IndexFunc(rules, func(r string) bool { return strings.HasPrefix(r, name+" ") })
}

// fill makes the directory of a row in the backing.
func fill(t *testing.T, dir string) {
	t.Helper()
	check(t, unix.Mkdir(dir, 0o755), nil, "mkdir("+dir+")")
	check(t, unix.Mkdir(dir+"/dir", 0o755), nil, "mkdir(dir)")
	check(t, unix.Symlink("file", dir+"/link"), nil, "symlink(link)")
	for _, name := range []string{"/file", "/other", "/dir/inner"} {
		makeFile(t, dir+name, "#!/bin/sh\nexit 0\n")
		check(t, unix.Chmod(dir+name, 0o755), nil, "chmod")
		check(t, unix.Setxattr(dir+name, "user.x", []byte("value"), 0), nil, "setxattr")
	}
}

// matrix mounts a view with a directory for each row, under that policy.
func matrix(t *testing.T, readonly bool, rules []string) *view {
	t.Helper()
	source := tempDir(t)
	for i := range rows {
		fill(t, filepath.Join(source, rows[i].place(i)))
	}
	tree, err := backing.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	layers := []overlay.Layer{{Kind: "mount", Policy: parsePolicy(t, rules)}}
	v, err := overlay.New([]overlay.Mount{{Target: vpath.Root, Source: source, ReadOnly: readonly, Layers: layers}})
	if err != nil {
		t.Fatal(err)
	}
	return mountView(t, source, v, tree)
}

// siteOf returns where a row is tried in a directory of the view.
func (w *view) siteOf(dir, subject string) site {
	at := filepath.Join(w.at, dir)
	return site{at + "/" + subject, at + "/other", at + "/fresh"}
}

// try does something that must not change the directory dir of the backing, and
// returns the events it left and its error. There is one event for each count
// of a refusal.
func (w *view) try(t *testing.T, dir string, act func() error) ([]fs.Access, error) {
	t.Helper()
	tree, counts, start := snapshot(t, dir), w.refusals(), w.records.count()
	err := act()
	events := w.records.since(start)
	wantSame(t, tree, snapshot(t, dir))
	for _, e := range events {
		counts[fmt.Sprintf("%s %s %s", e.Verdict.Decision, e.Mount, e.Op)]++
	}
	if now := w.refusals(); !reflect.DeepEqual(now, counts) {
		t.Errorf("the counters of decisions are %v; by the events they should be %v", now, counts)
	}
	return events, err
}

// wantEvents checks that there are events, and that each names the rule and has
// the errno that the caller saw.
func wantEvents(t *testing.T, events []fs.Access, rule string, d policy.Decision, errno error) {
	t.Helper()
	if len(events) == 0 {
		t.Errorf("no event, want one with rule %s", rule)
	}
	for _, e := range events {
		if e.Verdict.Rule.Name != rule || e.Verdict.Decision != d || error(e.Errno) != errno {
			t.Errorf("event %s of %s: %s by %s with errno %v; want %s by %s with %v",
				e.Op, e.Path, e.Verdict.Decision, e.Verdict.Rule.Name, e.Errno, d, rule, errno)
		}
		if int(e.Uid) != unix.Geteuid() || e.Pid == 0 || e.Generation == 0 {
			t.Errorf("event of uid %d, pid %d in generation %d", e.Uid, e.Pid, e.Generation)
		}
	}
}

func TestMatrixDenied(t *testing.T) {
	rules := ruled("deny", true)
	w := matrix(t, false, rules)
	for i := range rows {
		r := &rows[i]
		dir := r.place(i)
		t.Run(dir, func(t *testing.T) {
			events, err := w.try(t, filepath.Join(w.backing, dir), func() error { return r.act(w.siteOf(dir, r.subject)) })
			note("denied", r.label(i), err)
			check(t, err, unix.EACCES, dir)
			wantEvents(t, events, dir, policy.Deny, unix.EACCES)
			if len(events) != 1 {
				t.Fatalf("%d events for one decision: %v", len(events), events)
			}
			e := events[0]
			if e.Op != r.asks() || string(e.Path) != "/"+dir+"/"+r.subject || e.Mount != vpath.Root {
				t.Errorf("event %s of %s on %s, want %s of /%s/%s on /", e.Op, e.Path, e.Mount, r.asks(), dir, r.subject)
			}
			if at := e.Verdict.Rule.Pos; at.File != "matrix.yaml" || at.Line != lineOf(rules, dir) || at.Col == 0 {
				t.Errorf("the event says that the rule stands at %v", at)
			}
		})
	}
}

func TestMatrixAsked(t *testing.T) {
	w := matrix(t, false, ruled("ask", true))
	for i := range rows {
		r := &rows[i]
		dir := r.place(i)
		t.Run(dir, func(t *testing.T) {
			events, err := w.try(t, filepath.Join(w.backing, dir), func() error { return r.act(w.siteOf(dir, r.subject)) })
			note("asked", r.label(i), err)
			check(t, err, unix.EACCES, dir)
			wantEvents(t, events, "builtin:no-approver", policy.Deny, unix.EACCES)
		})
	}
}

// TestMatrixHidden tries each operation on a hidden name that is there and on
// one that is not: the answers and the events are the same. X-06.
func TestMatrixHidden(t *testing.T) {
	w := matrix(t, false, ruled("hide", false))
	for i := range rows {
		r := &rows[i]
		dir := r.place(i)
		t.Run(dir, func(t *testing.T) {
			counterpart(t, filepath.Join(w.backing, dir+"-other"), r.subject)
			var asked [2][]policy.Op
			for j, dir := range []string{dir, dir + "-other"} {
				events, err := w.try(t, filepath.Join(w.backing, dir), func() error { return r.act(w.siteOf(dir, r.subject)) })
				note("hidden", r.label(i), err)
				check(t, err, unix.ENOENT, dir)
				wantEvents(t, events, dir, policy.Hide, unix.ENOENT)
				for _, e := range events {
					asked[j] = append(asked[j], e.Op)
				}
			}
			if !slices.Equal(asked[0], asked[1]) {
				t.Errorf("events %v and %v tell whether a hidden name is there", asked[0], asked[1])
			}
		})
	}
	for i := range rows {
		if got := namesIn(t, filepath.Join(w.at, rows[i].place(i))); slices.Contains(got, rows[i].subject) {
			t.Errorf("the listing of %s shows %s", rows[i].place(i), rows[i].subject)
		}
	}
}

// counterpart makes a directory like that of a row, but for the subject: it is
// there where it was not, and is not where it was.
func counterpart(t *testing.T, dir, subject string) {
	t.Helper()
	fill(t, dir)
	if subject == "new" {
		makeFile(t, dir+"/new", "")
		return
	}
	check(t, unix.Rename(dir+"/"+subject, dir+"/was"), nil, "rename")
}

func TestMatrixReadonly(t *testing.T) {
	w := matrix(t, true, []string{"all allow * /**"})
	for i := range rows {
		r := &rows[i]
		dir := r.place(i)
		t.Run(dir, func(t *testing.T) {
			events, err := w.try(t, filepath.Join(w.backing, dir), func() error { return r.act(w.siteOf(dir, r.subject)) })
			note("readonly", r.label(i), err)
			if !r.changes() {
				check(t, err, nil, dir)
				if len(events) > 0 {
					t.Errorf("events of what is allowed: %v", events)
				}
				return
			}
			check(t, err, unix.EROFS, dir)
			wantEvents(t, events, "builtin:readonly-mount", policy.Deny, unix.EROFS)
			if len(events) != 1 {
				t.Errorf("%d events for one decision: %v", len(events), events)
			}
		})
	}
}

// TestMatrixUnmounted tries each operation on /s/m, which is there because a
// mount lies below, and on /s/new, which is not.
func TestMatrixUnmounted(t *testing.T) {
	source := tempDir(t)
	var mounts []overlay.Mount
	var trees []backing.Tree
	for name, target := range map[string]vpath.Path{"/a": "/s/m/n", "/b": "/o"} {
		fill(t, source+name)
		tree, err := backing.Open(source + name)
		if err != nil {
			t.Fatal(err)
		}
		layers := []overlay.Layer{{Kind: "mount", Policy: allowAll()}}
		mounts, trees = append(mounts, overlay.Mount{Target: target, Source: source + name, Layers: layers}), append(trees, tree)
	}
	v, err := overlay.New(mounts)
	if err != nil {
		t.Fatal(err)
	}
	w := mountView(t, source, v, trees...)
	for i := range rows {
		r := &rows[i]
		t.Run(r.place(i), func(t *testing.T) {
			at := site{w.at + "/s/m", w.at + "/o/other", w.at + "/s/fresh"}
			if r.subject == "new" {
				at.subject = w.at + "/s/new"
			}
			events, err := w.try(t, source, func() error { return r.act(at) })
			note("unmounted", r.label(i), err)
			if r.synth.errno == 0 {
				check(t, err, nil, r.place(i))
			} else {
				check(t, err, r.synth.errno, r.place(i))
			}
			if r.synth.rule != nil {
				wantEvents(t, events, r.synth.rule.Name, policy.Deny, r.synth.errno)
			} else if len(events) > 0 {
				t.Errorf("events of what reaches no decision: %v", events)
			}
			if got := namesIn(t, w.at+"/s"); !slices.Equal(got, []string{"m"}) {
				t.Errorf("the synthesised directory lists %q", got)
			}
		})
	}
}

// namesIn returns the names that a directory lists.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open("+dir+")")
	defer unix.Close(fd)
	buf := make([]byte, 1<<16)
	n, err := unix.Getdents(fd, buf)
	check(t, err, nil, "getdents("+dir+")")
	_, _, names := unix.ParseDirent(buf[:n], -1, nil)
	slices.SortFunc(names, strings.Compare)
	return names
}
