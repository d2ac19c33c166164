package bazil

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// The policy of the model: CONTRACT's words in their plainest form, with no
// line taken from the packages that they are checked against.

// modelRule is one rule; its operations are names.
type modelRule struct {
	Name, Decision string
	Ops            []string
	Glob           string
}

// modelPolicy is a list of layers, each of which must allow, and whether the
// mount is readonly.
type modelPolicy struct {
	Layers   [][]modelRule
	Readonly bool
}

var finer = map[string][]string{
	"read":   {"read", "open", "stat", "list", "readlink", "getxattr", "lock", "exec"},
	"write":  {"write", "truncate", "chmod", "chown", "utimes", "setxattr"},
	"create": {"create", "mkdir", "symlink", "link", "mknod"},
	"delete": {"delete", "unlink", "rmdir", "rename"},
}

var modelOps = slices.Concat(finer["read"], finer["write"], finer["create"], finer["delete"])

func (r *modelRule) speaksOf(op string) bool {
	for _, o := range r.Ops {
		if o == "*" || o == op || slices.Contains(finer[o], op) {
			return true
		}
	}
	return false
}

// covers reports whether a glob of whole names, "*" and "**" covers a path.
func covers(glob, path []string) bool {
	switch {
	case len(glob) == 0:
		return len(path) == 0
	case glob[0] == "**":
		return covers(glob[1:], path) || len(path) > 0 && covers(glob, path[1:])
	}
	return len(path) > 0 && (glob[0] == "*" || glob[0] == path[0]) && covers(glob[1:], path[1:])
}

// leadsTo reports whether path is a proper ancestor of all that glob covers.
func leadsTo(glob, path []string) bool {
	literal := slices.IndexFunc(glob, func(s string) bool { return strings.Contains(s, "*") })
	if literal < 0 {
		literal = len(glob)
	}
	prefix := glob[:literal]
	if covers(glob, prefix) {
		if len(prefix) == 0 {
			return false
		}
		prefix = prefix[:len(prefix)-1]
	}
	return len(path) <= len(prefix) && slices.Equal(path, prefix[:len(path)])
}

// parts returns the names in a path; none for the root.
func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

var strictness = []string{"allow", "audit", "ask", "deny", "hide"}

func first(rules []modelRule, path []string, op string) string {
	for i := range rules {
		r := &rules[i]
		if r.speaksOf(op) && covers(parts(r.Glob), path) {
			return r.Decision
		}
		if op == "stat" && r.Decision != "deny" && r.Decision != "hide" && leadsTo(parts(r.Glob), path) {
			return "allow"
		}
	}
	return "deny"
}

// verdict returns allow, audit, ask, deny, hide or readonly.
func (p *modelPolicy) verdict(path, op string) string {
	of := func(op string) string {
		worst := "allow"
		for _, layer := range p.Layers {
			if d := first(layer, parts(path), op); slices.Index(strictness, d) > slices.Index(strictness, worst) {
				worst = d
			}
		}
		return worst
	}
	root := len(parts(path)) == 0
	v := of(op)
	switch {
	case root && op == "stat" && !permits(v):
		return "allow"
	case of("stat") == "hide" && !root:
		return "hide"
	case p.Readonly && !slices.Contains(finer["read"], op):
		return "readonly"
	case v == "hide":
		return "deny"
	}
	return v
}

func permits(v string) bool { return v == "allow" || v == "audit" }

// gains reports whether something may be done at to and not at from, or is not
// recorded any more; loses whether something may be changed at from and not at to.
func (p *modelPolicy) gains(from, to string, but []string) bool {
	return slices.ContainsFunc(modelOps, func(op string) bool {
		was, is := p.verdict(from, op), p.verdict(to, op)
		return !slices.Contains(but, op) && (permits(is) && !permits(was) || is == "allow" && was != "allow")
	})
}

func (p *modelPolicy) loses(from, to string) bool {
	return slices.ContainsFunc(modelOps, func(op string) bool {
		return !slices.Contains(finer["read"], op) && permits(p.verdict(from, op)) && !permits(p.verdict(to, op))
	})
}

// text returns a layer as parsePolicy reads it.
func text(layer []modelRule) []string {
	var lines []string
	for _, r := range layer {
		lines = append(lines, fmt.Sprintf("%s %s %s %s", r.Name, r.Decision, strings.Join(r.Ops, ","), r.Glob))
	}
	return lines
}

// randomPolicy returns one or two layers of a few rules, most of which end with
// one that allows everything.
func randomPolicy(r *rand.Rand) modelPolicy {
	var p modelPolicy
	for range 1 + r.IntN(2) {
		var layer []modelRule
		for i := range r.IntN(4) {
			ops := []string{"*"}
			if r.IntN(3) > 0 {
				ops = []string{modelOps[r.IntN(len(modelOps))], []string{"read", "write", "create", "delete"}[r.IntN(4)]}
			}
			layer = append(layer, modelRule{fmt.Sprintf("r%d", i), pick(r, "allow", "deny", "deny", "hide", "ask", "audit"), ops, randomGlob(r)})
		}
		if r.IntN(8) > 0 {
			layer = append(layer, modelRule{"rest", "allow", []string{"*"}, "/**"})
		}
		p.Layers = append(p.Layers, layer)
	}
	if len(p.Layers[0]) == 0 {
		p.Layers[0] = []modelRule{{"none", "deny", []string{"mknod"}, "/nowhere"}}
	}
	if len(p.Layers) > 1 && len(p.Layers[1]) == 0 {
		p.Layers = p.Layers[:1]
	}
	p.Readonly = r.IntN(12) == 0
	return p
}

func randomGlob(r *rand.Rand) string {
	a, b := pick(r, modelNames...), pick(r, modelNames...)
	return pick(r, "/"+a, "/"+a+"/**", "/**/"+a, "/"+a+"/*", "/**/"+a+"/**", "/"+a+"/"+b, "/*/"+b, "/"+a+"/**/"+b, "/**")
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
