// Package overlay holds the mount table of a view: which mount governs a
// virtual path, which directories are synthesised, which policies speak. A
// View is immutable and pure; a reload builds a new one.
package overlay

import (
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Kind says what stands behind a mount.
type Kind uint8

// The kinds of mounts.
const (
	KindDir     Kind = iota // Source is a directory
	KindFile                // Source is a file: (parent directory, name)
	KindSymlink             // a system mount that is a symbolic link on the host, shown as that link
	KindDevice              // null, zero or urandom, served by the daemon
)

var kindNames = [...]string{"directory", "file", "symbolic link", "device"}

// String returns what a message calls the kind.
func (k Kind) String() string { return kindNames[k] }

// Mount is one row of the mount table.
type Mount struct {
	Target   vpath.Path
	Source   string // host path, absolute, symbolic links resolved; of KindSymlink the link itself, of KindDevice the device
	ReadOnly bool
	Kind     Kind
	Policy   string // name of the policy that governs it, for display
	System   bool   // one of the built-in system mounts
	Zone     bool   // made from a Zone: within it an atomic save asks for write alone

	// Anchor is Source, or in a restricted view the source that it was narrowed
	// from, an ancestor. An agent can swap the directories between the two:
	// open Anchor, and walk on from there without following a link. New fills it
	// where it is empty.
	Anchor string

	// Layers are the policies that speak for paths of this mount: its own, the
	// base policy, ceilings of ancestors, guards, and the view's own files. The
	// verdict is the most restrictive of all. No layers deny everything.
	Layers []Layer

	policies []*policy.Policy // of Layers
	peers    []*Mount         // those that show some of the same host paths
}

// Layer is one policy with its part in the verdict.
type Layer struct {
	Kind   string // "mount", "base", "ceiling", "guard", "self"
	Policy *policy.Policy
}

// Guarded reports whether the guard pack of that name is laid over m.
func (m *Mount) Guarded(pack string) bool {
	return slices.ContainsFunc(m.Layers, func(l Layer) bool { return l.Kind == "guard" && l.Policy.Name == pack })
}

// refused returns the operations that the mount itself forbids. A device takes
// writes and O_TRUNC whatever is mounted: they change nothing on the host.
func (m *Mount) refused() policy.OpSet {
	if m.ReadOnly && m.Kind != KindDevice {
		return policy.ChangeOps
	}
	return 0
}

// host returns the host path behind p, which m governs.
func (m *Mount) host(p vpath.Path) string {
	rel := p.Rel(m.Target)
	switch {
	case rel == "":
		return m.Source
	case m.Source == "/":
		return "/" + rel
	}
	return m.Source + "/" + rel
}
