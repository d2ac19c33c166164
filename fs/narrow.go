package fs

import (
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// A file that moves, or gets a further name, may be used for less from then on.
// The kernel asks for no page that it has, and would go on serving descriptors
// that are open; it is told to drop pages, attributes and names.

// moving returns the known nodes whose paths a move will change, as they are
// before it: what is moved, and what lies below unless no rule can tell the two
// places apart.
func (s *Server) moving(m *move) []known {
	if m.node == nil {
		return nil
	}
	below := m.node.isDir() && !s.View().Alike(m.old, m.new)
	s.mu.RLock()
	defer s.mu.RUnlock()
	var nodes []known
	var add func(n *node)
	add = func(n *node) {
		nodes = append(nodes, n.knownLocked())
		if !below {
			return
		}
		for _, child := range n.children {
			add(child)
		}
	}
	add(m.node)
	return nodes
}

// narrowed tells the kernel of those nodes whose verdicts are others by the
// paths that they have now.
func (s *Server) narrowed(nodes []known) {
	view := s.View()
	for _, k := range nodes {
		s.mu.RLock()
		now := k.node.knownLocked()
		s.mu.RUnlock()
		if differ(k.node, k.open, pathsUnder{view, k.paths}, pathsUnder{view, now.paths}) {
			s.tell(now)
		}
	}
}

// linkFurtherLocked makes d a name of a file that has others.
func (s *Server) linkFurtherLocked(n *node, d dentry) {
	view, before := s.View(), n.knownLocked()
	s.linkLocked(n, d)
	if differ(n, before.open, pathsUnder{view, before.paths}, pathsUnder{view, n.pathsLocked(nil)}) {
		s.tell(before)
	}
}

// tell lets the kernel ask anew for a node, by each of its names.
func (s *Server) tell(k known) {
	s.notify.data(k.node.num)
	for _, d := range k.names {
		s.names.entry(d.dir.num, d.name)
	}
}

// knownLocked returns n as it is now. Server.mu must be held.
func (n *node) knownLocked() known {
	return known{n, n.pathsLocked(nil), slices.Clone(n.names), len(n.handles) > 0}
}

// pathsUnder are paths with the view that judges them.
type pathsUnder struct {
	view  *overlay.View
	paths []vpath.Path
}

// differ reports whether two views, or two sets of names, differ in what they
// permit to be done to n that the kernel does not ask for each time.
func differ(n *node, open bool, before, now pathsUnder) bool {
	ops := keptOps
	if open {
		ops = keptOpenOps
	}
	for _, op := range ops {
		was, is := n.decide(before.view, before.paths, op), n.decide(now.view, now.paths, op)
		if was.Decision.Permits() != is.Decision.Permits() {
			return true
		}
	}
	return false
}
