package backing

import "golang.org/x/sys/unix"

// Object is one file, directory, link or special file, held by a descriptor:
// what a name meant when it was opened, whatever the name means now. It is
// safe for concurrent use. A Close while other calls run takes effect when
// they have ended; after it every call is EBADF, and a second Close is nothing.
type Object interface {
	Stat() (Stat, error)
	Chmod(mode uint32) error                 // raw mode bits 07777; EOPNOTSUPP for a link
	Chown(uid, gid int) error                // -1 leaves one as it is; never follows a link
	Utimes(atime, mtime unix.Timespec) error // Nsec may be unix.UTIME_NOW or unix.UTIME_OMIT
	Truncate(size int64) error               // EISDIR, EINVAL as truncate(2)

	// The extended attributes of the object itself, also of a link. An empty
	// dst asks for the size; a dst that is too small is ERANGE.
	Getxattr(name string, dst []byte) (int, error)
	Setxattr(name string, value []byte, flags int) error
	Listxattr(dst []byte) (int, error)
	Removexattr(name string) error

	// Reopen opens this very object, also when its last name is gone; otherwise
	// as OpenAt.
	Reopen(flags int) (File, error)

	// LinkTo makes a hard link to this very object. ENOENT when its last name
	// is gone, EPERM for a directory, EXDEV for a dir of another file system
	// or of another implementation.
	LinkTo(dir Dir, name string) error

	Close() error
}

// File is an open regular file.
type File interface {
	Object
	ReadAt(p []byte, off int64) (int, error)  // one pread(2); n < len(p) only at the end; no io.EOF
	WriteAt(p []byte, off int64) (int, error) // one pwrite(2), at off also when opened with O_APPEND
	Append(p []byte) (int, error)             // at the end that the backing has at that moment (RWF_APPEND)
	Sync(dataOnly bool) error
	Allocate(mode uint32, off, length int64) error
	Flock(how int) error // unix.LOCK_SH, LOCK_EX, LOCK_UN; the implementation adds LOCK_NB; EWOULDBLOCK
}

// Dir is an open directory. Every name is one component: an empty one is
// ENOENT; ".", ".." and one that holds a slash or NUL are EINVAL.
type Dir interface {
	Object
	StatAt(name string) (Stat, error)

	// ObjectAt opens whatever name is, a link itself included. It needs no
	// permission on the object.
	ObjectAt(name string) (Object, error)

	// OpenAt opens a regular file; everything else, links and directories
	// included, is ENXIO and is not touched. Of flags it heeds the access mode,
	// O_APPEND, O_DIRECT, O_SYNC and O_DSYNC. It never creates or truncates.
	OpenAt(name string, flags int) (File, error)

	// CreateAt makes a regular file that was not there (O_CREAT|O_EXCL), with
	// the flags that OpenAt heeds.
	CreateAt(name string, flags int, mode uint32) (File, error)

	// As runs make; what it makes in this tree belongs to uid and gid, but for
	// the group in a set-gid directory. EPERM when the process may not act for
	// others. It must only be used where the process's own ids are others.
	As(uid, gid uint32, make func() error) error

	DirAt(name string) (Dir, error) // ENOTDIR, ELOOP for a link
	MkdirAt(name string, mode uint32) error
	MknodAt(name string, mode uint32) error // regular file, FIFO or socket; EPERM for a device
	SymlinkAt(target, name string) error
	ReadlinkAt(name string) (string, error)
	UnlinkAt(name string) error
	RmdirAt(name string) error
	RenameAt(name string, to Dir, newName string) error
	ReadDir() ([]Dirent, error) // the whole listing, read afresh
	Folds() bool                // it may have a file under a name that it does not list
	Sync() error
	Statfs() (StatFS, error)
}
