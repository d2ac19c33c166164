package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// This file is the one door. Whatever a caller may do was decided here, by one
// of three questions: may op be done to this node (gate), to this name (gateName),
// to this name of this node (gateEntry).

// gate decides op on a node by all the names it is known by. On a warm path it
// costs one atomic load and one bit test.
func (s *Server) gate(c *Caller, n *node, op policy.Op) syscall.Errno {
	snap := s.snap.Load()
	if s.warm(snap, n, op) {
		s.countersOf(n).Decided(op, policy.Allow)
		return 0
	}
	return s.gateNode(c, n, access{op: op, path: s.firstPath(n)})
}

// gateNode decides a.op on a node, without the cache; a names it in the record.
func (s *Server) gateNode(c *Caller, n *node, a access) syscall.Errno {
	snap := s.snap.Load()
	var buf [4]vpath.Path
	s.mu.RLock()
	paths := n.pathsLocked(buf[:0])
	s.mu.RUnlock()
	return s.settle(c, snap, s.countersOf(n), a, n.decide(snap.view, paths, a.op))
}

// warm reports whether op is plainly allowed on n, from what the node has
// cached; it fills the cache on the first question of a generation.
func (s *Server) warm(snap *snapshot, n *node, op policy.Op) bool {
	if v := n.verdict.Load(); v>>opBits != snap.generation {
		var buf [4]vpath.Path
		s.mu.RLock()
		n.cache(snap.generation, n.allowed(snap.view, n.pathsLocked(buf[:0])))
		s.mu.RUnlock()
	}
	return n.allows(snap.generation, op)
}

// gateData decides an operation on an open file. The descriptor that made a
// file may read, write and stat it for as long as making it is allowed.
func (s *Server) gateData(c *Caller, h *handle, op policy.Op) syscall.Errno {
	snap := s.snap.Load()
	if s.warm(snap, h.node, op) || h.maker != "" && h.making(snap) {
		s.countersOf(h.node).Decided(op, policy.Allow)
		return 0
	}
	return s.gate(c, h.node, op)
}

// gateStat decides stat of a node. The request names no handle, so that any
// open one that made the file will do; a stat by name was preceded by a lookup,
// which asks for the name.
func (s *Server) gateStat(c *Caller, n *node) syscall.Errno {
	snap := s.snap.Load()
	if !s.warm(snap, n, policy.Stat) && s.anyMaker(snap, n) {
		s.countersOf(n).Decided(policy.Stat, policy.Allow)
		return 0
	}
	return s.gate(c, n, policy.Stat)
}

// making reports whether the name under which the handle made its file may
// still be made.
func (h *handle) making(snap *snapshot) bool {
	if g := h.made.Load(); g>>1 == snap.generation {
		return g&1 != 0
	}
	g := snap.generation << 1
	if snap.view.Decide(h.maker, policy.Create).Decision.Permits() {
		g |= 1
	}
	h.made.Store(g)
	return g&1 != 0
}

// gateName decides op on a name in a directory, whether it exists or not.
func (s *Server) gateName(c *Caller, dir *node, path vpath.Path, op policy.Op) syscall.Errno {
	return s.gateEntry(c, dir, nil, access{op: op, path: path})
}

// gateEntry decides a.op on the name a.path in dir, which is known to be one of
// the names of n (nil when no node is known there): the strictest verdict of
// all of them.
func (s *Server) gateEntry(c *Caller, dir, n *node, a access) syscall.Errno {
	snap := s.snap.Load()
	v := dir.decideBelow(snap.view, a.path, a.op)
	if n != nil {
		var buf [4]vpath.Path
		s.mu.RLock()
		paths := n.pathsLocked(buf[:0])
		s.mu.RUnlock()
		v = stricter(v, n.decide(snap.view, paths, a.op))
	}
	return s.settle(c, snap, s.countersAt(snap.view, a.path), a, v)
}

// refuse settles an operation that a built-in rule refuses, whatever the
// policies say; a name that is hidden stays so.
func (s *Server) refuse(c *Caller, a access, rule *policy.Rule) syscall.Errno {
	snap := s.snap.Load()
	v := policy.Verdict{Decision: policy.Deny, Rule: rule}
	if rule.Decision == policy.Hide {
		v.Decision = policy.Hide
	}
	if hidden := snap.view.Decide(a.path, a.op); hidden.Decision == policy.Hide {
		v = hidden
	}
	return s.settle(c, snap, s.countersAt(snap.view, a.path), a, v)
}

// access is what is being decided.
type access struct {
	op   policy.Op
	path vpath.Path
	to   vpath.Path // of rename and link

	target string // of symlink
	detail string // what the rule says of this very access, else ""
}

// settle counts and records a verdict and turns it into an errno. A verdict of
// Ask is a denial, recorded at the place of the rule that asks: nobody is
// connected to answer.
func (s *Server) settle(c *Caller, snap *snapshot, m *metrics.Mount, a access, v policy.Verdict) syscall.Errno {
	recorded := v.Rule
	if v.Decision == policy.Ask {
		a.detail, recorded = unanswered(v.Rule), &policy.Rule{Name: policy.NoApprover.Name, Policy: v.Rule.Policy, Pos: v.Rule.Pos}
		v = policy.Verdict{Decision: policy.Deny, Rule: policy.NoApprover}
	}
	m.Decided(a.op, v.Decision)
	s.metrics.Rule(v.Rule, v.Decision)
	if v.Decision == policy.Allow {
		return 0
	}
	var errno syscall.Errno
	if !v.Decision.Permits() {
		errno = refusal(v)
	}
	v.Rule = recorded
	err := s.recorder.Record(Access{
		Mount: targetAt(snap.view, a.path), Op: a.op, Path: a.path, To: a.to, Verdict: v, Detail: a.detail, Errno: errno,
		Pid: c.Pid, Uid: c.Uid, Generation: snap.generation,
	})
	s.recorded(err)
	if err != nil && errno == 0 {
		errno = syscall.EIO
	}
	return errno
}

