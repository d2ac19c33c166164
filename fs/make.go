package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// vacant decides op for a name that is about to be made. A hidden name is
// ENOENT whether it exists or not; one that exists is EEXIST before op is asked
// for.
func (s *Server) vacant(c *Caller, parent NodeID, name string, op policy.Op) (*node, vpath.Path, syscall.Errno) {
	dir, errno := s.dir(parent)
	if errno != 0 {
		return nil, "", errno
	}
	if errno := s.placed(dir); errno != 0 {
		return nil, "", errno
	}
	path := s.pathOf(dir).Join(name)
	if len(path) > maxPath {
		return nil, "", syscall.ENAMETOOLONG
	}
	if isFresh(name) {
		return nil, "", syscall.ENOENT
	}
	view := s.View()
	if !dir.hides(view, path) {
		f, errno := s.locate(view, dir, name, path)
		if f.own != nil {
			return dir, path, s.refuse(c, access{op: op, path: path}, f.own)
		}
		if errno == 0 {
			errno = syscall.EEXIST
		}
		if errno != syscall.ENOENT {
			return dir, path, errno
		}
	}
	return dir, path, s.gateName(c, dir, path, op)
}

// maxPath bounds the length of a path in bytes. The daemon keeps that of each
// directory, so that the memory for a chain of them grows with its square.
const maxPath = 64 << 10

// Mkdir makes a directory.
func (s *Server) Mkdir(c *Caller, parent NodeID, name string, mode uint32, out *Entry) syscall.Errno {
	mode &= 07777 // mkdirat(2) drops set-uid itself
	return s.make(c, parent, name, access{op: policy.Mkdir}, out, func(d *dirRef) error { return d.MkdirAt(name, mode) })
}

// Mknod makes a regular file, a FIFO or a socket; never a device.
func (s *Server) Mknod(c *Caller, parent NodeID, name string, mode uint32, out *Entry) syscall.Errno {
	switch mode & unix.S_IFMT {
	case unix.S_IFCHR, unix.S_IFBLK:
		dir, errno := s.dir(parent)
		if errno != 0 {
			return errno
		}
		return s.refuse(c, access{op: policy.Mknod, path: s.pathOf(dir).Join(name)}, policy.Device)
	}
	op := policy.Mknod
	if mode&unix.S_IFMT == unix.S_IFREG || mode&unix.S_IFMT == 0 {
		op = policy.Create
	}
	mode &= noSetuid
	return s.make(c, parent, name, access{op: op}, out, func(d *dirRef) error { return d.MknodAt(name, mode) })
}

// Symlink makes a symbolic link.
func (s *Server) Symlink(c *Caller, parent NodeID, name, target string, out *Entry) syscall.Errno {
	dir, errno := s.dir(parent)
	if errno != 0 {
		return errno
	}
	path := s.pathOf(dir).Join(name)
	if !s.linkStays(path, target) {
		return s.refuse(c, access{op: policy.Symlink, path: path}, policy.SymlinkEscape)
	}
	if gitguard.LinksToGit(target) && s.gitOn(path) {
		return s.refuseGit(c, access{op: policy.Symlink, path: path}, "%s leads into a directory of git", path)
	}
	return s.make(c, parent, name, access{op: policy.Symlink, target: target}, out, func(d *dirRef) error { return d.SymlinkAt(target, name) })
}

