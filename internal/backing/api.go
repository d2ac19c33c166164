// Package backing is the only one that touches user files. A Tree is an open
// root; everything below it is reached by names relative to open descriptors,
// beneath the root, and without following a symbolic link, so that no string
// that somebody else can change is ever walked twice.
//
// Errors are bare syscall.Errno values, as the system call gave them.
package backing

import "golang.org/x/sys/unix"

// SKELETON: the interfaces below are fixed, their files are not.

// Stat is what statx(2) says of an object. Btime is zero where the file system
// keeps none.
type Stat struct {
	Dev     uint64
	Ino     uint64
	Mode    uint32 // type and permission bits as in st_mode
	Nlink   uint32
	Uid     uint32
	Gid     uint32
	Rdev    uint32
	Blksize uint32
	Size    uint64
	Blocks  uint64 // of 512 bytes
	Atime   unix.Timespec
	Mtime   unix.Timespec
	Ctime   unix.Timespec
	Btime   unix.Timespec
}

// ID tells objects apart for as long as they exist; with the birth time also
// after an inode number was used again.
type ID struct {
	Dev   uint64
	Ino   uint64
	Btime unix.Timespec
}

// ID returns the identity of the object.
func (s *Stat) ID() ID { return ID{s.Dev, s.Ino, s.Btime} }

// IsDir reports whether the object is a directory.
func (s *Stat) IsDir() bool { return s.Mode&unix.S_IFMT == unix.S_IFDIR }

// Dirent is one entry of a listing; never "." or "..".
type Dirent struct {
	Name string
	Ino  uint64
	Type uint8 // DT_… of getdents64(2)
}

// StatFS is what statfs(2) says.
type StatFS struct {
	Blocks, Bfree, Bavail, Files, Ffree uint64
	Bsize, Namelen, Frsize              uint32
}

// Object is one file, directory, link or special file, held by a descriptor:
// what a name meant when it was opened, whatever the name means now.
type Object interface {
	Stat() (Stat, error)
	Chmod(mode uint32) error                   // raw mode bits 07777
	Chown(uid, gid int) error                  // -1 leaves one as it is; never follows a link
	Utimes(atime, mtime unix.Timespec) error   // Nsec may be unix.UTIME_NOW or unix.UTIME_OMIT
	Truncate(size int64) error                 // EISDIR, EINVAL as truncate(2)
	Getxattr(name string, dst []byte) (int, error)
	Setxattr(name string, value []byte, flags int) error
	Listxattr(dst []byte) (int, error)
	Removexattr(name string) error
	LinkTo(dir Dir, name string) error // a hard link to this very object
	Close() error
}

// File is an open regular file.
type File interface {
	Object
	ReadAt(p []byte, off int64) (int, error)  // one pread(2); n < len(p) only at the end; no io.EOF
	WriteAt(p []byte, off int64) (int, error) // one pwrite(2)
	Append(p []byte) (int, error)             // at the end that the backing has at that moment (RWF_APPEND)
	Sync(dataOnly bool) error
	Allocate(mode uint32, off, length int64) error
	Flock(how int) error // unix.LOCK_SH, LOCK_EX, LOCK_UN; the implementation adds LOCK_NB; EWOULDBLOCK
}

// Dir is an open directory. Every name is one component.
type Dir interface {
	Object
	StatAt(name string) (Stat, error)
	ObjectAt(name string) (Object, error)                            // O_PATH, needs no permission on the object
	OpenAt(name string, flags int) (File, error)                     // access mode, O_APPEND, O_DIRECT, O_SYNC, O_DSYNC only; regular files only, else ENXIO; never creates
	CreateAt(name string, flags int, mode uint32) (File, error)      // O_CREAT|O_EXCL
	DirAt(name string) (Dir, error)                                  // ENOTDIR, ELOOP for a link
	MkdirAt(name string, mode uint32) error
	MknodAt(name string, mode uint32) error                          // regular file, FIFO or socket; EPERM for a device
	SymlinkAt(target, name string) error
	ReadlinkAt(name string) (string, error)
	UnlinkAt(name string) error
	RmdirAt(name string) error
	RenameAt(name string, to Dir, newName string) error
	ReadDir() ([]Dirent, error) // the whole listing, read afresh
	Sync() error
	Statfs() (StatFS, error)
}

// Tree is the source of one mount.
type Tree interface {
	// Dir opens a directory below the root; rel "" is the root. It walks beneath
	// the root and follows no link (ELOOP) and no magic link.
	Dir(rel string) (Dir, error)
	Close() error
}
