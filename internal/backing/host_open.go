package backing

import "golang.org/x/sys/unix"

// fileFlags are the flags of open(2) that OpenAt and CreateAt hand on.
// O_APPEND is not one of them: pwrite(2) on such a descriptor appends whatever
// its offset, and the kernel's page write-back must not. File.Append does it.
// Only an append-only file (chattr +a), which is not opened for writing
// otherwise, gets the flag after all.
const fileFlags = unix.O_ACCMODE | unix.O_DIRECT | unix.O_SYNC | unix.O_DSYNC

// open returns the new descriptor of name that call makes from the directory's
// own.
func (d *hostDir) open(name string, call func(dirfd int) (int, error)) (int, error) {
	fd := -1
	err := d.existing(name, func(dirfd int) (err error) {
		fd, err = call(dirfd)
		return err
	})
	return fd, err
}

// OpenAt opens a regular file. It first takes hold of the object, then looks
// at it, then opens what it holds: between looking and opening nobody can put
// a device or a FIFO there, whose open would do something. So no O_NONBLOCK is
// needed either, which would turn the wait for a lease (fcntl(2)) into an error.
func (d *hostDir) OpenAt(name string, flags int) (File, error) {
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return nil, unix.EINVAL
	}
	fd, err := d.open(name, func(dirfd int) (int, error) {
		held, err := hold(dirfd, name)
		if err != nil {
			return -1, err
		}
		defer unix.Close(held)
		return openHeld(held, flags)
	})
	if err != nil {
		return nil, err
	}
	return newHostFile(fd, flags), nil
}

// hold opens whatever name is, without doing anything to it.
func hold(dirfd int, name string) (int, error) {
	return unix.Openat(dirfd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// openHeld opens the regular file behind the O_PATH descriptor held.
func openHeld(held, flags int) (int, error) {
	st, err := statx(held, "")
	if err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, unix.ENXIO
	}
	fd, err := reopen(held, flags&fileFlags)
	if err == unix.EPERM && flags&unix.O_APPEND != 0 {
		return reopen(held, flags&fileFlags|unix.O_APPEND)
	}
	return fd, err
}

// reopen opens the object behind fd once more. Reading does not touch its
// access time where the kernel allows that: to its owner and to root.
func reopen(fd, flags int) (int, error) {
	path := procPath(fd)
	if flags&unix.O_ACCMODE != unix.O_WRONLY {
		again, err := unix.Open(path, flags|unix.O_NOATIME|unix.O_CLOEXEC, 0)
		if err != unix.EPERM {
			return again, err
		}
	}
	return unix.Open(path, flags|unix.O_CLOEXEC, 0)
}

// CreateAt makes and opens a regular file.
func (d *hostDir) CreateAt(name string, flags int, mode uint32) (File, error) {
	const create = unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return nil, unix.EINVAL
	}
	fd := -1
	err := d.making(name, func(dirfd int) (err error) {
		fd, err = unix.Openat(dirfd, name, flags&fileFlags|create, mode&07777)
		return err
	}, func(dirfd int) error {
		unix.Close(fd)
		return unix.Unlinkat(dirfd, name, 0)
	})
	if err != nil {
		return nil, err
	}
	return newHostFile(fd, flags), nil
}

// ObjectAt takes hold of whatever name is.
func (d *hostDir) ObjectAt(name string) (Object, error) {
	fd, err := d.open(name, func(dirfd int) (int, error) { return hold(dirfd, name) })
	if err != nil {
		return nil, err
	}
	return newHostObject(fd), nil
}

// DirAt opens a directory.
func (d *hostDir) DirAt(name string) (Dir, error) {
	child, err := d.dirAt(name)
	if err != nil {
		return nil, err
	}
	return child, nil
}

func (d *hostDir) dirAt(name string) (*hostDir, error) {
	child := &hostDir{tree: d.tree}
	fd, err := d.open(name, func(dirfd int) (fd int, err error) {
		if d.tree.openat2 {
			fd, child.system, err = walkBelow(dirfd, name, d.system)
		} else {
			fd, err = openChild(dirfd, name)
		}
		return fd, err
	})
	if err != nil {
		return nil, err
	}
	child.init(fd)
	return child, nil
}

// Reopen opens the object, if it is a regular file, whatever has become of its
// names.
func (o *hostObject) Reopen(flags int) (File, error) {
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return nil, unix.EINVAL
	}
	again := -1
	err := o.use(func(fd int) (err error) {
		again, err = openHeld(fd, flags)
		return err
	})
	if err != nil {
		return nil, err
	}
	return newHostFile(again, flags), nil
}
