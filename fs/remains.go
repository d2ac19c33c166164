package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// A file that loses its last name goes on for those who have it open, and for
// those who have just looked it up: natively the inode holds. The daemon keeps
// hold of it until the kernel forgets the node.

// remains is what will be left of a node that is about to lose a name.
type remains struct {
	node *node          // what was known under the name; may be nil
	last bool           // it has no other name
	kept backing.Object // a file that has no other name; else nil
}

// keep looks at what n, known under name in d, will be without that name. The
// caller gives the answer to lostLocked, or closes it.
func (s *Server) keep(n *node, d backing.Dir, name string) remains {
	if n == nil || n.kind != kindFile {
		return remains{node: n, last: true}
	}
	obj, err := d.ObjectAt(name)
	if err != nil {
		return remains{node: n}
	}
	if st, err := obj.Stat(); err != nil || st.ID() != n.id || st.Nlink > 1 {
		obj.Close()
		return remains{node: n}
	}
	return remains{node: n, last: true, kept: obj}
}

func (r remains) close() {
	if r.kept != nil {
		r.kept.Close()
	}
}

// lostLocked takes the name d, which this view has removed from the backing,
// from whatever node has it. What remains of the node is kept until the kernel
// forgets it.
func (s *Server) lostLocked(d dentry, r remains) {
	d.dir.changes++
	n := d.dir.children[d.name]
	if n == nil || n != r.node {
		if n != nil {
			s.unlinkLocked(n, d)
		}
		r.close()
		return
	}
	n.lookups++ // so that it does not go before it has what is kept
	s.unlinkLocked(n, d)
	n.lookups--
	n.watch.own()
	if r.last {
		s.goneLocked(n)
	}
	if r.kept != nil && n.kept == nil {
		n.kept = r.kept
	} else {
		r.close()
	}
	s.dropLocked(n)
}

// keptOf returns what was kept of n. It may be closed while in use: that takes
// effect when the use ends.
func (s *Server) keptOf(n *node) backing.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return n.kept
}

// withRemains calls act with an open file of n, or with what was kept of it;
// ESTALE when there is neither.
func (s *Server) withRemains(n *node, act func(backing.Object) error) syscall.Errno {
	if h := s.anyHandle(n); h != nil {
		defer h.done()
		return errnoOf(act(h.file))
	}
	if kept := s.keptOf(n); kept != nil {
		return errnoOf(act(kept))
	}
	return syscall.ESTALE
}

// forgetAll lets the nodes go that the kernel has never forgotten, with what was
// kept of them: at an unmount it does not say so.
func (s *Server) forgetAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.metrics.Nodes(1 - len(s.nodes)) // the root is not counted
	for _, n := range s.nodes {
		if n.kept != nil {
			n.kept.Close()
		}
	}
	clear(s.nodes)
}
