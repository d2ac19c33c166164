package backing_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// TestAppendOnlyFile opens what chattr +a made.
func TestAppendOnlyFile(t *testing.T) {
	dir := tempDir(t, os.TempDir())
	root := openRoot(t, dir)
	chattr, err := os.Create(filepath.Join(dir, "log"))
	want(t, err, nil, "Create(log)")
	defer chattr.Close()
	const appendOnly = 0x20 // FS_APPEND_FL
	err = unix.IoctlSetPointerInt(int(chattr.Fd()), unix.FS_IOC_SETFLAGS, appendOnly)
	if err == unix.EPERM || err == unix.ENOTTY || err == unix.EOPNOTSUPP {
		t.Skipf("no file can be made append-only here: %v", err)
	}
	want(t, err, nil, "FS_IOC_SETFLAGS")
	defer unix.IoctlSetPointerInt(int(chattr.Fd()), unix.FS_IOC_SETFLAGS, 0)
	_, err = root.OpenAt("log", unix.O_WRONLY)
	want(t, err, unix.EPERM, "OpenAt(O_WRONLY)")
	f, err := root.OpenAt("log", unix.O_WRONLY|unix.O_APPEND)
	want(t, err, nil, "OpenAt(O_WRONLY|O_APPEND)")
	defer f.Close()
	_, err = f.Append([]byte("x"))
	want(t, err, nil, "Append")
}

// TestOlderKernels runs the calls that are made where newer ones are missing.
func TestOlderKernels(t *testing.T) {
	root := openRoot(t, tempDir(t, os.TempDir()))
	want(t, root.MknodAt("file", 0o644), nil, "MknodAt(file)")
	want(t, root.SymlinkAt("file", "link"), nil, "SymlinkAt(link)")
	old := unix.Timespec{Sec: 1000, Nsec: 7}
	for name, chmod := range map[string]error{"file": nil, "link": unix.EOPNOTSUPP} {
		o, err := root.ObjectAt(name)
		want(t, err, nil, "ObjectAt(%q)", name)
		defer o.Close()
		want(t, backing.ChmodProc(o, 0o7600), chmod, "Chmod of %q", name)
		want(t, backing.UtimesProc(o, old, old), nil, "Utimes of %q", name)
		old.Sec++
	}
	link, _ := root.StatAt("link")
	file, _ := root.StatAt("file")
	if file.Mode != unix.S_IFREG|0o7600 || file.Mtime == link.Mtime || max(file.Mtime.Sec, link.Mtime.Sec) != 1001 {
		t.Errorf("the file is %+v, the link %+v", file, link)
	}
}

// TestReadLeavesAtime holds for files of the daemon's own user.
func TestReadLeavesAtime(t *testing.T) {
	root := openRoot(t, tempDir(t, os.TempDir()))
	f, err := root.CreateAt("file", unix.O_RDWR, 0o600)
	want(t, err, nil, "CreateAt(file)")
	defer f.Close()
	_, err = f.WriteAt([]byte("text"), 0)
	want(t, err, nil, "WriteAt")
	old := unix.Timespec{Sec: 1000}
	want(t, f.Utimes(old, unix.Timespec{Sec: 2000}), nil, "Utimes")
	r, err := root.OpenAt("file", unix.O_RDONLY)
	want(t, err, nil, "OpenAt(file)")
	defer r.Close()
	_, err = r.ReadAt(make([]byte, 4), 0)
	want(t, err, nil, "ReadAt")
	if st, _ := r.Stat(); st.Atime != old {
		t.Errorf("atime = %v after reading, want %v", st.Atime, old)
	}
}

// TestCloseOnExec asserts that no child inherits a descriptor.
func TestCloseOnExec(t *testing.T) {
	dir := tempDir(t, os.TempDir())
	for _, open := range []func(string) (backing.Tree, error){backing.Open, backing.OpenWithoutOpenat2} {
		tree := openTree(t, open, dir)
		root, err := tree.Dir("")
		want(t, err, nil, "Dir()")
		defer root.Close()
		if err := root.MkdirAt("d", 0o700); err != nil && err != unix.EEXIST {
			t.Fatalf("MkdirAt(d) = %v", err)
		}
		d, _ := tree.Dir("d")
		defer d.Close()
		f, _ := root.CreateAt(fmt.Sprintf("%p", tree), unix.O_RDWR, 0o600)
		defer f.Close()
		again, _ := root.OpenAt(fmt.Sprintf("%p", tree), unix.O_RDWR)
		defer again.Close()
		o, _ := root.ObjectAt("d")
		defer o.Close()
	}
	fds, err := os.ReadDir("/proc/self/fd")
	want(t, err, nil, "ReadDir(/proc/self/fd)")
	checked := 0
	for _, e := range fds {
		var fd int
		fmt.Sscan(e.Name(), &fd)
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if !strings.HasPrefix(to, dir) {
			continue
		}
		checked++
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d of %s is inherited", fd, to)
		}
	}
	if checked != 12 {
		t.Errorf("%d descriptors below %s, want 12", checked, dir)
	}
}

func TestStatAtAllocatesNothing(t *testing.T) {
	root := openRoot(t, tempDir(t, os.TempDir()))
	want(t, root.MknodAt("file", 0o600), nil, "MknodAt(file)")
	if n := testing.AllocsPerRun(100, func() { root.StatAt("file") }); n != 0 {
		t.Errorf("StatAt allocates %v times, want 0", n)
	}
}
