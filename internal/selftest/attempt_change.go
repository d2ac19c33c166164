package selftest

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"
)

func writePlain(a *agent) error {
	return errors.Join(
		write(a.path, unix.O_WRONLY),
		write(a.path, unix.O_RDWR|unix.O_APPEND),
		write(a.path, unix.O_RDWR|unix.O_TRUNC),
		write(a.path, unix.O_RDONLY|unix.O_TRUNC),
		write(a.path, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC),
	)
}

func writeLink(a *agent) error {
	name := a.own()
	if err := unix.Link(a.path, name); err != nil {
		return err
	}
	return write(name, unix.O_WRONLY)
}

func writeSymlink(a *agent) error {
	name := a.own()
	if err := unix.Symlink(a.path, name); err != nil {
		return err
	}
	return errors.Join(write(name, unix.O_WRONLY), unix.Truncate(name, 0))
}

func writeMoved(a *agent) error {
	name := a.own()
	if err := a.rename(path.Dir(a.path), name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return write(path.Join(name, path.Base(a.path)), unix.O_WRONLY)
}

func renameOnto(a *agent) error {
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	return unix.Rename(name, a.path)
}

func renameAway(a *agent) error { return unix.Rename(a.path, a.own()) }

func exchange(a *agent) error {
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	return unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, a.path, unix.RENAME_EXCHANGE)
}

func resize(a *agent) error {
	err := unix.Truncate(a.path, 1)
	fd, openErr := unix.Open(a.path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if openErr != nil {
		return err
	}
	defer unix.Close(fd)
	return errors.Join(err, unix.Fallocate(fd, 0, 0, 1<<16), unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 8))
}

func writeMap(a *agent) error {
	fd, err := unix.Open(a.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		if fd, err = unix.Open(a.path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
	}
	defer unix.Close(fd)
	page, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(page)
	copy(page, text)
	return unix.Msync(page, unix.MS_SYNC)
}

func writeReopened(a *agent) error {
	fd, err := unix.Open(a.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		if fd, err = unix.Open(a.path, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
	}
	defer unix.Close(fd)
	_, err = unix.Pwrite(fd, []byte(text), 0)
	return errors.Join(err, unix.Ftruncate(fd, 0), write(descriptor(fd), unix.O_WRONLY))
}

func chmod(a *agent) error { return unix.Chmod(a.path, 0o600) }

func unlink(a *agent) error {
	return errors.Join(unix.Unlink(a.path), unix.Rmdir(a.path))
}

func makePlain(a *agent) error {
	return errors.Join(
		write(a.path, unix.O_CREAT|unix.O_WRONLY),
		unix.Mknod(a.path, unix.S_IFREG|0o666, 0),
		unix.Mkfifo(a.path, 0o666),
		unix.Symlink(text, a.path),
	)
}

func makeLink(a *agent) error {
	name, err := a.ownFile()
	if err != nil {
		return err
	}
	return unix.Link(name, a.path)
}

// makeMoved builds the last two components of the path and moves the upper one
// to where it belongs.
func makeMoved(a *agent) error {
	dir := a.own()
	if err := unix.Mkdir(dir, 0o777); err != nil {
		return err
	}
	inside := path.Join(dir, path.Base(a.path))
	a.undo = append(a.undo, func() { unix.Unlink(inside); unix.Rmdir(dir) })
	if err := write(inside, unix.O_CREAT|unix.O_WRONLY); err != nil {
		return err
	}
	return unix.Rename(dir, path.Dir(a.path))
}

func makeThroughSymlink(a *agent) error {
	name := a.own()
	if err := unix.Symlink(a.path, name); err != nil {
		return err
	}
	return write(name, unix.O_CREAT|unix.O_WRONLY)
}

func makeTemporary(a *agent) error {
	fd, err := unix.Open(a.free, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Linkat(unix.AT_FDCWD, descriptor(fd), unix.AT_FDCWD, a.path, unix.AT_SYMLINK_FOLLOW)
}

func makeOtherCase(a *agent) error {
	dir, base := path.Split(a.path)
	return write(dir+swapCase(base), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY)
}

// swapCase returns name with its ASCII letters in the other case.
func swapCase(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			b[i] ^= 0x20
		}
	}
	return string(b)
}
