package attack

import (
	"os"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// register makes s the script of a test.
func register(test string, s script) struct{} {
	scripts[test] = s
	return struct{}{}
}

// The calls of attempts. Names are relative to the view.

func open(path string, flags int) func() error {
	return func() error {
		fd, err := unix.Open(path, flags, 0o777)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func create(path string) func() error { return open(path, unix.O_WRONLY|unix.O_CREAT) }
func mkdir(path string) func() error  { return func() error { return unix.Mkdir(path, 0o777) } }
func unlink(path string) func() error { return func() error { return unix.Unlink(path) } }
func stat(path string) func() error {
	return func() error { return unix.Lstat(path, new(unix.Stat_t)) }
}
func symlink(to, path string) func() error { return func() error { return unix.Symlink(to, path) } }
func link(from, to string) func() error    { return func() error { return unix.Link(from, to) } }
func rename(from, to string) func() error  { return func() error { return unix.Rename(from, to) } }
func truncate(path string) func() error    { return func() error { return unix.Truncate(path, 0) } }
func chmod(path string, m uint32) func() error {
	return func() error { return unix.Chmod(path, m) }
}
func setxattr(path, name, value string) func() error {
	return func() error { return unix.Setxattr(path, name, []byte(value), 0) }
}

func renameat2(from, to string, flags uint) func() error {
	return func() error { return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags) }
}

// read reads the whole file.
func read(path string) func() error {
	return func() error { _, err := os.ReadFile(path); return err }
}

func list(path string) func() error {
	return func() error { _, err := os.ReadDir(path); return err }
}

// through calls do with the name of an O_PATH descriptor of path in /proc.
func through(path string, do func(magic string) func() error) func() error {
	return func() error {
		f, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return do("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))()
	}
}

// linkMagic links the object behind a name of /proc to the name to.
func linkMagic(to string) func(string) func() error {
	return func(magic string) func() error {
		return func() error {
			return unix.Linkat(unix.AT_FDCWD, magic, unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
		}
	}
}

// ioctlBytes calls ioctl(2) with a buffer.
func ioctlBytes(fd int, request uintptr, arg []byte) (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&arg[0])))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// as runs do on a thread that acts on files as uid.
func as(t *testing.T, uid int, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread keeps the user
		unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		unix.SetfsgidRetGid(uid)
		unix.SetfsuidRetUid(uid)
		do()
	}()
	<-done
}

func unlinkDir(path string) error { return unix.Unlinkat(unix.AT_FDCWD, path, unix.AT_REMOVEDIR) }

func ptr(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }
