package backing

import "golang.org/x/sys/unix"

// A directory is opened with O_PATH: that asks for no permission on it, so
// that an unprivileged daemon walks through one that it cannot list (0111).
const openDir = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// walkRetries bounds the repetition of an openat2 that lost against renames
// elsewhere on the host.
const walkRetries = 32

// haveOpenat2 reports whether openat2 may be used. Kernels before 5.6 and
// gVisor say ENOSYS, old seccomp profiles of Docker EPERM.
func haveOpenat2(root int) bool {
	fd, err := walkBeneath(root, ".", 0)
	if err == nil {
		unix.Close(fd)
	}
	return err != unix.ENOSYS && err != unix.EPERM
}

// walkBelow opens the directory rel below fd, which is on a file system of the
// kind given, and says of which kind it is itself: one that is on another mount
// is still to be asked.
func walkBelow(fd int, rel string, kind system) (int, system, error) {
	child, err := walkBeneath(fd, rel, unix.RESOLVE_NO_XDEV)
	if err != unix.EXDEV {
		return child, kind, err
	}
	child, err = walkBeneath(fd, rel, 0)
	return child, unasked, err
}

// walkBeneath opens the directory rel below fd in one system call, which the
// kernel keeps beneath fd and away from links, and more as resolve says.
func walkBeneath(fd int, rel string, resolve uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   openDir,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | resolve,
	}
	for range walkRetries {
		child, err := unix.Openat2(fd, rel, &how)
		if err != unix.EAGAIN {
			return child, err
		}
	}
	return -1, unix.EAGAIN
}

// walkNames opens the directory that names lead to below fd, one by one. A
// name is never "..", so each step leads down or fails. It serves kernels
// without openat2, and paths that are too long for one call.
func walkNames(fd int, names []string) (int, error) {
	at := fd
	for _, name := range names {
		child, err := openChild(at, name)
		if at != fd {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = child
	}
	return at, nil
}

// openChild opens the directory name in the directory fd.
func openChild(fd int, name string) (int, error) {
	child, err := unix.Openat(fd, name, openDir|unix.O_NOFOLLOW, 0)
	if err == unix.ENOTDIR && isLink(fd, name) {
		err = unix.ELOOP
	}
	return child, err
}

func isLink(fd int, name string) bool {
	st, err := statx(fd, name)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}
