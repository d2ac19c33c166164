package backing

import "golang.org/x/sys/unix"

// hostFile is a regular file that is open for reading, writing or both.
type hostFile struct {
	hostObject
	writable bool
}

func newHostFile(fd, flags int) *hostFile {
	f := &hostFile{writable: flags&unix.O_ACCMODE != unix.O_RDONLY}
	f.init(fd)
	return f
}

// ReadAt reads from off.
func (f *hostFile) ReadAt(p []byte, off int64) (int, error) {
	return f.size(func(fd int) (int, error) { return unix.Pread(fd, p, off) })
}

// WriteAt writes at off.
func (f *hostFile) WriteAt(p []byte, off int64) (int, error) {
	return f.size(func(fd int) (int, error) { return unix.Pwrite(fd, p, off) })
}

// Append writes at the end. The kernel finds the end and writes under one
// lock, so that nobody else's append is lost.
func (f *hostFile) Append(p []byte) (int, error) {
	return f.size(func(fd int) (int, error) {
		n, err := unix.Pwritev2(fd, [][]byte{p}, 0, unix.RWF_APPEND)
		if err != unix.EOPNOTSUPP {
			return n, err
		}
		return appendReopened(fd, p)
	})
}

// appendReopened is Append where RWF_APPEND is not known: kernels before 4.16,
// gVisor, and file systems without write_iter.
func appendReopened(fd int, p []byte) (int, error) {
	again, err := reopen(fd, unix.O_WRONLY|unix.O_APPEND)
	if err != nil {
		return 0, err
	}
	defer unix.Close(again)
	return unix.Write(again, p)
}

// Truncate sets the size, whatever the permissions of the file are by now when
// it is open for writing.
func (f *hostFile) Truncate(size int64) error {
	if !f.writable {
		return f.hostObject.Truncate(size)
	}
	return f.use(func(fd int) error { return unix.Ftruncate(fd, size) })
}

// Sync brings the file to the disk; with dataOnly without what only describes it.
func (f *hostFile) Sync(dataOnly bool) error {
	if dataOnly {
		return f.use(unix.Fdatasync)
	}
	return f.use(unix.Fsync)
}

// Allocate is fallocate(2).
func (f *hostFile) Allocate(mode uint32, off, length int64) error {
	return f.use(func(fd int) error { return unix.Fallocate(fd, mode, off, length) })
}

// Flock locks or unlocks the file for this File, and never waits.
func (f *hostFile) Flock(how int) error {
	return f.use(func(fd int) error { return unix.Flock(fd, how|unix.LOCK_NB) })
}
