package selftest

import (
	"fmt"
	"path"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

func readPlain(a *agent) error { return a.read(a.path) }

func readLink(a *agent) error {
	name := a.own()
	if err := unix.Link(a.path, name); err != nil {
		return err
	}
	return a.read(name)
}

func readLinkedDescriptor(a *agent) error {
	fd, err := unix.Open(a.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	name := a.own()
	if err := unix.Linkat(unix.AT_FDCWD, descriptor(fd), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return err
	}
	return a.read(name)
}

func readRenamed(a *agent) error {
	name := a.own()
	if err := a.rename(a.path, name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return a.read(name)
}

func readMoved(a *agent) error {
	name := a.own()
	if err := a.rename(path.Dir(a.path), name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return a.read(path.Join(name, path.Base(a.path)))
}

func readExchanged(a *agent) error {
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	if err := a.rename(a.path, name, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return a.read(name)
}

func readSymlink(a *agent) error {
	name := a.own()
	if err := unix.Symlink(a.path, name); err != nil {
		return err
	}
	return a.read(name)
}

func readWalked(a *agent) error {
	dir, base := path.Split(a.path)
	err := a.read(dir + "/.//../" + path.Base(dir) + "/./" + base)
	fd, openErr := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if openErr != nil {
		return err
	}
	defer unix.Close(fd)
	return a.read(descriptor(fd) + "/" + base)
}

func readOddly(a *agent) error {
	if fd, err := unix.Open(a.path, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
		a.read(descriptor(fd))
		unix.Close(fd)
	}
	fd, err := unix.Open(a.path, unix.O_RDONLY|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	to, err := unix.Open(name, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if _, err := unix.CopyFileRange(fd, nil, to, nil, 4096, 0); err != nil {
		return err
	}
	return a.read(name)
}

// tellApart notes what every way to ask for the name says.
func tellApart(a *agent) error {
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	var st unix.Stat_t
	var fs unix.Statfs_t
	buf := make([]byte, 64)
	_, readlink := unix.Readlink(a.path, buf)
	_, getxattr := unix.Getxattr(a.path, "user.x", buf)
	for _, err := range []error{
		unix.Lstat(a.path, &st), unix.Access(a.path, unix.F_OK), unix.Statfs(a.path, &fs), readlink, getxattr,
		write(a.path, unix.O_WRONLY), write(a.path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL),
		unix.Mkdir(a.path, 0o777), unix.Mkfifo(a.path, 0o666), unix.Symlink("x", a.path), unix.Link(name, a.path),
		unix.Rename(name, a.path), unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, a.path, unix.RENAME_NOREPLACE),
		unix.Link(a.path, name+"x"), unix.Rename(a.path, name), unix.Chmod(a.path, 0o666), unix.Truncate(a.path, 0),
		unix.Unlink(a.path), unix.Rmdir(a.path), unix.Stat(a.path+"/x", &st),
	} {
		a.got = fmt.Appendln(a.got, err)
	}
	fd, err := unix.Open(path.Dir(a.path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		a.got = fmt.Appendln(a.got, err)
		return nil
	}
	defer unix.Close(fd)
	list := make([]byte, 1<<16)
	for {
		n, err := unix.ReadDirent(fd, list)
		if n <= 0 || err != nil {
			return err
		}
		_, _, names := unix.ParseDirent(list[:n], -1, nil)
		if slices.Contains(names, path.Base(a.path)) {
			a.got = fmt.Appendln(a.got, "is listed")
		}
	}
}

// useRevoked opens and maps an own file, and reads what it still can when
// everything has been forbidden.
func useRevoked(a *agent) error {
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	page, err := unix.Mmap(fd, 0, len(text), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(page)
	if !readable(page) {
		return unix.EFAULT
	}
	if err := a.revoke(); err != nil {
		return err
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		a.got = nil
		if readable(page) {
			a.got = append(a.got, "its map can be read\n"...)
		}
		if a.readFrom(fd); len(a.got) == 0 {
			a.read(name)
		}
		if _, err := unix.Pwrite(fd, []byte(text), 0); err == nil {
			a.got = append(a.got, "its descriptor can be written\n"...)
		}
		if len(a.got) == 0 || time.Now().After(deadline) {
			return nil
		}
	}
}

// readable reports whether a map can be read without a SIGBUS.
func readable(page []byte) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil }()
	sink.Store(uint32(page[0]))
	return true
}

// sink keeps the compiler from leaving a read out.
var sink atomic.Uint32

// descriptor is the magic link of an open file.
func descriptor(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
