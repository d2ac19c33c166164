// Package profile reads the files that say what a view shows and what may be
// done in it: profiles, and the configs of the daemon that hold several. A
// profile goes through three steps, parse, withDefaults and validate; Build
// makes a view of the result and of the policies that it names. Each step
// returns every problem it finds, with its place in the file.
package profile

import (
	"path/filepath"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// Symlinks says what a view does with symbolic links.
type Symlinks string

// The ways to treat symbolic links.
const (
	SymlinksFollow Symlinks = "follow" // shown as they are; the caller's kernel walks them
	SymlinksInside Symlinks = "inside" // refused where the target leaves the view
	SymlinksReject Symlinks = "reject" // none is read or made
)

// Reload says what happens to a view when a policy changes.
type Reload string

// The ways to reload.
const (
	ReloadLive Reload = "live" // open handles and cached names obey the new policy
	ReloadPin  Reload = "pin"  // a view keeps what it started with
)

// Owner is what the owner of a mount's source is shown as.
type Owner struct{ UID, GID uint32 }

// Profile is a profile that was read and found valid. It is not changed after
// it was loaded: the sources were resolved then, and stay what they are.
type Profile struct {
	Name         string
	File         string              // host path of the file that it stands in; "" for a built-in one
	Mounts       []Mount             // the root mount first where there is one, then mounts, then zones by name, then skills
	BasePolicy   strictyaml.String   // a policy's name; not Set for none
	PolicyDirs   []string            // host paths of the directories of policy files
	Guards       []strictyaml.String // names of packs
	SystemMounts bool
	Symlinks     Symlinks
	Reload       Reload
	Skills       bool    // the mount at SkillsTarget is the skills directory
	Owner        *Owner  // nil shows owners as they are
	Docker       *Docker // nil where the profile has no such block

	reread   func() (*Profile, strictyaml.Problems)
	system   []overlay.Mount     // the system mounts that this host has
	named    []strictyaml.String // the policies that the file names
	policyAt []strictyaml.Pos    // of PolicyDirs
}

// Mount is one mount of a profile.
type Mount struct {
	Pos      strictyaml.Pos
	Target   vpath.Path
	Source   string       // host path, symbolic links resolved
	Kind     overlay.Kind // KindDir or KindFile
	ReadOnly bool
	Policy   strictyaml.String // a policy's name; not Set for none
	Zone     *overlay.Zone     // what the zone says that it was made from, or nil

	links []string // host paths of the symbolic links that led to Source
}

// Dir returns the directory that the profile stands in, symbolic links
// resolved as in PolicyDirs; "" for a built-in one. Events name policy files
// from there.
func (p *Profile) Dir() string {
	if p.File == "" {
		return ""
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(p.File))
	if err != nil {
		return filepath.Dir(p.File)
	}
	return dir
}

// Reread reads the profile again from where it came. System mounts that have
// come to the host since, or gone, are left as they were.
func (p *Profile) Reread() (*Profile, strictyaml.Problems) {
	next, problems := p.reread()
	if next != nil && next.SystemMounts == p.SystemMounts {
		next.system = p.system
	}
	return next, problems
}

// WatchPaths are the host paths where a change can mean another policy.
func (p *Profile) WatchPaths() []string {
	if p.File == "" {
		return slices.Clone(p.PolicyDirs)
	}
	return append([]string{p.File}, p.PolicyDirs...)
}

// SameMounts reports whether a view of p can take the place of a view of q
// while that is mounted. Policies, guards and reload may differ.
func (p *Profile) SameMounts(q *Profile) bool {
	same := func(a, b Mount) bool {
		return a.Target == b.Target && a.Source == b.Source && a.Kind == b.Kind &&
			a.ReadOnly == b.ReadOnly && (a.Zone == nil) == (b.Zone == nil)
	}
	sameOwner := p.Owner == q.Owner || p.Owner != nil && q.Owner != nil && *p.Owner == *q.Owner
	return slices.EqualFunc(p.Mounts, q.Mounts, same) && p.SystemMounts == q.SystemMounts &&
		p.Symlinks == q.Symlinks && sameOwner
}
