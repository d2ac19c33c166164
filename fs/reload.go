package fs

import (
	"errors"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Swap puts another view of the same mounts in force. From its return on, every
// request is decided by it, on files that are open as well; what the kernel
// keeps and would now be refused, or allowed, is dropped.
func (s *Server) Swap(view *overlay.View) error {
	mounts := view.Mounts()
	if len(mounts) != len(s.mounts) {
		return errors.New("the mounts have changed; a running view keeps those it started with")
	}
	for i := range mounts {
		if s.mounts[mounts[i].Target] == nil {
			return errors.New("the mounts have changed; a running view keeps those it started with")
		}
	}
	s.mu.Lock()
	old := s.snap.Load()
	now := &snapshot{view, old.generation + 1}
	s.snap.Store(now)
	s.mu.Unlock()
	s.metrics.Generation(now.generation)
	s.invalidate(old.view, view)
	return nil
}

// known is a node as it was when a reload came.
type known struct {
	node  *node
	paths []vpath.Path
	names []dentry
	open  bool
}

// invalidate tells the kernel of every node that it may go on using, or
// refusing, without asking: open files first, whose pages are at stake; inodes
// before entries, so that no page outlives its right.
func (s *Server) invalidate(old, view *overlay.View) {
	nodes := s.knownNodes()
	var entries []dentry
	for _, open := range []bool{true, false} {
		for _, k := range nodes {
			if k.open == open && k.differs(old, view) {
				s.notify.data(k.node.num)
				entries = append(entries, k.names...)
			}
		}
	}
	for _, d := range entries {
		s.names.entry(d.dir.num, d.name)
	}
}

// knownNodes copies the table, so that no lock is held while rules are tried.
func (s *Server) knownNodes() []known {
	s.mu.RLock()
	defer s.mu.RUnlock()
	nodes := make([]known, 0, len(s.nodes))
	for _, n := range s.nodes {
		nodes = append(nodes, n.knownLocked())
	}
	return nodes
}

// Operations whose results the kernel keeps: attributes and names of every
// node, pages of open files. All else is asked for each time.
var (
	keptOps     = []policy.Op{policy.Stat}
	keptOpenOps = []policy.Op{policy.Stat, policy.Read, policy.Exec, policy.Write}
)

// differs reports whether the views differ in what they permit of that.
func (k known) differs(old, view *overlay.View) bool {
	return differ(k.node, k.open, pathsUnder{old, k.paths}, pathsUnder{view, k.paths})
}
