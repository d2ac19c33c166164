package overlay

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// Place is where a virtual path leads. Mount is nil when no mount governs the
// path: then it is either a synthesised directory (Leads) or unmounted.
type Place struct {
	Path  vpath.Path
	Mount *Mount
	Rel   string // path below the mount's source; "" is the source itself

	// Leads reports that the target of a mount which is not wholly hidden lies
	// below Path. Such a path is shown as a synthesised directory where the
	// backing has no directory of that name, or where its stat is not allowed.
	Leads bool
}

// Resolve returns the place of p: the mount with the longest target that p is
// within, by component. It never fails and does not allocate.
func (v *View) Resolve(p vpath.Path) Place {
	place := Place{Path: p, Mount: v.governing(p), Leads: v.Leads(p)}
	if place.Mount != nil {
		place.Rel = p.Rel(place.Mount.Target)
	}
	return place
}

// governing walks up from p to the nearest target. Its cost is one map look-up
// for each component that the longest target could have, however many mounts
// there are.
func (v *View) governing(p vpath.Path) *Mount {
	for len(p) > v.longest {
		p = p.Dir()
	}
	for {
		if m := v.governs[p]; m != nil || p == vpath.Root {
			return m
		}
		p = p.Dir()
	}
}

// HostPath returns the host path behind p, and false where no mount governs p.
// It is for display: whoever opens the string again may meet another file than
// the view shows.
func (v *View) HostPath(p vpath.Path) (string, bool) {
	m := v.governing(p)
	if m == nil {
		return "", false
	}
	return m.host(p), true
}
