package profile

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/sandboxfs/sandboxfs/internal/expand"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/sysmounts"
)

// surroundings are what a profile depends on besides its own text.
type surroundings struct {
	dir    string        // host directory that relative paths start from
	lookup expand.Lookup // variables of paths
	system []string      // paths of the system mounts, where they are on
	packs  []string      // names of the guard packs, which are also the default
}

// validator is the state of one validate.
type validator struct {
	surroundings

	problems strictyaml.Problems
	targets  map[vpath.Path]strictyaml.Pos // those that are taken
	named    []strictyaml.String           // policies, also of mounts that are left out
}

// validate makes a Profile of d, which has its defaults. The profile holds what
// is right of d even where there are problems, so that a further check can find
// its own.
func validate(d document, around surroundings) (*Profile, strictyaml.Problems) {
	v := validator{surroundings: around, targets: map[vpath.Path]strictyaml.Pos{}}
	p := &Profile{
		Name:       d.Name.V,
		BasePolicy: d.BasePolicy,
		Symlinks:   Symlinks(d.Symlinks.V),
		Reload:     Reload(d.Reload.V),
		Docker:     d.Docker,
	}
	if d.Version.V != defaults.version {
		v.problems.Add(d.Version.Pos, "version %d is not known; this release reads version %d", d.Version.V, defaults.version)
	}
	if d.Name.V == "" || strings.ContainsFunc(d.Name.V, func(r rune) bool { return !unicode.IsPrint(r) }) {
		v.problems.Add(d.Name.Pos, "the name %q is empty or cannot be printed", d.Name.V)
	}
	v.oneOf("system_mounts", d.SystemMounts, "auto", "on", "off")
	v.oneOf("symlinks", d.Symlinks, string(SymlinksFollow), string(SymlinksInside), string(SymlinksReject))
	v.oneOf("reload", d.Reload, string(ReloadLive), string(ReloadPin))
	v.policyName("base_policy", d.BasePolicy)
	p.SystemMounts = d.SystemMounts.V == "on" || d.SystemMounts.V == "auto" && !d.hasRoot()
	if !p.SystemMounts {
		v.system = nil
	}
	p.system = sysmounts.Existing(v.system)
	p.Mounts = v.mounts(d)
	p.Skills = d.Skills.Set()
	p.PolicyDirs, p.policyAt = v.policyDirs(d.Policies)
	p.Guards = v.guards(d.Guards)
	p.Owner = v.owner(d.Owner)
	d.Docker.validate(&v.problems)
	p.named = v.named
	return p, v.problems.Sorted()
}

// hasRoot reports whether the document puts something at "/".
func (d *document) hasRoot() bool {
	return d.Root.Set() || slices.ContainsFunc(d.Mounts, func(m mountEntry) bool {
		target, err := vpath.Parse(m.Target.V)
		return err == nil && target == vpath.Root
	})
}

func (v *validator) mounts(d document) []Mount {
	if !d.Root.Set() && len(d.Mounts) == 0 && len(d.Zones) == 0 {
		v.problems.Add(d.Pos, "the profile shows nothing; give it a root, mounts or zones")
	}
	mounts := v.root(d)
	for _, e := range d.Mounts {
		mounts = append(mounts, v.mount(e)...)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Zones)) {
		mounts = append(mounts, v.zone(name, d.Zones[name])...)
	}
	mounts = append(mounts, v.skills(d.Skills)...)
	v.nesting(mounts)
	return mounts
}

// nesting reports targets that nobody could walk to.
func (v *validator) nesting(mounts []Mount) {
	for _, m := range mounts {
		if m.Target == vpath.Root && m.Kind != overlay.KindDir {
			v.problems.Add(m.Pos, "source %s is a file; what is mounted at / must be a directory", m.Source)
		}
		for _, above := range mounts {
			if above.Kind == overlay.KindFile && m.Target != above.Target && m.Target.Within(above.Target) {
				v.problems.Add(m.Pos, "target %s lies below %s, where a file is mounted", m.Target, above.Target)
			}
		}
	}
}