// unanswered names the rule that asks.
func unanswered(r *policy.Rule) string {
	text := "the rule " + r.Name + " asks for approval, and nobody is connected to give it"
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// recorded says in the log when accesses cannot be recorded any more, and when
// they can again: a line for each would be a way to fill another disk.
func (s *Server) recorded(err error) {
	if err != nil {
		if s.unrecorded.Add(1) == 1 {
			s.log.Error("an access could not be recorded; the next line on this is when they are again", "err", err)
		}
	} else if s.unrecorded.Load() != 0 {
		s.log.Warn("accesses are recorded again", "missing", s.unrecorded.Swap(0))
	}
}

// decide returns the strictest verdict of the view for the paths of n. A
// synthesised directory can be stat-ed and listed and nothing else, whatever
// the policy of the mount says that has no such directory.
func (n *node) decide(view *overlay.View, paths []vpath.Path, op policy.Op) policy.Verdict {
	if n.kind == kindSynth {
		if policy.Synthesised.Ops.Has(op) {
			return policy.Verdict{Decision: policy.Allow, Rule: policy.Synthesised}
		}
		return policy.Verdict{Decision: policy.Deny, Rule: policy.Unmounted}
	}
	v := view.Decide(paths[0], op)
	for _, p := range paths[1:] {
		v = stricter(v, view.Decide(p, op))
	}
	if r := ownRule(view, n.id); r != nil && r.Ops.Has(op) {
		v = stricter(v, policy.Verdict{Decision: r.Decision, Rule: r})
	}
	return v
}

// ownRule returns the rule for an object that the view itself is made of, or nil.
func ownRule(view *overlay.View, id backing.ID) *policy.Rule {
	return view.OwnRule(overlay.FileID{Dev: id.Dev, Ino: id.Ino})
}

// allowed returns the operations that decide allows plainly.
func (n *node) allowed(view *overlay.View, paths []vpath.Path) policy.OpSet {
	if n.kind == kindSynth {
		return policy.Synthesised.Ops
	}
	ops := policy.AllOps
	for _, p := range paths {
		ops &= view.Allowed(p)
	}
	if r := ownRule(view, n.id); r != nil {
		ops &^= r.Ops
	}
	return ops
}

// decideBelow returns the verdict for a name in the directory n. Nothing can be
// made in a synthesised directory, even where a mount around it would allow it.
func (n *node) decideBelow(view *overlay.View, path vpath.Path, op policy.Op) policy.Verdict {
	v := view.Decide(path, op)
	if n.kind == kindSynth && policy.ChangeOps.Has(op) && v.Decision != policy.Hide && view.Resolve(path).Rel != "" {
		return policy.Verdict{Decision: policy.Deny, Rule: policy.Unmounted}
	}
	return v
}

// mayGain reports whether anything could be done to a file under the name to
// that could not be done under the name from. Making a name is no gain.
func mayGain(view *overlay.View, from, to vpath.Path) bool {
	return gained(view, from, to)&^policy.CreateOps != 0
}

// gained returns what is permitted at to and not at from, or is no longer
// recorded.
func gained(view *overlay.View, from, to vpath.Path) policy.OpSet {
	return view.Permitted(to)&^view.Permitted(from) | view.Allowed(to)&^view.Allowed(from)
}

// mayTell reports whether something below a directory could be done at to that
// could not be done at from, or could be made, changed or removed at from and
// not at to. The first would open what was closed; the second is how something
// is planted in a guarded place: built beside it, then moved there.
func mayTell(view *overlay.View, from, to vpath.Path) bool {
	lost := view.Permitted(from) &^ view.Permitted(to)
	return gained(view, from, to) != 0 || lost&policy.ChangeOps != 0
}

// hides reports whether a name in the directory n is hidden: it must not show,
// by any errno, that it exists.
func (n *node) hides(view *overlay.View, path vpath.Path) bool {
	return n.decideBelow(view, path, policy.Stat).Decision == policy.Hide
}

// mayStat reports whether the view permits stat of path.
func mayStat(view *overlay.View, path vpath.Path) bool {
	return view.Decide(path, policy.Stat).Decision.Permits()
}

func stricter(v, w policy.Verdict) policy.Verdict {
	if w.Decision.Stricter(v.Decision) {
		return w
	}
	return v
}

// countersOf returns the counters of the mount that holds n.
func (s *Server) countersOf(n *node) *metrics.Mount {
	if n.mount == nil {
		return s.unmounted
	}
	return n.mount.counters
}

// countersAt returns the counters of the mount that governs path.
func (s *Server) countersAt(view *overlay.View, path vpath.Path) *metrics.Mount {
	if m := s.mountAt(view, path); m != nil {
		return m.counters
	}
	return s.unmounted
}

// mountAt returns the mount that governs path, or nil.
func (s *Server) mountAt(view *overlay.View, path vpath.Path) *mount {
	if m := view.Resolve(path).Mount; m != nil {
		return s.mounts[m.Target]
	}
	return nil
}

func targetAt(view *overlay.View, path vpath.Path) vpath.Path {
	if m := view.Resolve(path).Mount; m != nil {
		return m.Target
	}
	return ""
}
