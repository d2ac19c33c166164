package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// Alike reports whether no rule of layers can tell a path below a from the
// same path below b, for every relative path there could be. False means "not
// proven".
func Alike(layers []*Policy, a, b vpath.Path) bool {
	from, to := spell(layers, a), spell(layers, b)
	for _, layer := range layers {
		if layer == nil {
			continue
		}
		if !layer.alike(from.written, to.written) || layer.folds && !layer.alike(from.folded, to.folded) {
			return false
		}
	}
	return true
}

func (p *Policy) alike(a, b string) bool {
	for i := range p.entries {
		globs := p.entries[i].globs
		for j := range globs {
			if globs[j].reach(a) != globs[j].reach(b) {
				return false
			}
		}
	}
	return true
}

// MayHide reports whether some rule of layers could hide a name directly in
// dir. It may say true for a directory where no such name exists.
func MayHide(layers []*Policy, dir vpath.Path) bool {
	in := spell(layers, dir)
	for _, layer := range layers {
		if layer == nil || !layer.hides {
			continue
		}
		if layer.mayHide(in.written) || layer.folds && layer.mayHide(in.folded) {
			return true
		}
	}
	return false
}

func (p *Policy) mayHide(dir string) bool {
	for i := range p.entries {
		e := &p.entries[i]
		if e.decision != Hide || !e.ops.Has(Stat) {
			continue
		}
		for j := range e.globs {
			if e.globs[j].mayMatchChild(dir) {
				return true
			}
		}
	}
	return false
}
