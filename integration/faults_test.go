package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What breaks around a daemon: no crash, no hang, no allow, and the errno that
// a disk would give.

// TestNoSpace fills the backing, by bytes and by inodes.
func TestNoSpace(t *testing.T) {
	w := newWorld(t)
	small := w.tmpfs("root")
	must(t, unix.Mount("", small, "", unix.MS_REMOUNT, "size=1m,nr_inodes=40"))
	m := w.view(allowAll)

	fd, err := unix.Open(m.Path+"/big", unix.O_CREAT|unix.O_WRONLY, 0o644)
	must(t, err)
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	written := 0
	for err == nil && written < 64<<20 {
		var n int
		n, err = unix.Write(fd, chunk)
		written += max(n, 0)
	}
	wantErrno(t, "write to a full disk", err, unix.ENOSPC)
	wantErrno(t, "fallocate on a full disk", unix.Fallocate(fd, 0, 0, 16<<20), unix.ENOSPC)
	must(t, unix.Close(fd))
	if got := read(t, small+"/big"); len(got) != written {
		t.Errorf("the file has %d bytes, %d were written", len(got), written)
	}
	must(t, unix.Unlink(m.Path+"/big"))
	eventually(t, "the room is free again, once the kernel has forgotten the file", func() error {
		return os.WriteFile(m.Path+"/after", chunk, 0o644)
	})

	for i := 0; err != nil && i < 100; i++ {
		if err = unix.Mkdir(fmt.Sprintf("%s/%d", m.Path, i), 0o755); err != nil {
			break
		}
		err = errors.New("not full yet")
	}
	wantErrno(t, "mkdir without inodes", err, unix.ENOSPC)
	wantErrno(t, "create without inodes", open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/more"), unix.ENOSPC)
	wantErrno(t, "symlink without inodes", unix.Symlink("x", m.Path+"/link"), unix.ENOSPC)
	must(t, unix.Rmdir(m.Path+"/0"))
	eventually(t, "there is an inode again", func() error { return os.WriteFile(m.Path+"/more", nil, 0o644) })
}

// TestInputOutputError cuts off the disk under a file system: what is not in a
// cache any more is EIO, and all else goes on.
func TestInputOutputError(t *testing.T) {
	w := newWorld(t)
	dir := w.loopFS("ext4", "disk")
	must(t, os.Mkdir(dir+"/data", 0o755))
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	must(t, os.WriteFile(dir+"/data/far", content, 0o644))
	must(t, os.WriteFile(dir+"/data/near", []byte("near"), 0o644))
	w.policy("agent", allowAll)
	w.write("root/here", "here")
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\nmounts:\n  - {source: ./disk/data, target: /disk, policy: agent}\n"))
	if got := read(t, m.Path+"/disk/near"); got != "near" {
		t.Errorf("before: %q", got)
	}
	command{}.run(t, "sync")
	must(t, os.Truncate(w.path("disk.img"), 4<<20)) // the files' data lie beyond
	must(t, os.WriteFile("/proc/sys/vm/drop_caches", []byte("1"), 0))
	f, err := os.Open(m.Path + "/disk/far")
	must(t, err)
	defer f.Close()
	var failed error
	buf := make([]byte, 64<<10)
	for off := int64(0); off < int64(len(content)) && failed == nil; off += int64(len(buf)) {
		_, failed = f.ReadAt(buf, off)
	}
	wantErrno(t, "read where the disk ends", failed, unix.EIO)
	if got := read(t, m.Path+"/here"); got != "here" {
		t.Errorf("another mount of the view = %q", got)
	}
}

// TestSourceRemoved removes the source under a view, and makes another in its
// place, which is not the one that was mounted.
func TestSourceRemoved(t *testing.T) {
	w := newWorld(t)
	w.write("root/dir/f", "x")
	m := w.view(rule("no", "deny", "create", "/no"), allowAll)
	f, err := os.OpenFile(m.Path+"/dir/f", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, os.RemoveAll(w.path("root")))
	if _, err := f.WriteString("y"); err != nil {
		t.Errorf("write to a file that is open and removed: %v", err)
	}
	eventually(t, "the names are gone", func() error {
		if err := unix.Access(m.Path+"/dir/f", unix.F_OK); err != unix.ENOENT {
			return fmt.Errorf("access = %v", err)
		}
		return nil
	})
	wantErrno(t, "create in a removed source", open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/new"), unix.ENOENT)
	wantErrno(t, "create that is denied", open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/no"), unix.EACCES)
	w.write("root/other", "another")
	wantErrno(t, "a file in the directory that was made in its place", unix.Access(m.Path+"/other", unix.F_OK), unix.ENOENT)
}

// TestPoliciesRemoved has the last good policy hold when its file, and then its
// directory, are gone, and be replaced when they are back.
func TestPoliciesRemoved(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(rule("no", "deny", "create", "/no*"), allowAll)
	for _, c := range []struct{ gone, line string }{
		{"policies/agent.yaml", "there is no policy"}, {"policies", "gone; what was loaded from it stays"},
	} {
		gone := c.gone
		must(t, os.RemoveAll(w.path(gone)))
		eventually(t, "a line on the loss of "+gone, func() error {
			if len(m.output.lines(c.line)) == 0 {
				return errors.New("none yet")
			}
			return nil
		})
		wantErrno(t, "create without "+gone, open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/no"), unix.EACCES)
		if got := read(t, m.Path+"/f"); got != "x" {
			t.Errorf("read without %s = %q", gone, got)
		}
	}
	w.policy("agent", rule("no-f", "deny", "read", "/f"), allowAll)
	eventually(t, "policies that are back", func() error { return wanted(open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/no"), "ok") })
}

// TestAuditDiskFull fills the disk of the audit file while the view is in use.
func TestAuditDiskFull(t *testing.T) {
	w := newWorld(t)
	disk := w.tmpfs("disk")
	must(t, unix.Mount("", disk, "", unix.MS_REMOUNT, "size=64k"))
	w.write("root/secret", "x")
	w.write("root/watched", "x")
	w.policy("agent", rule("no", "deny", "read, open", "/secret"), rule("seen", "audit", "open", "/watched"), allowAll)
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"), auditTo(disk+"/audit.jsonl"))
	wantErrno(t, "an audited open with room", open(unix.O_RDONLY)(m.Path+"/watched"), 0)
	if err := os.WriteFile(disk+"/ballast", make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	for range 200 {
		wantErrno(t, "a denied open without room", open(unix.O_RDONLY)(m.Path+"/secret"), unix.EACCES)
	}
	wantErrno(t, "an audited open without room", open(unix.O_RDONLY)(m.Path+"/watched"), unix.EIO)
	must(t, os.Remove(disk+"/ballast"))
	wantErrno(t, "an audited open with room again", open(unix.O_RDONLY)(m.Path+"/watched"), 0)
	torn := 0
	for line := range strings.Lines(read(t, disk+"/audit.jsonl")) {
		if !json.Valid([]byte(line)) {
			torn++
		}
	}
	if torn > 1 {
		t.Errorf("%d lines are torn, want the one on which the disk was full at most", torn)
	}
	eventually(t, "the log says so, by a pipe", func() error {
		if failed, again := len(m.output.lines("could not be recorded")), len(m.output.lines("are recorded again")); failed != 1 || again != 1 {
			return fmt.Errorf("%d lines say that nothing can be recorded and %d that it can be again, want 1 and 1", failed, again)
		}
		return nil
	})
}

// TestRecordsDiskFull leaves no room for the record of a view: mount goes on
// without, run says why it cannot, and neither leaves half of one.
func TestRecordsDiskFull(t *testing.T) {
	w := newWorld(t)
	disk := w.tmpfs("disk")
	must(t, unix.Mount("", disk, "", unix.MS_REMOUNT, "size=64k"))
	if err := os.WriteFile(disk+"/ballast", make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	env := []string{"XDG_RUNTIME_DIR=" + disk}
	profile, point := w.profile(goodProfile), w.mkdir("mnt")
	command{env: env}.run(t, executable, "mount", "--background", "--metrics", "off", profile, point)
	command{env: env}.run(t, executable, "umount", point)
	eventually(t, "the daemon ends", func() error {
		if pids := daemons(w.Dir); len(pids) > 0 {
			return fmt.Errorf("processes %v", pids)
		}
		return nil
	})
	_, stderr, code := command{env: env}.try(executable, "run", profile, "--", "true")
	wantComplaint(t, "run without room for a record", stderr, code, 1, "no space left")
	if left, err := os.ReadDir(disk + "/sandboxfs"); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v, want nothing", left, err)
	}
}

// TestStoppedDaemon stops the daemon: whoever waits can be killed, and the rest
// goes on with it.
func TestStoppedDaemon(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	w.write("root/g", "x") // whoever waits for another's lookup of one name cannot be killed (Linux 6.18)
	m := w.view(allowAll)
	must(t, m.cmd.Process.Signal(syscall.SIGSTOP))
	defer m.cmd.Process.Signal(syscall.SIGCONT)
	eventually(t, "every thread of the daemon is stopped: whose request was read cannot be killed either", func() error {
		return stopped(m.cmd.Process.Pid)
	})
	victim, patient := command{}.cmd(t.Context(), "cat", m.Path+"/g"), command{}.cmd(t.Context(), "cat", m.Path+"/f")
	var out bytes.Buffer
	patient.Stdout = &out
	must(t, victim.Start())
	must(t, patient.Start())
	time.Sleep(100 * time.Millisecond) // until they wait; a shorter one tests less
	must(t, victim.Process.Kill())
	if err := victim.Wait(); err == nil || victim.ProcessState.Exited() {
		t.Errorf("a client of a stopped daemon: %v, want killed", victim.ProcessState)
	}
	must(t, m.cmd.Process.Signal(syscall.SIGCONT))
	if err := patient.Wait(); err != nil || out.String() != "x" {
		t.Errorf("a client that waited: %v, %q", err, out.String())
	}
}

// stopped returns an error while a thread of the process is not stopped.
func stopped(pid int) error {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("process %d has no threads: %v", pid, err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s: %.1s", file, state)
		}
	}
	return nil
}

// TestKilledWriters kills clients in the middle of their writes: what they wrote
// is a beginning of what they meant to, and nothing of them stays open.
func TestKilledWriters(t *testing.T) {
	w := newWorld(t)
	m := w.view(allowAll)
	handles := m.metric("sandboxfs_open_handles")
	for i := range 10 {
		name := fmt.Sprintf("%s/f%d", m.Path, i)
		writer := command{}.cmd(context.Background(), "sh", "-c", "exec yes 0123456789abcde > "+name)
		must(t, writer.Start())
		eventually(t, "the writer writes", func() error {
			if info, err := os.Stat(filepath.Join(w.path("root"), filepath.Base(name))); err != nil || info.Size() < 1<<20 {
				return errors.New("less than a megabyte yet")
			}
			return nil
		})
		must(t, writer.Process.Kill())
		writer.Wait()
		got := read(t, name)
		if want := strings.Repeat("0123456789abcde\n", len(got)/16+1)[:len(got)]; got != want {
			t.Errorf("%s is no beginning of what was written", name)
		}
		must(t, unix.Unlink(name))
	}
	eventually(t, "all is closed", func() error {
		if now := m.metric("sandboxfs_open_handles"); now != handles {
			return fmt.Errorf("%v handles, %v before", now, handles)
		}
		return nil
	})
}

// TestManyOpenFiles has 10,000 files be open at once.
func TestManyOpenFiles(t *testing.T) {
	const count = 10_000
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if limit.Max < 2*count {
		t.Skipf("the hard limit of open files is %d, and a view uses half of it", limit.Max)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit.Cur, Max: limit.Max})
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit.Max, Max: limit.Max}))
	w := newWorld(t)
	w.policy("agent", allowAll)
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"), underLimit(2*count))
	fds := make([]int, count)
	for i := range fds {
		var err error
		if fds[i], err = unix.Open(fmt.Sprintf("%s/%d", m.Path, i), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o644); err != nil {
			t.Fatalf("open of file %d: %v", i, err)
		}
	}
	buf := make([]byte, 16)
	for i, fd := range fds {
		text := fmt.Sprint(i)
		if _, err := unix.Write(fd, []byte(text)); err != nil {
			t.Fatalf("write to file %d: %v", i, err)
		}
		if n, err := unix.Pread(fd, buf, 0); err != nil || string(buf[:n]) != text {
			t.Fatalf("read of file %d = %q, %v", i, buf[:max(n, 0)], err)
		}
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	eventually(t, "all is closed", func() error {
		if now := m.metric("sandboxfs_open_handles"); now != 0 {
			return fmt.Errorf("%v handles", now)
		}
		return nil
	})
}

// TestManyNames makes, lists and removes 100,000 names in one directory.
func TestManyNames(t *testing.T) {
	count := 100_000
	if !soak {
		count = 20_000
	}
	w := newWorld(t)
	m := w.view(rule("no", "hide", `"*"`, "/d/*7"), allowAll)
	dir := w.mkdir("root/d")
	for i := range count {
		must(t, unix.Mknod(fmt.Sprintf("%s/%d", dir, i), unix.S_IFREG|0o644, 0))
	}
	if got, want := len(names(t, m.Path+"/d")), count-count/10; got != want {
		t.Errorf("list = %d names, want %d", got, want)
	}
	for i := range count {
		err := unix.Unlink(fmt.Sprintf("%s/d/%d", m.Path, i))
		if want := i%10 == 7; (err == unix.ENOENT) != want || err != nil && !want {
			t.Fatalf("unlink of %d: %v", i, err)
		}
	}
	if got := len(names(t, dir)); got != count/10 {
		t.Errorf("%d names are left, want the hidden %d", got, count/10)
	}
}
