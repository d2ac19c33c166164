package overlay

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Explanation is a verdict and the whole way to it.
type Explanation struct {
	Place   Place
	Op      policy.Op
	Verdict policy.Verdict // as Decide gives it

	// Names holds what is said of each name of the path: of the path itself
	// first, then of its aliases. It is empty where no mount governs the path.
	Names []Name
}

// Name is what one mount says of one name of a path.
type Name struct {
	Path     vpath.Path
	Mount    *Mount
	Outside  bool // a name that the view does not show but the one it was restricted from
	ReadOnly bool // the mount is readonly and the operation is a change
	Layers   []LayerSteps
	Verdict  policy.Verdict
	Decides  bool // the verdict of the Explanation comes from here
}

// LayerSteps is what one layer says, rule by rule.
type LayerSteps struct {
	Layer
	Steps   []policy.Step
	Verdict policy.Verdict
	Decides bool // the verdict of the Explanation comes from the last step here
}

// Explain returns the verdict of Decide with every layer of every name that was
// asked. At most one Name decides, and in it at most one layer: none where the
// verdict is one of the view's own (policy.Unmounted, policy.Synthesised,
// policy.RootStat, policy.ReadonlyMount).
func (v *View) Explain(p vpath.Path, op policy.Op) Explanation {
	e := Explanation{
		Place:   v.Resolve(p),
		Op:      op,
		Verdict: v.Decide(p, op),
		Names:   v.explainNames(p, op),
	}
	if said := v.decide(p, op); said.Rule == e.Verdict.Rule {
		markDeciding(e.Names, said)
	}
	return e
}

func (v *View) explainNames(p vpath.Path, op policy.Op) []Name {
	m := v.governing(p)
	if m == nil {
		return nil
	}
	names := []Name{m.explain(p, op)}
	for _, a := range v.aliases(m, p) {
		names = append(names, a.mount.explain(a.path, op))
	}
	if v.outer == nil {
		return names
	}
	for _, n := range v.outer.explainNames(p, op) {
		if !shownAs(names, n.Path) {
			n.Outside = true
			names = append(names, n)
		}
	}
	return names
}

// shownAs reports whether names has p already. The view's own word on it then
// holds all that the outer one says, and more.
func shownAs(names []Name, p vpath.Path) bool {
	for i := range names {
		if names[i].Path == p {
			return true
		}
	}
	return false
}

func (m *Mount) explain(p vpath.Path, op policy.Op) Name {
	n := Name{Path: p, Mount: m, ReadOnly: m.refused().Has(op), Verdict: m.decide(p, op)}
	for _, l := range m.Layers {
		verdict, steps := policy.Explain(l.Policy, p, op)
		n.Layers = append(n.Layers, LayerSteps{Layer: l, Steps: steps, Verdict: verdict})
	}
	return n
}

// markDeciding marks the first of names, and in it the first layer, that verdict
// comes from.
func markDeciding(names []Name, verdict policy.Verdict) {
	for i := range names {
		n := &names[i]
		if n.Verdict != verdict {
			continue
		}
		n.Decides = true
		for j := range n.Layers {
			if n.Layers[j].Verdict == verdict {
				n.Layers[j].Decides = true
				return
			}
		}
		return
	}
}
