package overlay

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Restriction is what a child view asks for.
type Restriction struct {
	Restrict vpath.Path // "" means Root
	ReadOnly *bool      // nil means inherit; false below a readonly mount is an escalation
	Ceiling  []*policy.Policy
}

// Restrict returns a child view: the same paths, only those within r.Restrict,
// never more than v allows. The mount that governs r.Restrict is narrowed to
// it, with its layers and its readonly; mounts below stay; nothing else exists
// but the synthesised directories that lead there. ReadOnly true makes every
// mount readonly.
//
// Errors: *EscalationError where ReadOnly false asks to lift a readonly; no
// mount covers r.Restrict and none lies below it. A narrowed mount keeps the
// kind directory: that a file stands there is for whoever opens it to notice.
func (v *View) Restrict(r Restriction) (*View, error) {
	top := r.Restrict
	if top == "" {
		top = vpath.Root
	}
	mounts, err := v.within(top)
	if err != nil {
		return nil, fmt.Errorf("restrict %s: %w", top, err)
	}
	if r.ReadOnly != nil && !*r.ReadOnly {
		if m := v.readonlyAt(top); m != nil {
			return nil, readonlyEscalation(m)
		}
	}
	for i := range mounts {
		r.tighten(&mounts[i])
	}
	child, err := build(mounts, v.speaksOutside())
	if err != nil {
		return nil, err
	}
	return child.WithOwn(v.own), nil
}

// tighten adds to m what r asks of every mount.
func (r Restriction) tighten(m *Mount) {
	m.ReadOnly = m.ReadOnly || r.ReadOnly != nil && *r.ReadOnly
	m.Layers = slices.Clip(m.Layers) // the parent's list stays as it is
	for _, p := range r.Ceiling {
		m.Layers = append(m.Layers, Layer{Kind: "ceiling", Policy: p})
	}
}

// within returns the mounts that a view of top alone has.
func (v *View) within(top vpath.Path) ([]Mount, error) {
	governing := v.governing(top)
	if governing == nil && !v.Leads(top) {
		return nil, errors.New("no mount covers it and none lies below it")
	}
	var kept []Mount
	for i := range v.mounts {
		m := &v.mounts[i]
		switch {
		case m.Target.Within(top):
			kept = append(kept, *m)
		case m == governing && m.Kind != KindDir:
			return nil, fmt.Errorf("mount %s is a %s, nothing lies below it", m.Target, m.Kind)
		case m == governing:
			kept = append(kept, m.narrowed(top))
		}
	}
	return kept, nil
}

// narrowed returns m with only what lies within top.
func (m *Mount) narrowed(top vpath.Path) Mount {
	n := *m
	n.Source = m.host(top)
	n.Target = top
	return n
}

// speaksOutside returns v if names that a child does not see can restrict what
// it sees: an alias keeps its say when it is out of sight. Else nil.
func (v *View) speaksOutside() *View {
	overlaps := func(m Mount) bool { return len(m.peers) > 0 }
	if v.outer != nil || slices.ContainsFunc(v.mounts, overlaps) {
		return v
	}
	return nil
}

// readonlyAt returns the readonly mount that a child of top cannot have
// writable: the one that governs top, or where none does, any below it. System
// mounts are readonly for everybody and stand in nobody's way.
func (v *View) readonlyAt(top vpath.Path) *Mount {
	if m := v.governing(top); m != nil {
		if m.ReadOnly {
			return m
		}
		return nil
	}
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.ReadOnly && !m.System && m.Target.Within(top) {
			return m
		}
	}
	return nil
}
