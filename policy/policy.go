// Package policy decides. A Policy is an immutable list of rules over virtual
// paths; Decide gives the most restrictive verdict of a list of policies. The
// package does no I/O once a policy is loaded, holds no lock, reads no clock
// and logs nothing.
//
// The way of a policy: Parse reads a File and reports every problem in it,
// Compile fills in the variables of one mount, Decide answers. The loop that
// answers stands in decide.go, and there only.
package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// Policy is a compiled list of rules. It can only come from a File or from
// Builtin, so that a nil or empty one cannot allow anything.
type Policy struct {
	Name        string
	Description string
	Rules       []*Rule // in the order in which they are tried

	entries []entry
	hides   bool // some rule hides names
	folds   bool // globs cover a path in its folded form too, as spelling says
}

// entry is one step of the loop: a rule with its globs, or the ancestors that a
// rule lets pass.
type entry struct {
	rule     *Rule // who decides: from, or Traverse
	from     *Rule // the rule of the file that this entry stems from
	ops      OpSet
	decision Decision
	globs    []glob
}

// assemble builds the policy whose i-th rule has the i-th list of globs.
func assemble(name, description string, rules []*Rule, globs [][]glob) *Policy {
	p := &Policy{Name: name, Description: description, Rules: rules}
	passable := map[string]bool{}
	for i, r := range rules {
		p.entries = append(p.entries, entry{r, r, r.Ops, r.Decision, globs[i]})
		p.hides = p.hides || r.Decision == Hide && r.Ops.Has(Stat)
		if r.Decision == Deny || r.Decision == Hide {
			continue
		}
		if way := ancestors(globs[i], passable); way != nil {
			p.entries = append(p.entries, entry{Traverse, r, Traverse.Ops, Traverse.Decision, way})
		}
	}
	return p
}

// ancestors returns globs for the proper ancestors that all matches of each of
// globs share, but for those that are in seen, to which they are added.
func ancestors(globs []glob, seen map[string]bool) []glob {
	var way []glob
	for i := range globs {
		deepest, ok := globs[i].deepestAncestor()
		if ok && !seen[deepest] {
			seen[deepest] = true
			way = append(way, glob{written: globs[i].written, kind: leading, prefix: deepest})
		}
	}
	return way
}

// bare returns p as globs see it: "" is the root.
func bare(p vpath.Path) string {
	if p == vpath.Root {
		return ""
	}
	return string(p)
}
