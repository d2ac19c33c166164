package overlay

import (
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Leads reports whether the target of a mount that is not wholly hidden lies
// below p. A mount is wholly hidden when the verdict of stat on its target is
// hide.
func (v *View) Leads(p vpath.Path) bool { return len(v.names[p]) > 0 }

// Names returns the names directly below dir that lead to a mount which is not
// wholly hidden, sorted: what a listing of dir shows besides the backing's own.
// Callers must not change it.
func (v *View) Names(dir vpath.Path) []string { return v.names[dir] }

// Pinned reports whether p is a mount's target or an ancestor of one: such a
// name is not removed, renamed or replaced (EBUSY). The directory that is the
// source of another mount, and what lies above it, are pinned too: moved away,
// they would lose the rules of their other name.
func (v *View) Pinned(p vpath.Path) bool {
	return v.pinned[p] || v.outer != nil && v.outer.Pinned(p)
}

// pin fills pinned: every target, every place where the source of one mount
// shows through another, and all their ancestors.
func (v *View) pin() {
	v.pinned = make(map[vpath.Path]bool)
	for i := range v.mounts {
		m := &v.mounts[i]
		v.pinWithAncestors(m.Target)
		for _, a := range v.aliases(m, m.Target) {
			if m.Kind == KindDir {
				v.pinWithAncestors(a.path)
			} else {
				v.pinWithAncestors(a.path.Dir()) // hosts replace such a file by rename
			}
		}
	}
}

func (v *View) pinWithAncestors(p vpath.Path) {
	for ; !v.pinned[p]; p = p.Dir() {
		v.pinned[p] = true
	}
}

// synthesise fills names and conceals. It asks Decide of every target, so
// everything that Decide needs stands before.
func (v *View) synthesise() {
	v.names = make(map[vpath.Path][]string)
	v.conceals = make(map[vpath.Path]bool)
	for i := range v.mounts {
		m := &v.mounts[i]
		if v.Decide(m.Target, policy.Stat).Decision == policy.Hide {
			v.conceal(m)
			continue
		}
		for p := m.Target; p != vpath.Root; p = p.Dir() {
			v.names[p.Dir()] = append(v.names[p.Dir()], p.Base())
		}
	}
	for dir, names := range v.names {
		slices.Sort(names)
		v.names[dir] = slices.Compact(names)
	}
}

// conceal notes the directories in which a name is missing because m is hidden.
func (v *View) conceal(m *Mount) {
	for p := m.Target; p != vpath.Root; p = p.Dir() {
		v.conceals[p.Dir()] = true
	}
	for _, a := range v.aliases(m, m.Target) {
		v.conceals[a.path.Dir()] = true
	}
}
