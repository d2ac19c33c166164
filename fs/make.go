package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// vacant decides op for a name that is about to be made. A hidden name is
// ENOENT whether it exists or not; one that exists is EEXIST, with what is
// there, before op is asked for.
func (s *Server) vacant(c *Caller, parent NodeID, name string, op policy.Op) (*node, vpath.Path, found, syscall.Errno) {
	dir, errno := s.dir(parent)
	if errno != 0 {
		return nil, "", found{}, errno
	}
	path := s.pathOf(dir).Join(name)
	view := s.View()
	if !dir.hides(view, path) {
		f, errno := s.locate(view, dir, name, path)
		if errno == 0 {
			return dir, path, f, syscall.EEXIST
		}
		if errno != syscall.ENOENT {
			return dir, path, found{}, errno
		}
	}
	return dir, path, found{}, s.gateName(c, dir, path, op)
}

// Mkdir makes a directory.
func (s *Server) Mkdir(c *Caller, parent NodeID, name string, mode uint32, out *Entry) syscall.Errno {
	mode &= 07777 & noSetuid
	return s.make(c, parent, name, policy.Mkdir, mode, out, func(d *dirRef) error { return d.MkdirAt(name, mode) })
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
	return s.make(c, parent, name, op, mode, out, func(d *dirRef) error { return d.MknodAt(name, mode) })
}

// Symlink makes a symbolic link.
func (s *Server) Symlink(c *Caller, parent NodeID, name, target string, out *Entry) syscall.Errno {
	dir, errno := s.dir(parent)
	if errno != 0 {
		return errno
	}
	if path := s.pathOf(dir).Join(name); !s.linkStays(path, target) {
		return s.refuse(c, access{op: policy.Symlink, path: path}, policy.SymlinkEscape)
	}
	return s.make(c, parent, name, policy.Symlink, 0, out, func(d *dirRef) error { return d.SymlinkAt(target, name) })
}

// make decides, lets act make the name in the backing, gives it to the caller
// and answers with its node.
func (s *Server) make(c *Caller, parent NodeID, name string, op policy.Op, mode uint32, out *Entry, act func(*dirRef) error) syscall.Errno {
	s.moves.RLock()
	defer s.moves.RUnlock()
	dir, path, _, errno := s.vacant(c, parent, name, op)
	if errno != 0 {
		return errno
	}
	d, errno := s.openDir(dir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	if err := act(d); err != nil {
		return errnoOf(err)
	}
	obj, err := d.ObjectAt(name)
	if err != nil {
		return errnoOf(err)
	}
	defer obj.Close()
	st, errno := s.adopt(c, dir, d, obj, mode)
	if errno != 0 {
		return errno
	}
	f := foundObject(dir.mount, st)
	n := s.enter(dir, name, f)
	s.warm(s.snap.Load(), n, policy.Stat)
	s.fill(n, path, &f, out)
	return 0
}

// adopt gives a new object to the caller, but for the group in a set-gid
// directory, and returns its attributes. A daemon without privilege can own
// things itself only.
func (s *Server) adopt(c *Caller, dir *node, d *dirRef, obj backing.Object, mode uint32) (backing.Stat, syscall.Errno) {
	uid, gid := s.stored(dir.mount, c.Uid, c.Gid)
	if s.uid != 0 || uid == s.uid && gid == s.gid {
		st, err := obj.Stat()
		return st, errnoOf(err)
	}
	in, err := d.Stat()
	if err != nil {
		return in, errnoOf(err)
	}
	group := int(gid)
	if in.Mode&unix.S_ISGID != 0 {
		group = -1
	}
	if err := obj.Chown(int(uid), group); err != nil {
		return in, errnoOf(err)
	}
	st, err := obj.Stat()
	if err == nil && mode&unix.S_ISGID != 0 && st.Mode&unix.S_ISGID == 0 && !st.IsDir() {
		// A change of owner takes the set-gid bit away.
		if err = obj.Chmod(mode & 07777); err == nil {
			st, err = obj.Stat()
		}
	}
	return st, errnoOf(err)
}

// Link gives a file a further name. What it could be used for by its new name
// alone must be allowed by its old ones: the daemon may forget those.
func (s *Server) Link(c *Caller, num, parent NodeID, name string, out *Entry) syscall.Errno {
	s.moves.RLock()
	defer s.moves.RUnlock()
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
	dir, path, _, errno := s.vacant(c, parent, name, policy.Link)
	if errno != 0 {
		return errno
	}
	a := access{op: policy.Link, path: old, to: path}
	view := s.View()
	if dir.mount == nil || s.mountAt(view, old) != s.mountAt(view, path) {
		return s.refuse(c, a, policy.CrossMount)
	}
	if mayGain(view, old, path) {
		return s.refuse(c, a, policy.Subtree)
	}
	d, errno := s.openDir(dir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	st, errno := s.linkObject(n, d, name)
	if errno != 0 {
		return errno
	}
	n.watch.own()
	f := foundObject(dir.mount, st)
	entered := s.enter(dir, name, f)
	s.warm(s.snap.Load(), entered, policy.Stat)
	s.fill(entered, path, &f, out)
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
