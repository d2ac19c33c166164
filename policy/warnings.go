package policy

import (
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// Warnings returns what is legal in f and probably not meant: rules that can
// never be reached, hide rules that cannot hide, and a "**" that is none.
func (f *File) Warnings() strictyaml.Problems {
	var warnings strictyaml.Problems
	for i := range f.rules {
		f.warnReach(i, &warnings)
		warnStars(&f.rules[i], &warnings)
	}
	return warnings.Sorted()
}

// warnReach warns of the i-th rule if rules before it leave nothing to it, or
// nothing of what it is for.
func (f *File) warnReach(i int, warnings *strictyaml.Problems) {
	r := &f.rules[i]
	if by := f.decidedBefore(i, r.Ops); by != "" {
		warnings.Add(r.Pos, "rule %q can never be reached: its paths and operations are decided before, by %s", r.Name, by)
		return
	}
	if r.Decision != Hide {
		return
	}
	if !r.Ops.Has(Stat) {
		warnings.Add(r.Pos, `rule %q hides no name and counts as deny: add "read" or "stat" to its operations, or write deny`, r.Name)
	} else if by := f.decidedBefore(i, Stat.Set()); by != "" {
		warnings.Add(r.Pos, "rule %q hides no name and counts as deny: stat of its paths is decided before, by %s", r.Name, by)
	}
}

// decidedBefore returns the names of the rules before the i-th that decide ops
// on all of its paths, or "" if they do not.
func (f *File) decidedBefore(i int, ops OpSet) string {
	var by []string
	for _, g := range f.globs(i) {
		left := ops
		for j := 0; j < i && left != 0; j++ {
			if f.rules[j].Ops&left == 0 || !slices.ContainsFunc(f.globs(j), func(h glob) bool { return h.covers(&g) }) {
				continue
			}
			left &^= f.rules[j].Ops
			if name := `"` + f.rules[j].Name + `"`; !slices.Contains(by, name) {
				by = append(by, name)
			}
		}
		if left != 0 {
			return ""
		}
	}
	return strings.Join(by, ", ")
}

// globs returns those of the i-th rule, variables taken as they stand.
func (f *File) globs(i int) []glob {
	var all []glob
	for _, path := range f.rules[i].paths {
		globs, _ := compileUnset(path.V) // Parse has seen it compile
		all = append(all, globs...)
	}
	return all
}

// covers reports whether g covers every path that h covers. False means "not
// proven".
func (g *glob) covers(h *glob) bool {
	switch {
	case g.kind == subtree:
		_, ok := below(h.prefix, g.prefix)
		return ok
	case h.kind == literal:
		return g.match(h.prefix, h.names)
	}
	return g.prefix == h.prefix && slices.Equal(g.tail, h.tail)
}

func warnStars(r *fileRule, warnings *strictyaml.Problems) {
	for _, path := range r.paths {
		for name := range strings.SplitSeq(path.V, "/") {
			if strings.Contains(name, "**") && name != "**" && !strings.ContainsAny(name, `\[{}`) {
				warnings.Add(path.Pos, `glob %q: the "**" in %q means no more than "*"; only between slashes does it cover any depth`, path.V, name)
				break
			}
		}
	}
}
