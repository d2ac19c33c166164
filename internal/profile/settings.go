package profile

import (
	"math"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// guards returns the packs that are laid over the view: those named, or all.
func (v *validator) guards(given strictyaml.Value[[]strictyaml.String]) []strictyaml.String {
	if !given.Set() {
		var all []strictyaml.String
		for _, name := range v.packs {
			all = append(all, strictyaml.String{V: name})
		}
		return all
	}
	var guards []strictyaml.String
	for _, g := range given.V {
		if !slices.Contains(v.packs, g.V) {
			v.problems.Add(g.Pos, "guards: there is no pack %q; the packs are %s", g.V, strings.Join(v.packs, ", "))
			continue
		}
		guards = append(guards, g)
	}
	return guards
}

func (v *validator) owner(e *ownerEntry) *Owner {
	if e == nil {
		return nil
	}
	if !e.UID.Set() || !e.GID.Set() {
		v.problems.Add(e.Pos, "owner needs both uid and gid")
		return nil
	}
	// The largest number of 32 bits means "no change" to chown(2).
	for _, id := range []strictyaml.Value[int64]{e.UID, e.GID} {
		if id.V < 0 || id.V >= math.MaxUint32 {
			v.problems.Add(id.Pos, "owner: %d is not the number of a user or group", id.V)
			return nil
		}
	}
	return &Owner{UID: uint32(e.UID.V), GID: uint32(e.GID.V)}
}

// oneOf reports a word that is none of those that key knows, and whether it is one.
func (v *validator) oneOf(key string, s strictyaml.String, words ...string) bool {
	if slices.Contains(words, s.V) {
		return true
	}
	hint := ""
	if near, ok := strictyaml.Nearest(s.V, words); ok {
		hint = " (did you mean " + near + "?)"
	}
	v.problems.Add(s.Pos, "%s: %q is none of %s%s", key, s.V, strings.Join(words, ", "), hint)
	return false
}

func (v *validator) policyName(key string, s strictyaml.String) {
	switch {
	case s.Set() && s.V == "":
		v.problems.Add(s.Pos, "%s: the name is empty; leave the key out for no policy", key)
	case s.Set():
		v.named = append(v.named, s)
	}
}
