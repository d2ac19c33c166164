package backing

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// hostDir is a directory behind an O_PATH descriptor.
type hostDir struct {
	hostObject
	tree   *hostTree
	system system

	known atomic.Uint32 // of folds: 0 not asked yet, 1 no, 2 yes
}

// at runs call on the directory when name is one component.
func (d *hostDir) at(name string, call func(fd int) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	return d.use(call)
}

// StatAt describes name with one system call and without allocating, where
// names do not fold.
func (d *hostDir) StatAt(name string) (st Stat, err error) {
	err = d.existing(name, func(fd int) error {
		st, err = statx(fd, name)
		return err
	})
	return st, err
}

// MkdirAt makes a directory.
func (d *hostDir) MkdirAt(name string, mode uint32) error {
	return d.making(name, func(fd int) error { return unix.Mkdirat(fd, name, mode) }, removing(name, unix.AT_REMOVEDIR))
}

// MknodAt makes an empty regular file, a FIFO or a socket.
func (d *hostDir) MknodAt(name string, mode uint32) error {
	if !makeable(mode) {
		return unix.EPERM
	}
	return d.making(name, func(fd int) error { return unix.Mknodat(fd, name, mode, 0) }, removing(name, 0))
}

// makeable reports whether mode is of a type that MknodAt makes.
func makeable(mode uint32) bool {
	switch mode & unix.S_IFMT {
	case 0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK:
		return true
	}
	return false
}

// SymlinkAt makes a symbolic link.
func (d *hostDir) SymlinkAt(target, name string) error {
	return d.making(name, func(fd int) error { return unix.Symlinkat(target, fd, name) }, removing(name, 0))
}

// ReadlinkAt returns the target of a link; EINVAL for anything else.
func (d *hostDir) ReadlinkAt(name string) (target string, err error) {
	err = d.existing(name, func(fd int) error {
		for size := 256; ; size *= 2 {
			buf := make([]byte, size)
			n, err := unix.Readlinkat(fd, name, buf)
			if err != nil {
				return err
			}
			if n < size {
				target = string(buf[:n])
				return nil
			}
		}
	})
	return target, err
}

// UnlinkAt removes a name; EISDIR for a directory's.
func (d *hostDir) UnlinkAt(name string) error {
	return d.existing(name, removing(name, 0))
}

// RmdirAt removes an empty directory.
func (d *hostDir) RmdirAt(name string) error {
	return d.existing(name, removing(name, unix.AT_REMOVEDIR))
}

// RenameAt renames name to newName in to, replacing what rename(2) replaces.
func (d *hostDir) RenameAt(name string, to Dir, newName string) error {
	target, ok := to.(*hostDir)
	if !ok {
		return unix.EXDEV
	}
	return d.existing(name, func(fd int) error {
		return target.at(newName, func(tofd int) error {
			if target.folds(tofd) {
				return renameFolding(fd, name, tofd, newName)
			}
			return unix.Renameat(fd, name, tofd, newName)
		})
	})
}

// Sync brings the directory's entries to the disk. It needs read permission.
func (d *hostDir) Sync() error {
	return d.use(func(fd int) error {
		again, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer unix.Close(again)
		return unix.Fsync(again)
	})
}

// Statfs describes the file system that the directory is on.
func (d *hostDir) Statfs() (StatFS, error) {
	var st unix.Statfs_t
	if err := d.use(func(fd int) error { return unix.Fstatfs(fd, &st) }); err != nil {
		return StatFS{}, err
	}
	return StatFS{
		Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail, Files: st.Files, Ffree: st.Ffree,
		Bsize: uint32(st.Bsize), Namelen: uint32(st.Namelen), Frsize: uint32(st.Frsize),
	}, nil
}
