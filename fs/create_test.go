package fs

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// create makes a file and leaves it open.
func (w *world) create(t *testing.T, parent NodeID, name string) (Entry, Opened) {
	t.Helper()
	var e Entry
	var o Opened
	want(t, w.Create(caller(), parent, name, unix.O_RDWR, 0o644, &e, &o), 0, "create of "+name)
	t.Cleanup(func() { w.Release(o.Handle) })
	return e, o
}

// TestMakerMayUseItsFile: the descriptor that made a file reads, writes and
// stats it for as long as it may be made; all else is asked for.
func TestMakerMayUseItsFile(t *testing.T) {
	w := newWorld(t, "drop allow create /drop/**", "no deny * /drop/*", allowAll)
	w.fill(t, "drop/")
	e, o := w.create(t, w.at(t, "/drop"), "file")
	w.wantEvents(t)
	if _, errno := w.Write(caller(), o.Handle, []byte("text"), 0, WriteIn{}); errno != 0 {
		t.Errorf("write by the descriptor that made the file = %v", name(errno))
	}
	if n, errno := w.Read(caller(), o.Handle, make([]byte, 9), 0); n != 4 || errno != 0 {
		t.Errorf("read = %d, %v", n, name(errno))
	}
	var a Attr
	if want(t, w.Getattr(caller(), e.Node, &a), 0, "fstat"); a.Size != 4 || a.Valid != 0 || e.Valid != 0 {
		t.Errorf("fstat: size %d, valid for %v, the name for %v", a.Size, a.Valid, e.Valid)
	}
	want(t, w.Fsync(caller(), o.Handle, false), 0, "fsync")
	w.wantEvents(t)

	mode, ts := uint32(0o600), unix.Timespec{}
	want(t, w.Setattr(caller(), e.Node, &SetattrIn{Mode: &mode}, &a), syscall.EACCES, "fchmod")
	want(t, w.Setattr(caller(), e.Node, &SetattrIn{Mtime: &ts}, &a), syscall.EACCES, "futimens")
	want(t, w.Setxattr(caller(), e.Node, "user.x", nil, 0), syscall.EACCES, "fsetxattr")
	var other Opened
	want(t, w.Open(caller(), e.Node, unix.O_RDONLY, &other), syscall.EACCES, "another open")
	if _, errno := w.walk("/drop/file"); errno != syscall.EACCES {
		t.Errorf("lookup = %v, want EACCES", name(errno))
	}
	w.wantEvents(t, "chmod /drop/file no", "utimes /drop/file no", "setxattr /drop/file no", "open /drop/file no", "stat /drop/file no")

	if err := w.Swap(viewOf(t, "no deny * /drop/*", allowAll)); err != nil {
		t.Fatal(err)
	}
	_, errno := w.Write(caller(), o.Handle, []byte("more"), 0, WriteIn{})
	want(t, errno, syscall.EACCES, "write when the file may not be made any more")
	want(t, w.Getattr(caller(), e.Node, &a), syscall.EACCES, "fstat then")
	if got := w.content(t, "drop/file"); got != "text" {
		t.Errorf("content = %q", got)
	}
}

// TestMakerIsOneDescriptor: another descriptor of the file has no such right.
func TestMakerIsOneDescriptor(t *testing.T) {
	w := newWorld(t, allowAll)
	e, o := w.create(t, RootID, "file")
	var second Opened
	want(t, w.Open(caller(), e.Node, unix.O_RDWR, &second), 0, "another open")
	defer w.Release(second.Handle)
	if err := w.Swap(viewOf(t, "no deny write,read /file", allowAll)); err != nil {
		t.Fatal(err)
	}
	_, errno := w.Write(caller(), second.Handle, []byte("x"), 0, WriteIn{})
	want(t, errno, syscall.EACCES, "write by the other descriptor")
	_, errno = w.Write(caller(), o.Handle, []byte("x"), 0, WriteIn{})
	want(t, errno, 0, "write by the one that made the file")
}

