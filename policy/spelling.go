package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// spelling is a path as globs see it, "" for the root: as it is written, and in
// the form that it has in common with all that a host may take for it.
type spelling struct {
	written, folded     string
	inWritten, inFolded names
}

// spell returns the spelling of p that layers need. A policy that does not fold
// sees p as it is written.
func spell(layers []*Policy, p vpath.Path) spelling {
	at := spelling{written: bare(p), folded: bare(p)}
	at.inWritten = namesIn(at.written)
	for _, layer := range layers {
		if layer != nil && layer.folds {
			at.folded = bare(p.Fold())
			break
		}
	}
	at.inFolded = at.inWritten
	if at.folded != at.written {
		at.inFolded = namesIn(at.folded)
	}
	return at
}

// match returns the glob of e that covers the path, or nil. Where the policy
// folds, a rule that takes away covers either form, and one that lets pass must
// cover both: that names are alike grants nothing.
func (e *entry) match(at spelling, folds bool) *glob {
	covers := e.find(at.written, at.inWritten)
	if !folds || at.folded == at.written || (covers == nil) == e.decision.Permits() {
		return covers
	}
	return e.find(at.folded, at.inFolded)
}

// find returns the glob of e that covers path, or nil; in is namesIn(path).
func (e *entry) find(path string, in names) *glob {
	for i := range e.globs {
		if e.globs[i].match(path, in) {
			return &e.globs[i]
		}
	}
	return nil
}
