// Package overlay holds the mount table of a view: which mount governs a
// virtual path, which directories are synthesised, which policies speak. A
// View is immutable and pure; a reload builds a new one.
package overlay

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// SKELETON: the signatures below are fixed, their files and bodies are not.

// Kind says what stands behind a mount.
type Kind uint8

// The kinds of mounts.
const (
	KindDir     Kind = iota // Source is a directory
	KindFile                // Source is a file: (parent directory, name)
	KindSymlink             // a system mount that is a symbolic link on the host, shown as that link
	KindDevice              // null, zero or urandom, served by the daemon
)

// Mount is one row of the mount table.
type Mount struct {
	Target   vpath.Path
	Source   string // host path, absolute, symbolic links resolved; of KindSymlink the link itself, of KindDevice the device
	ReadOnly bool
	Kind     Kind
	Policy   string // name of the policy that governs it, for display
	System   bool   // one of the built-in system mounts

	// Layers are the policies that speak for paths of this mount: its own, the
	// base policy, ceilings of ancestors, guards, and the view's own files. The
	// verdict is the most restrictive of all.
	Layers []Layer
}

// Layer is one policy with its part in the verdict.
type Layer struct {
	Kind   string // "mount", "base", "ceiling", "guard", "self"
	Policy *policy.Policy
}

// View is an immutable mount table.
type View struct {
	mounts []Mount // longest targets first
}

// Place is where a virtual path leads. Mount is nil when no mount governs the
// path: then it is either a synthesised directory (Leads) or unmounted.
type Place struct {
	Path  vpath.Path
	Mount *Mount
	Rel   string // path below the mount's source; "" is the source itself

	// Leads reports that a mount's target lies below Path. Such a path is shown
	// as a synthesised directory where the backing has no directory of that
	// name, or where its stat is not allowed.
	Leads bool
}

// New checks and builds a View. Mounts may come in any order. Errors: duplicate
// target, no mount at all.
func New(mounts []Mount) (*View, error) { panic("skeleton") }

// Mounts returns the mount table in the order given to New. Callers must not change it.
func (v *View) Mounts() []Mount { panic("skeleton") }

// Resolve returns the place of p: the mount with the longest target that p is
// within, by component. It never fails.
func (v *View) Resolve(p vpath.Path) Place { panic("skeleton") }

// Decide returns the verdict for op on p, over all layers of the mount that
// governs it and of every alias that the mount table gives the path (Aliases).
// A readonly mount denies policy.ChangeOps with policy.ReadonlyMount unless the
// name is hidden. Without a mount: Synthesised for stat and list of a path that
// leads to a mount that is not wholly hidden, else Unmounted. Stat of Root is
// always allowed (RootStat).
func (v *View) Decide(p vpath.Path, op policy.Op) policy.Verdict { panic("skeleton") }

// Allowed returns the operations on p whose verdict is a plain Allow.
func (v *View) Allowed(p vpath.Path) policy.OpSet { panic("skeleton") }

// Aliases returns the other virtual paths that lead to the same host path as p
// because sources overlap; nil (and no work) where none do.
func (v *View) Aliases(p vpath.Path) []vpath.Path { panic("skeleton") }

// Names returns the names directly below dir that lead to a mount which is not
// wholly hidden, sorted: what a listing of dir shows besides the backing's own.
func (v *View) Names(dir vpath.Path) []string { panic("skeleton") }

// Pinned reports whether p is a mount's target or an ancestor of one: such a
// name is not removed, renamed or replaced (EBUSY).
func (v *View) Pinned(p vpath.Path) bool { panic("skeleton") }

// Alike reports whether everything below a has, by proof from the rules, the
// same verdicts as the same path below b: same mount, no mount below either,
// and no rule that can tell them apart.
func (v *View) Alike(a, b vpath.Path) bool { panic("skeleton") }

// MayHide reports whether a name directly in dir could be hidden.
func (v *View) MayHide(dir vpath.Path) bool { panic("skeleton") }

// Restriction is what a child view asks for.
type Restriction struct {
	Restrict vpath.Path // "" means Root
	ReadOnly *bool      // nil means inherit; false below a readonly mount is an escalation
	Ceiling  []*policy.Policy
}

// Restrict returns a child view: the same paths, only those within r.Restrict,
// never more than v allows.
func (v *View) Restrict(r Restriction) (*View, error) { panic("skeleton") }
