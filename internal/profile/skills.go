package profile

import (
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// SkillsTarget is where the skills directory is shown, in the view and in every
// sandbox.
const SkillsTarget vpath.Path = "/shared/skills"

// skillsPolicy governs the skills besides the base policy: they are read and
// executed.
const skillsPolicy = "config-readonly"

// skills returns the readonly mount of the directory s, or nothing.
func (v *validator) skills(s strictyaml.String) []Mount {
	if !s.Set() {
		return nil
	}
	found, ok := v.source("skills", s)
	if ok && found.kind != overlay.KindDir {
		v.problems.Add(s.Pos, "skills %s is a file; name the directory that holds the skills", found.path)
		ok = false
	}
	if !v.take(SkillsTarget, s.Pos) || !ok {
		return nil
	}
	return []Mount{{
		Pos: s.Pos, Target: SkillsTarget, Source: found.path, Kind: found.kind, ReadOnly: true,
		Policy: strictyaml.String{V: skillsPolicy, Pos: s.Pos}, links: found.links,
	}}
}
