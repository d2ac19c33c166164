package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// spelling is a path as globs see it, "" for the root: as it is written, and in
// the form that it has in common with all that a host may take for it.
type spelling struct{ written, folded string }

// spell returns the spelling of p that layers need. A policy that does not fold
// sees p as it is written.
func spell(layers []*Policy, p vpath.Path) spelling {
	at := spelling{bare(p), bare(p)}
	for _, layer := range layers {
		if layer != nil && layer.folds {
			at.folded = bare(p.Fold())
			break
		}
	}
	return at
}

// match returns the glob of e that covers the path, or nil. Where the policy
// folds, a rule that takes away covers either form, and one that lets pass must
// cover both: that names are alike grants nothing.
func (e *entry) match(at spelling, folds bool) *glob {
	covers := e.find(at.written)
	if !folds || at.folded == at.written || (covers == nil) == e.decision.Permits() {
		return covers
	}
	return e.find(at.folded)
}

// find returns the glob of e that covers path, or nil.
func (e *entry) find(path string) *glob {
	for i := range e.globs {
		if e.globs[i].match(path) {
			return &e.globs[i]
		}
	}
	return nil
}
