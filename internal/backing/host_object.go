package backing

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// hostObject is an object behind a descriptor, which may be an O_PATH one:
// every call here works on both kinds.
type hostObject struct{ descriptor }

func newHostObject(fd int) *hostObject {
	o := new(hostObject)
	o.init(fd)
	return o
}

// procPath names the object behind fd to calls that take a path. It is a magic
// link: the kernel goes to the object itself and not on from there, even when
// that is a symbolic link, so nothing is walked and nothing can be swapped.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Stat describes the object.
func (o *hostObject) Stat() (st Stat, err error) {
	err = o.use(func(fd int) error {
		st, err = statx(fd, "")
		return err
	})
	return st, err
}

// Chmod sets the permission bits.
func (o *hostObject) Chmod(mode uint32) error {
	return o.use(func(fd int) error {
		err := unix.Fchmodat(fd, "", mode, unix.AT_EMPTY_PATH)
		if err != unix.EOPNOTSUPP {
			return err
		}
		return chmodProc(fd, mode)
	})
}

// chmodProc is Chmod for kernels before 6.6, which have no fchmodat2. Some of
// them change the mode of a link.
func chmodProc(fd int, mode uint32) error {
	st, err := statx(fd, "")
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.EOPNOTSUPP
	}
	return unix.Chmod(procPath(fd), mode)
}

// Chown sets owner and group.
func (o *hostObject) Chown(uid, gid int) error {
	return o.use(func(fd int) error {
		return unix.Fchownat(fd, "", uid, gid, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	})
}

// Utimes sets the times.
func (o *hostObject) Utimes(atime, mtime unix.Timespec) error {
	return o.use(func(fd int) error {
		times := []unix.Timespec{atime, mtime}
		err := unix.UtimesNanoAt(fd, "", times, unix.AT_EMPTY_PATH)
		if err != unix.EINVAL {
			return err
		}
		return utimesProc(fd, times)
	})
}

// utimesProc is Utimes for kernels before 5.8, whose utimensat does not know
// AT_EMPTY_PATH.
func utimesProc(fd int, times []unix.Timespec) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, procPath(fd), times, 0)
}

// Truncate sets the size of a regular file.
func (o *hostObject) Truncate(size int64) error {
	return o.use(func(fd int) error { return unix.Truncate(procPath(fd), size) })
}

// LinkTo makes a hard link. It needs no capability, as linkat with
// AT_EMPTY_PATH would.
func (o *hostObject) LinkTo(dir Dir, name string) error {
	to, ok := dir.(*hostDir)
	if !ok {
		return unix.EXDEV
	}
	return o.use(func(fd int) error {
		return to.making(name, func(dirfd int) error {
			return unix.Linkat(unix.AT_FDCWD, procPath(fd), dirfd, name, unix.AT_SYMLINK_FOLLOW)
		}, removing(name, 0))
	})
}
