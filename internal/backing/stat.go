package backing

import "golang.org/x/sys/unix"

// Stat is what statx(2) says of an object. Btime is zero where the file system
// keeps none. Dev may differ within one file system (btrfs subvolumes, some
// overlayfs), so it does not foretell EXDEV.
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

// Dirent is one entry of a listing; never "." or "..". The names of a listing
// share memory: whoever keeps a few of them for long should clone them.
type Dirent struct {
	Name string
	Ino  uint64 // not Stat's for a mount point, nor for a directory of some overlayfs
	Type uint8  // DT_… of getdents64(2); DT_UNKNOWN where the file system does not say
}

// StatFS is what statfs(2) says.
type StatFS struct {
	Blocks, Bfree, Bavail, Files, Ffree uint64
	Bsize, Namelen, Frsize              uint32
}