// make decides a.op, lets act make the name in the backing for the caller, and
// answers with its node.
func (s *Server) make(c *Caller, parent NodeID, name string, a access, out *Entry, act func(*dirRef) error) syscall.Errno {
	defer s.hold(name)()
	dir, path, errno := s.vacant(c, parent, name, a.op)
	if errno != 0 {
		return errno
	}
	a.path = path
	d, errno := s.openDir(dir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	if errno := s.guardMake(c, dir, d, name, a); errno != 0 {
		return errno
	}
	if errno := s.as(c, dir, d, func() error { return act(d) }); errno != 0 {
		return errno
	}
	st, err := d.StatAt(name)
	if err != nil {
		return errnoOf(err)
	}
	f := foundObject(dir.mount, st)
	n := s.made(dir, name, f)
	s.warm(s.snap.Load(), n, policy.Stat)
	s.fill(n, path, &f, out)
	return 0
}

// as lets act make something in d that belongs to the caller, but for the group
// in a set-gid directory. A daemon without privilege can own things itself only.
func (s *Server) as(c *Caller, dir *node, d *dirRef, act func() error) syscall.Errno {
	uid, gid := s.stored(dir.mount, c.Uid, c.Gid)
	if s.uid != 0 || uid == s.uid && gid == s.gid {
		return errnoOf(act())
	}
	return errnoOf(d.As(uid, gid, act))
}

// Link gives a file a further name. What it could be used for by its new name
// alone must be allowed by its old ones: the daemon may forget those.
func (s *Server) Link(c *Caller, num, parent NodeID, name string, out *Entry) syscall.Errno {
	defer s.hold(name)()
	n, errno := s.node(num)
	if errno != 0 {
		return errno
	}
	if n.kind != kindFile {
		return noDirectoryLink
	}
	old := s.firstPath(n)
	for _, op := range [...]policy.Op{policy.Read, policy.Write} {
		if errno := s.gateNode(c, n, access{op: op, path: old, to: s.pathIn(parent, name)}); errno != 0 {
			return errno
		}
	}
	dir, path, errno := s.vacant(c, parent, name, policy.Link)
	if errno != 0 {
		return errno
	}
	a := access{op: policy.Link, path: old, to: path}
	isLink := s.isLink(n)
	if errno := s.gateFurtherName(c, dir, n, isLink, a); errno != 0 {
		return errno
	}
	d, errno := s.openDir(dir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	if errno := s.guardFurtherName(c, dir, n, isLink, d, name, a); errno != 0 {
		return errno
	}
	st, errno := s.linkObject(n, d, name)
	if errno != 0 {
		return errno
	}
	n.watch.own()
	f := foundObject(dir.mount, st)
	entered := s.made(dir, name, f)
	s.warm(s.snap.Load(), entered, policy.Stat)
	s.fill(entered, path, &f, out)
	return 0
}

// gateFurtherName decides whether n may have the name a.to in dir besides: in the
// same mount, without a gain, and as a symbolic link if it is one.
func (s *Server) gateFurtherName(c *Caller, dir, n *node, isLink bool, a access) syscall.Errno {
	view := s.View()
	if dir.mount == nil || s.mountAt(view, a.path) != s.mountAt(view, a.to) {
		return s.refuse(c, a, policy.CrossMount)
	}
	if isLink {
		if errno := s.gateName(c, dir, a.to, policy.Symlink); errno != 0 {
			return errno
		}
	}
	if !s.linkMayStand(n, a.to) {
		return s.refuse(c, a, policy.SymlinkEscape)
	}
	if mayGain(view, a.path, a.to) {
		return s.refuse(c, a, policy.Subtree)
	}
	return 0
}

// guardFurtherName decides, for git, whether n may have the further name in dir,
// which d is in the backing. Names are held still.
func (s *Server) guardFurtherName(c *Caller, dir, n *node, isLink bool, d *dirRef, name string, a access) syscall.Errno {
	if errno := s.guardMake(c, dir, d, name, a); errno != 0 {
		return errno
	}
	if isLink {
		if errno := s.guardLink(c, a, a.to); errno != 0 {
			return errno
		}
	}
	if f, ok := s.gitFile(n); ok {
		return s.refuseGit(c, a, "%s gets no further name, under which it could be changed unseen", f.path)
	}
	return 0
}

// linkObject makes the name in the backing, for the very object that n is.
func (s *Server) linkObject(n *node, d *dirRef, name string) (backing.Stat, syscall.Errno) {
	var st backing.Stat
	errno := s.withObject(n, func(obj backing.Object) error {
		if err := obj.LinkTo(d.Dir, name); err != nil {
			return err
		}
		var err error
		st, err = obj.Stat()
		return err
	})
	return st, errno
}
