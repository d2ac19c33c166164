package fs

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// Attr is what the kernel is told of a node. Mode is raw, with the type bits.
type Attr struct {
	Ino     uint64
	Size    uint64
	Blocks  uint64 // of 512 bytes
	Atime   unix.Timespec
	Mtime   unix.Timespec
	Ctime   unix.Timespec
	Mode    uint32
	Nlink   uint32
	Uid     uint32
	Gid     uint32
	Rdev    uint32
	Blksize uint32
	Valid   time.Duration // how long the kernel may believe it
}

// Entry is the answer to a lookup and to whatever makes a name.
type Entry struct {
	Node  NodeID
	Attr  Attr
	Valid time.Duration // how long the kernel may believe that the name leads there
}

// Set-uid is never set through a view, and never shown for what is made in it.
const noSetuid = ^uint32(unix.S_ISUID)

// attr fills out from what the backing says of n.
func (s *Server) attr(n *node, st *backing.Stat, out *Attr) {
	*out = Attr{
		Ino:     s.inodes.number(st.Dev, st.Ino),
		Size:    st.Size,
		Blocks:  st.Blocks,
		Atime:   st.Atime,
		Mtime:   st.Mtime,
		Ctime:   st.Ctime,
		Mode:    st.Mode,
		Nlink:   st.Nlink,
		Rdev:    st.Rdev,
		Blksize: st.Blksize,
		Valid:   s.lifetime,
	}
	if n.kind == kindFile && st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		// A write takes the bits away in the daemon, and the kernel, which left it
		// to the daemon, goes on believing what it was told (Linux 6.18).
		out.Valid = 0
	}
	out.Uid, out.Gid = s.shown(n.mount, st.Uid, st.Gid)
	if n.kind == kindDir && s.mayHideBelow(n) {
		out.Nlink = 1
	}
}

// mayHideBelow reports whether the link count of a directory would tell of
// directories in it that are hidden.
func (s *Server) mayHideBelow(n *node) bool {
	return s.View().MayHide(s.pathOf(n))
}

// synthAttr fills out for a synthesised directory.
func (s *Server) synthAttr(path vpath.Path, out *Attr) {
	s.ownAttr(synthesised(inodeSynth, path), unix.S_IFDIR|0o755, out)
}

// ownAttr fills out for what no backing holds: it is the daemon's, and as old.
func (s *Server) ownAttr(ino uint64, mode uint32, out *Attr) {
	t := unix.NsecToTimespec(s.started.UnixNano())
	*out = Attr{
		Ino: ino, Mode: mode, Nlink: 1,
		Atime: t, Mtime: t, Ctime: t,
		Uid: s.uid, Gid: s.gid, Blksize: 4096,
		Valid: s.lifetime,
	}
}

// shown returns the owner that the view shows for one of the backing: the
// owner of the mount's source appears as Config.Owner, others as they are.
func (s *Server) shown(m *mount, uid, gid uint32) (uint32, uint32) {
	if s.owner == nil {
		return uid, gid
	}
	if uid == m.uid {
		uid = s.owner.Uid
	}
	if gid == m.gid {
		gid = s.owner.Gid
	}
	return uid, gid
}

// stored is the way back of shown: the owner that the backing gets for one
// that the view names.
func (s *Server) stored(m *mount, uid, gid uint32) (uint32, uint32) {
	if s.owner == nil {
		return uid, gid
	}
	if uid == s.owner.Uid {
		uid = m.uid
	}
	if gid == s.owner.Gid {
		gid = m.gid
	}
	return uid, gid
}
