package integration

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mapper is a helper that maps a file and reads ("read") or writes ("write C")
// its first byte when asked. A process of its own, because a page fault that
// waits for a daemon holds up the Go runtime of the process that has it.
func mapper(args []string) error {
	fd, err := unix.Open(args[0], unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	page, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	unix.Close(fd)
	debug.SetPanicOnFault(true)
	return answer(func(line string) (reply string) {
		defer func() {
			if recover() != nil {
				reply = "SIGBUS"
			}
		}()
		if letter, ok := strings.CutPrefix(line, "write "); ok {
			page[0] = letter[0]
			return errno(unix.Msync(page, unix.MS_SYNC))
		}
		return fmt.Sprintf("read %c", page[0])
	})
}

// access is every way in which the kernel may still hold on to a file.
type access struct {
	path   string
	fd     int
	mapped *dialogue
}

// hold opens, maps, stats and reads a file, so that all of it is cached.
func hold(t *testing.T, path string) *access {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	a := &access{path, fd, converse(t, 0, "mapper", path)}
	if err := a.all("ok", "ok"); err != nil {
		t.Fatal("before any reload: ", err)
	}
	return a
}

// all checks what each way gives: byName for the name's own operations, byFD
// for the descriptor's. A mapped page gives SIGBUS where the descriptor fails.
func (a *access) all(byName, byFD string) error {
	_, readErr := unix.Pread(a.fd, make([]byte, 1), 0)
	_, writeErr := unix.Pwrite(a.fd, []byte("x"), 0)
	got := []string{
		errno(unix.Lstat(a.path, new(unix.Stat_t))), errno(open(unix.O_RDONLY)(a.path)),
		errno(readErr), errno(writeErr), a.mapped.ask("read"),
	}
	want := []string{byName, byName, byFD, byFD, map[bool]string{true: "read x", false: "SIGBUS"}[byFD == "ok"]}
	if !slices.Equal(got, want) {
		return fmt.Errorf("stat, open, pread, pwrite, mapped = %q, want %q", got, want)
	}
	return nil
}

// wantAll waits until every way gives the same.
func (a *access) wantAll(t *testing.T, when, byName, byFD string) {
	t.Helper()
	eventually(t, when, func() error { return a.all(byName, byFD) })
}

// TestLiveRevocation has a policy edit reach an open descriptor, a mapped page,
// a cached name and its attributes, and another edit give access back. S1-09, X-05.
func TestLiveRevocation(t *testing.T) {
	w := newWorld(t)
	w.write("root/dir/f", "x content")
	m := w.view(allowAll)
	a := hold(t, m.Path+"/dir/f")
	for range 2 {
		w.policy("agent", rule("revoked", "deny", `"*"`, "/dir/f"), allowAll)
		a.wantAll(t, "denied", "EACCES", "EACCES")
		w.policy("agent", allowAll)
		a.wantAll(t, "allowed again", "ok", "ok")
		w.policy("agent", rule("revoked", "hide", `"*"`, "/dir/f"), allowAll)
		a.wantAll(t, "hidden", "ENOENT", "ENOENT")
		if got := names(t, m.Path+"/dir"); len(got) != 0 {
			t.Errorf("list(/dir) with its file hidden = %q, want nothing", got)
		}
		w.policy("agent", allowAll)
		a.wantAll(t, "shown again", "ok", "ok")
		if got := names(t, m.Path+"/dir"); !slices.Equal(got, []string{"f"}) {
			t.Errorf("list(/dir) with its file shown again = %q, want f", got)
		}
	}
	m.wantEvent("read", "/dir/f", "revoked")
	if m.metric("sandboxfs_policy_reloads_total", `result="ok"`) < 4 {
		t.Error(`sandboxfs_policy_reloads_total{result="ok"} < 4 after four reloads and more`)
	}
	if m.metric("sandboxfs_invalidations_total") == 0 {
		t.Error("sandboxfs_invalidations_total = 0 after reloads that changed verdicts")
	}
}

// TestRevokeByDirectory has the denial of a directory's stat reach what was
// cached below it, and a denial of reading alone leave names and writing as
// they are. X-05.
func TestRevokeByDirectory(t *testing.T) {
	w := newWorld(t)
	w.write("root/dir/sub/f", "x content")
	m := w.view(allowAll)
	fd, err := unix.Open(m.Path+"/dir/sub/f", unix.O_RDWR, 0)
	must(t, err)
	defer unix.Close(fd)
	wantErrno(t, "stat(/dir/absent)", unix.Lstat(m.Path+"/dir/absent", new(unix.Stat_t)), unix.ENOENT)
	w.policy("agent", rule("look", "allow", "stat, open", "/dir/sub/f"), rule("no-read", "deny", "read", "/dir/sub/f"), allowAll)
	eventually(t, "only reading is denied", func() error {
		_, r := unix.Pread(fd, make([]byte, 1), 0)
		_, w := unix.Pwrite(fd, []byte("x"), 0)
		s := unix.Lstat(m.Path+"/dir/sub/f", new(unix.Stat_t))
		if errno(r) != "EACCES" || w != nil || s != nil {
			return fmt.Errorf("pread, pwrite, stat = %s, %s, %s, want EACCES, ok, ok", errno(r), errno(w), errno(s))
		}
		return nil
	})
	w.policy("agent", rule("no-dir", "deny", `"*"`, "/dir/**"), allowAll)
	eventually(t, "a name below a denied directory", func() error {
		if got := errno(unix.Lstat(m.Path+"/dir/sub/f", new(unix.Stat_t))); got != "EACCES" {
			return fmt.Errorf("stat = %s, want EACCES", got)
		}
		return nil
	})
}

// TestRevokedMapping has a page that was mapped writable change nothing on the
// host once writing is denied. X-05.
func TestRevokedMapping(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	mapped := converse(t, 0, "mapper", m.Path+"/f")
	if got := mapped.ask("write y"); got != "ok" || read(t, w.path("root/f")) != "y" {
		t.Fatalf("write through a mapping = %s, host %q, want ok and y", got, read(t, w.path("root/f")))
	}
	m.reloaded(func() { w.policy("agent", rule("no-write", "deny", "write", "/f"), allowAll) })
	eventually(t, "a write through the mapping fails", func() error {
		if got := mapped.ask("write z"); got == "ok" {
			return fmt.Errorf("write, msync = ok")
		}
		return nil
	})
	if got := read(t, w.path("root/f")); got != "y" {
		t.Errorf("host after a revoked write = %q, want y", got)
	}
}

// TestRevokedDirectory has an open directory, a working directory, a cached
// listing, link target and program obey a new policy. X-05.
func TestRevokedDirectory(t *testing.T) {
	w := newWorld(t)
	opFiles(w, "root/dir")
	m := w.view(allowAll)
	dir, err := unix.Open(m.Path+"/dir", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(dir)
	list := func() error {
		if _, err := unix.Seek(dir, 0, unix.SEEK_SET); err != nil {
			return err
		}
		_, err := unix.Getdents(dir, make([]byte, 4096))
		return err
	}
	relative := func() error { return unix.Fstatat(dir, "f", new(unix.Stat_t), 0) }
	link := func() error { _, err := unix.Readlink(m.Path+"/dir/l", make([]byte, 9)); return err }
	program := func() error { return execute(m.Path + "/dir/x") }
	calls := []struct {
		name, deny, glob string
		do               func() error
	}{
		{"getdents", "list", "/dir", list}, {"fstatat", "stat", "/dir/f", relative},
		{"readlink", "readlink", "/dir/l", link}, {"execve", "exec", "/dir/x", program},
	}
	for _, c := range calls {
		wantErrno(t, c.name+" before", c.do(), 0)
		w.policy("agent", rule("revoked", "deny", c.deny, c.glob), allowAll)
		eventually(t, c.name+" is denied", func() error { return wanted(c.do(), "EACCES") })
		w.policy("agent", allowAll)
		eventually(t, c.name+" is allowed again", func() error { return wanted(c.do(), "ok") })
	}
	w.policy("agent", rule("hidden", "hide", `"*"`, "/dir/**"), allowAll)
	for _, c := range calls {
		eventually(t, c.name+" in a hidden directory", func() error { return wanted(c.do(), "ENOENT") })
	}
}

// wanted returns an error unless err has the errno of that name.
func wanted(err error, name string) error {
	if got := errno(err); got != name {
		return fmt.Errorf("got %s, want %s", got, name)
	}
	return nil
}