// root returns the root mount, or nothing. Without a root the keys that speak
// of it would be without effect, so they are problems.
func (v *validator) root(d document) []Mount {
	v.policyName("policy", d.Policy)
	if !d.Root.Set() {
		if d.Policy.Set() {
			v.problems.Add(d.Policy.Pos, "policy is that of the root, and there is no root; name it in the mounts, or as base_policy")
		}
		if d.ReadOnly.V {
			v.problems.Add(d.ReadOnly.Pos, "readonly speaks of the root, and there is no root; say it in the mounts")
		}
		return nil
	}
	v.targets[vpath.Root] = d.Root.Pos
	s, ok := v.source("root", d.Root)
	if ok && s.kind != overlay.KindDir {
		v.problems.Add(d.Root.Pos, "root %s is a file; the root must be a directory", s.path)
		ok = false
	}
	if !ok {
		return nil
	}
	return []Mount{{
		Pos: d.Root.Pos, Target: vpath.Root, Source: s.path, links: s.links,
		ReadOnly: d.ReadOnly.V, Policy: d.Policy,
	}}
}

func (v *validator) mount(e mountEntry) []Mount {
	v.policyName("policy", e.Policy)
	from, to := e.Source, e.Target
	switch {
	case e.Path.Set() && (e.Source.Set() || e.Target.Set()):
		v.problems.Add(e.Path.Pos, "path stands for source and target alike; give either path, or source and target")
		return nil
	case e.Path.Set():
		from, to = e.Path, e.Path
	case !e.Source.Set() || !e.Target.Set():
		v.problems.Add(e.Pos, "a mount needs source and target, or path for both")
		return nil
	}
	target, ok := v.target(to)
	if e.Path.Set() && !ok {
		return nil // a relative path says nothing about the source either
	}
	s, found := v.source("source", from)
	if !ok || !found {
		return nil
	}
	return []Mount{{
		Pos: e.Pos, Target: target, Source: s.path, links: s.links, Kind: s.kind,
		ReadOnly: e.ReadOnly.V, Policy: e.Policy,
	}}
}

func (v *validator) zone(name string, e zoneEntry) []Mount {
	known := v.oneOf("mode", e.Mode, string(overlay.ModeRO), string(overlay.ModeRW))
	approvals := []string{string(overlay.ApprovalPre), string(overlay.ApprovalAsk), string(overlay.ApprovalBlocked)}
	known = v.oneOf("write", e.Approval.Write, approvals...) && known
	known = v.oneOf("delete", e.Approval.Delete, approvals...) && known
	if !e.Path.Set() {
		v.problems.Add(e.Pos, "zone %s needs a path", name)
		return nil
	}
	s, found := v.source("path", e.Path)
	if found && s.kind != overlay.KindDir {
		v.problems.Add(e.Path.Pos, "path %s is a file; a zone is a directory", s.path)
		found = false
	}
	target, err := vpath.Parse("/" + name)
	if err != nil || string(target) != "/"+name || target.Dir() != vpath.Root || target == vpath.Root {
		v.problems.Add(e.Pos, "zone %q: the name is shown below / and must be one plain name", name)
		return nil
	}
	if !v.take(target, e.Pos) || !found || !known {
		return nil
	}
	return []Mount{{
		Pos: e.Pos, Target: target, Source: s.path, links: s.links, Kind: s.kind,
		ReadOnly: e.Mode.V == string(overlay.ModeRO),
		Zone: &overlay.Zone{
			Name: name, Path: s.path, Mode: overlay.Mode(e.Mode.V),
			Write: overlay.Approval(e.Approval.Write.V), Delete: overlay.Approval(e.Approval.Delete.V),
		},
	}}
}

// target reads s as a virtual path and takes it.
func (v *validator) target(s strictyaml.String) (vpath.Path, bool) {
	text, err := expand.Path(s.V, v.lookup)
	if err != nil {
		v.problems.Add(s.Pos, "target: %v", err)
		return "", false
	}
	target, err := vpath.Parse(text)
	if err != nil {
		v.problems.Add(s.Pos, "target %v", err)
		return "", false
	}
	return target, v.take(target, s.Pos)
}

// take records target, unless it is taken or belongs to the system.
func (v *validator) take(target vpath.Path, pos strictyaml.Pos) bool {
	if first, taken := v.targets[target]; taken {
		v.problems.Add(pos, "duplicate target %s, first in line %d", target, first.Line)
		return false
	}
	v.targets[target] = pos
	if system, ok := sysmounts.Conflict(v.system, target); ok {
		v.problems.Add(pos, "target %s is at, above or inside the system mount %s; choose another one, or system_mounts: off", target, system)
		return false
	}
	return true
}