// TestCreateOfWhatIsThere is an open: the kernel had not seen the file yet.
func TestCreateOfWhatIsThere(t *testing.T) {
	w := newWorld(t, "no-create deny create /**", "no-write deny write /locked", "hidden hide * /hidden", allowAll)
	w.fill(t, "file", "locked", "hidden", "dir/", "link>file")
	var e Entry
	var o Opened
	create := func(name string, flags uint32) syscall.Errno {
		errno := w.Create(caller(), RootID, name, flags, 0o600, &e, &o)
		if errno == 0 {
			w.Release(o.Handle)
		}
		return errno
	}
	for _, c := range []struct {
		name  string
		flags uint32
		want  syscall.Errno
	}{
		{"file", unix.O_RDWR, 0}, {"file", unix.O_RDWR | unix.O_EXCL, syscall.EEXIST}, {"locked", unix.O_RDONLY, 0},
		{"locked", unix.O_WRONLY, syscall.EACCES}, {"locked", unix.O_RDONLY | unix.O_TRUNC, syscall.EACCES},
		{"new", unix.O_RDWR, syscall.EACCES}, {"hidden", unix.O_RDWR, syscall.ENOENT}, {"hidden", unix.O_RDWR | unix.O_EXCL, syscall.ENOENT},
		{"dir", unix.O_RDWR, syscall.EISDIR}, {"link", unix.O_RDWR, syscall.ESTALE},
	} {
		if got := create(c.name, c.flags); got != c.want {
			t.Errorf("create of %s with %#x = %v, want %v", c.name, c.flags, name(got), name(c.want))
		}
	}
	if got := w.content(t, "file"); got != "file" {
		t.Errorf("content = %q, want what was there", got)
	}
	want(t, create("file", unix.O_WRONLY|unix.O_TRUNC), 0, "create with O_TRUNC")
	if got := w.content(t, "file"); got != "" || w.content(t, "locked") != "locked" {
		t.Errorf("content = %q after O_TRUNC", got)
	}
}

// TestTruncatingOpen: O_TRUNC comes as a truncation to 0 by the thread that has
// just opened the file for writing, and asks for write; any other truncation
// asks for truncate.
func TestTruncatingOpen(t *testing.T) {
	w := newWorld(t, "no-truncate deny truncate /**", allowAll)
	w.fill(t, "file")
	node := w.at(t, "/file")
	zero, some := uint64(0), uint64(2)
	var a Attr
	truncate := func(c *Caller, size *uint64, h HandleID) syscall.Errno {
		return w.Setattr(c, node, &SetattrIn{Size: size, Handle: h}, &a)
	}
	want(t, truncate(caller(), &zero, 0), syscall.EACCES, "truncate by name")
	w.open(t, "/file", unix.O_WRONLY)
	other := caller()
	other.Pid++
	want(t, truncate(other, &zero, 0), syscall.EACCES, "truncate by another thread")
	want(t, truncate(caller(), &zero, 0), syscall.EACCES, "truncate after that of another thread")
	w.open(t, "/file", unix.O_WRONLY)
	want(t, truncate(caller(), &some, 0), syscall.EACCES, "truncate to another size")
	w.open(t, "/file", unix.O_RDONLY)
	want(t, truncate(caller(), &zero, 0), syscall.EACCES, "truncate after an open for reading")
	h := w.open(t, "/file", unix.O_WRONLY)
	want(t, truncate(caller(), &zero, h), syscall.EACCES, "ftruncate")
	h = w.open(t, "/file", unix.O_WRONLY)
	if _, errno := w.Write(caller(), h, []byte("x"), 0, WriteIn{}); errno != 0 {
		t.Fatal(name(errno))
	}
	want(t, truncate(caller(), &zero, 0), syscall.EACCES, "truncate after a write")
	w.records.take()
	w.open(t, "/file", unix.O_WRONLY)
	want(t, truncate(caller(), &zero, 0), 0, "open with O_TRUNC")
	want(t, truncate(caller(), &zero, 0), syscall.EACCES, "a second truncate")
	w.wantEvents(t, "truncate /file no-truncate")
}

// TestExecIsKnownByItsFlag: an execve asks for open and exec, not for read.
func TestExecIsKnownByItsFlag(t *testing.T) {
	w := newWorld(t, "no-read deny read /only-exec", "stat allow stat,open,exec /only-exec", "no-exec deny exec /only-read", allowAll)
	w.fill(t, "only-read", "only-exec")
	var o Opened
	want(t, w.Open(caller(), w.at(t, "/only-read"), execFlag, &o), syscall.EACCES, "exec of what may be read")
	w.open(t, "/only-read", unix.O_RDONLY)
	w.wantEvents(t, "exec /only-read no-exec")
}

func TestDevicesAreNotMade(t *testing.T) {
	w := newWorld(t, "hidden hide * /hidden", allowAll)
	var e Entry
	want(t, w.Mknod(caller(), RootID, "x", unix.S_IFCHR|0o666, &e), syscall.EPERM, "mknod of a character device")
	want(t, w.Mknod(caller(), RootID, "x", unix.S_IFBLK|0o666, &e), syscall.EPERM, "mknod of a block device")
	want(t, w.Mknod(caller(), RootID, "hidden", unix.S_IFCHR|0o666, &e), syscall.ENOENT, "mknod under a hidden name")
	w.wantEvents(t, "mknod /x builtin:device", "mknod /x builtin:device", "mknod /hidden hidden")
}
