package overlay

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Alike reports whether everything below a has, by proof from the rules, the
// same verdicts as the same path below b: same mount, no mount below either,
// no alias of either, and no rule that can tell them apart. Of a and b
// themselves it says nothing. False means "not proven".
func (v *View) Alike(a, b vpath.Path) bool {
	m := v.governing(a)
	switch {
	case m == nil || m != v.governing(b):
		return false
	case v.Pinned(a) || v.Pinned(b):
		return false
	case len(v.aliases(m, a)) > 0 || len(v.aliases(m, b)) > 0:
		return false
	case !policy.Alike(m.policies, a, b):
		return false
	}
	return v.outer == nil || v.outer.Alike(a, b)
}

// MayHide reports whether a name directly in dir could be hidden. It may say
// true for a directory where no such name exists.
func (v *View) MayHide(dir vpath.Path) bool {
	if v.conceals[dir] {
		return true
	}
	m := v.governing(dir)
	if m == nil {
		return false
	}
	if policy.MayHide(m.policies, dir) {
		return true
	}
	for _, a := range v.aliases(m, dir) {
		if policy.MayHide(a.mount.policies, a.path) {
			return true
		}
	}
	return v.outer != nil && v.outer.MayHide(dir)
}
