package overlay

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// View is an immutable mount table. Any number of goroutines may ask it.
type View struct {
	mounts  []Mount // in the order given to New
	governs map[vpath.Path]*Mount
	longest int // length of the longest target, or of Root

	names    map[vpath.Path][]string // of directories that lead to a mount which is not wholly hidden
	pinned   map[vpath.Path]bool
	conceals map[vpath.Path]bool // directories above a wholly hidden mount

	own map[FileID]*policy.Rule // what the view itself is made of

	// outer is the view that this one was restricted from. It is kept where
	// names outside the restriction still speak for what lies inside, because
	// sources overlap; else nil.
	outer *View
}

// New checks and builds a View. Mounts may come in any order. Errors, all of
// them at once: no mount at all, duplicate target, a target that is no path or
// lies below a mount that is no directory, a layer without a policy.
func New(mounts []Mount) (*View, error) { return build(mounts, nil) }

func build(mounts []Mount, outer *View) (*View, error) {
	v := &View{mounts: slices.Clone(mounts), outer: outer}
	if err := v.index(); err != nil {
		return nil, err
	}
	v.findPeers()
	v.pin()
	v.synthesise()
	return v, nil
}

// Mounts returns the mount table in the order given to New. Callers must not
// change it.
func (v *View) Mounts() []Mount { return v.mounts }

// index fills what Resolve needs.
func (v *View) index() error {
	if len(v.mounts) == 0 {
		return errors.New("no mounts: a view shows nothing without a root or a mount")
	}
	var errs []error
	v.governs = make(map[vpath.Path]*Mount, len(v.mounts))
	v.longest = len(vpath.Root)
	for i := range v.mounts {
		m := &v.mounts[i]
		if err := m.prepare(); err != nil {
			errs = append(errs, err)
			continue
		}
		if first := v.governs[m.Target]; first != nil {
			errs = append(errs, fmt.Errorf("duplicate target %s: sources %s and %s", m.Target, first.Source, m.Source))
			continue
		}
		v.governs[m.Target] = m
		v.longest = max(v.longest, len(m.Target))
	}
	return errors.Join(append(errs, v.checkNesting())...)
}

// checkNesting refuses a target that nobody could walk to.
func (v *View) checkNesting() error {
	var errs []error
	for i := range v.mounts {
		m := &v.mounts[i]
		if m.Target == vpath.Root {
			if m.Kind != KindDir {
				errs = append(errs, fmt.Errorf("target /: source %s is a %s, want a directory", m.Source, m.Kind))
			}
			continue
		}
		if above := v.governing(m.Target.Dir()); above != nil && above.Kind != KindDir {
			errs = append(errs, fmt.Errorf("target %s lies below %s, which is a %s", m.Target, above.Target, above.Kind))
		}
	}
	return errors.Join(errs...)
}

// prepare checks m by itself and fills what is derived from it.
func (m *Mount) prepare() error {
	if clean, err := vpath.Parse(string(m.Target)); err != nil || clean != m.Target {
		return fmt.Errorf("target %q is not a clean absolute path", m.Target)
	}
	if m.Source != "" {
		m.Source = path.Clean(m.Source)
	}
	if m.Anchor == "" {
		m.Anchor = m.Source
	}
	m.peers = nil
	m.Layers = slices.Clone(m.Layers)
	m.policies = make([]*policy.Policy, len(m.Layers))
	for i, l := range m.Layers {
		if l.Policy == nil {
			return fmt.Errorf("target %s: %s layer without a policy", m.Target, l.Kind)
		}
		m.policies[i] = l.Policy
	}
	return nil
}
