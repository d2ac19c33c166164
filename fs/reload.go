package fs

import (
	"errors"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Swap puts another view of the same mounts in force. From its return on, every
// request is decided by it, on files that are open as well; what the kernel has
// cached and would now be refused, or allowed, is dropped.
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

// invalidate tells the kernel of every node whose verdict differs: inodes
// first, so that no page outlives its right, entries after.
func (s *Server) invalidate(old, view *overlay.View) {
	var entries []dentry
	s.mu.RLock()
	for _, n := range s.nodes {
		if n.kind == kindSynth && n.num != RootID || !n.differs(old, view) {
			continue
		}
		s.notify.data(n.num)
		entries = append(entries, n.names...)
	}
	s.mu.RUnlock()
	for _, d := range entries {
		s.notify.entry(d.dir.num, d.name)
	}
}

// differs reports whether some operation that one view permits is refused by
// the other. Server.mu must be held.
func (n *node) differs(old, view *overlay.View) bool {
	var buf [4]vpath.Path
	paths := n.pathsLocked(buf[:0])
	was, is := n.allowed(old, paths), n.allowed(view, paths)
	if was != is {
		return true
	}
	for op := range policy.Op(policy.NumOps) {
		if !was.Has(op) && n.decide(old, paths, op).Decision != n.decide(view, paths, op).Decision {
			return true
		}
	}
	return false
}
