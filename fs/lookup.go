package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Lookup finds name in parent. A name that does not exist is ENOENT with
// out.Valid set (the kernel may remember that); a hidden one is ENOENT without.
func (s *Server) Lookup(c *Caller, parent NodeID, name string, out *Entry) syscall.Errno {
	for range lookupTries {
		*out = Entry{}
		if errno := s.lookup(c, parent, name, out); errno != again {
			return errno
		}
	}
	return syscall.ESTALE
}

// A lookup that a change in the same directory overtook is made again, so often
// at most; then the kernel is told to.
const (
	again       = syscall.EAGAIN
	lookupTries = 20
)

func (s *Server) lookup(c *Caller, parent NodeID, name string, out *Entry) syscall.Errno {
	dir, errno := s.dir(parent)
	if errno != 0 {
		return errno
	}
	if s.placedLately(dir) != 0 {
		return again
	}
	seen := s.changesOf(dir)
	path, known := s.child(dir, name)
	if len(path) > maxPath {
		return syscall.ENAMETOOLONG
	}
	snap := s.snap.Load()
	if known == nil || !known.allows(snap.generation, policy.Stat) {
		// The errno of a refusal must not depend on whether the name exists when it
		// is hidden, and must do so when it is denied.
		if dir.hides(snap.view, path) && !snap.view.Leads(path) {
			return s.gateName(c, dir, path, policy.Stat)
		}
	}
	f, errno := s.locate(snap.view, dir, name, path)
	if f.own != nil {
		return s.refuse(c, access{op: policy.Stat, path: path}, f.own)
	}
	if errno != 0 {
		if errno == syscall.ENOENT {
			out.Valid = s.lifetime
		}
		return errno
	}
	n := s.enter(dir, name, f, seen)
	if n == nil {
		return again
	}
	return s.answer(c, dir, n, path, f, out)
}

// answer makes n, which was found under path, known to the kernel, if it may be
// stat-ed by every name that it has.
func (s *Server) answer(c *Caller, dir, n *node, path vpath.Path, f found, out *Entry) syscall.Errno {
	if snap := s.snap.Load(); s.warm(snap, n, policy.Stat) {
		s.countersOf(n).Decided(policy.Stat, policy.Allow)
	} else if errno := s.gateEntry(c, dir, n, access{op: policy.Stat, path: path}); errno != 0 {
		s.Forget(n.num, 1)
		return errno
	}
	s.fill(n, path, &f, out)
	return 0
}

// fill writes the reply for a node that was entered under path.
func (s *Server) fill(n *node, path vpath.Path, f *found, out *Entry) {
	s.foundAttr(n, f, path, &out.Attr)
	out.Node, out.Valid = n.num, s.lifetime
	if !n.allows(s.Generation(), policy.Stat) {
		// Recorded each time, or known only by the descriptor that made it.
		out.Valid, out.Attr.Valid = 0, 0
	}
	if gitguard.Locks(path.Base()) {
		out.Valid = 0 // renamed to its place, the name must lead to the fresh file at once
	}
}

// Getattr returns the attributes of a node.
func (s *Server) Getattr(c *Caller, num NodeID, out *Attr) syscall.Errno {
	n, errno := s.node(num)
	if errno != 0 {
		return errno
	}
	if errno := s.gateStat(c, n); errno != 0 {
		return errno
	}
	return s.getattr(n, out)
}

// getattr fills out with what n's backing says now. It asks nobody.
func (s *Server) getattr(n *node, out *Attr) syscall.Errno {
	switch n.kind {
	case kindSynth:
		s.synthAttr(s.pathOf(n), out)
		return 0
	case kindDevice:
		s.deviceAttr(n, out)
		return 0
	}
	st, errno := s.stat(n)
	if errno != 0 {
		return errno
	}
	s.foundAttr(n, &found{kind: n.kind, stat: st}, "", out)
	if !n.allows(s.Generation(), policy.Stat) {
		out.Valid = 0
	}
	return 0
}

// stat asks the backing: of a directory by its descriptor, of a file by an
// open handle, else by the first of its names that still leads to it, else by
// what was kept of it. ESTALE when there is nothing: the kernel then looks the
// name up again.
func (s *Server) stat(n *node) (backing.Stat, syscall.Errno) {
	if n.kind == kindDir {
		d, errno := s.openDir(n)
		if errno != 0 {
			return backing.Stat{}, errno
		}
		defer d.release()
		st, err := d.Stat()
		return st, errnoOf(err)
	}
	if h := s.anyHandle(n); h != nil {
		defer h.done()
		st, err := h.file.Stat()
		return st, errnoOf(err)
	}
	var st backing.Stat
	errno := s.atName(n, func(d *dirRef, name string) (err error) {
		st, err = d.StatAt(name)
		return n.same(&st, err)
	})
	if kept := s.keptOf(n); errno == syscall.ESTALE && kept != nil {
		st, err := kept.Stat()
		return st, errnoOf(err)
	}
	return st, errno
}

// Access answers access(2) where the kernel asks; under default_permissions it
// does not.
func (s *Server) Access(c *Caller, num NodeID) syscall.Errno {
	n, errno := s.node(num)
	if errno != 0 {
		return errno
	}
	return s.gate(c, n, policy.Stat)
}
