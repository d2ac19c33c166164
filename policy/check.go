package policy

import (
	"strings"
	"unicode"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// reservedPrefix begins the names of the rules that no file can hold.
const reservedPrefix = "builtin:"

// checker collects what is wrong with a policy.
type checker struct {
	problems strictyaml.Problems
	lines    map[string]int // of the rules seen so far, by name
}

// header checks all but the rules, and returns the policy's name and its place.
func (c *checker) header(doc *document, base string) (string, strictyaml.Pos) {
	switch {
	case !doc.Version.Set():
		c.problems.Add(doc.Pos, `version is missing; write "version: 1"`)
	case doc.Version.V != 1:
		c.problems.Add(doc.Version.Pos, "version %d is not known; this program reads version 1", doc.Version.V)
	}
	if !doc.Name.Set() {
		return base, doc.Pos
	}
	if doc.Name.V != base {
		c.problems.Add(doc.Name.Pos, "the name %q differs from the file's name; policies are found by it, so write %q or rename the file", doc.Name.V, base)
	}
	return doc.Name.V, doc.Name.Pos
}

func (c *checker) rule(doc *documentRule, policy string) fileRule {
	r := fileRule{
		Rule:  Rule{Name: doc.Name.V, Policy: policy, Pos: doc.Pos, Message: doc.Message, Timeout: doc.Timeout.V},
		paths: doc.Paths.V,
	}
	c.ruleName(doc)
	r.Paths = c.paths(doc)
	r.Ops = c.operations(doc)
	r.Decision = c.decision(doc)
	if doc.Timeout.Set() {
		switch {
		case r.Decision != Ask:
			c.problems.Add(doc.Timeout.Pos, "a timeout belongs to the decision ask alone")
		case doc.Timeout.V <= 0:
			c.problems.Add(doc.Timeout.Pos, "a timeout is longer than nothing, such as 30s or 5m")
		}
	}
	return r
}

func (c *checker) ruleName(doc *documentRule) {
	name := doc.Name.V
	if c.lines == nil {
		c.lines = map[string]int{}
	}
	line, again := c.lines[name]
	switch {
	case !doc.Name.Set():
		c.problems.Add(doc.Pos, "the rule has no name; refusals, events and metrics tell it by its name")
		return
	case strings.TrimSpace(name) == "":
		c.problems.Add(doc.Name.Pos, "the rule's name is empty")
	case strings.HasPrefix(name, reservedPrefix):
		c.problems.Add(doc.Name.Pos, "names that begin with %q are those of built-in rules", reservedPrefix)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		c.problems.Add(doc.Name.Pos, "the rule's name %q holds a character that cannot be printed", name)
	case again:
		c.problems.Add(doc.Name.Pos, "there is a rule %q already, in line %d", name, line)
	}
	c.lines[name] = doc.Name.Pos.Line
}

func (c *checker) paths(doc *documentRule) []string {
	if !doc.Paths.Set() {
		c.problems.Add(doc.Pos, `the rule has no paths; for all of them write paths: ["/**"]`)
	} else if len(doc.Paths.V) == 0 {
		c.problems.Add(doc.Paths.Pos, `a rule without a path covers nothing; for all of them write paths: ["/**"]`)
	}
	written := make([]string, len(doc.Paths.V))
	for i, path := range doc.Paths.V {
		written[i] = path.V
		if _, err := compileUnset(path.V); err != nil {
			c.problems.Add(path.Pos, "glob %q: %v", path.V, err)
		}
	}
	return written
}

func (c *checker) operations(doc *documentRule) OpSet {
	if !doc.Operations.Set() {
		c.problems.Add(doc.Pos, `the rule has no operations; for all of them write operations: ["*"]`)
	} else if len(doc.Operations.V) == 0 {
		c.problems.Add(doc.Operations.Pos, `a rule without an operation covers nothing; for all of them write operations: ["*"]`)
	}
	var ops OpSet
	for _, name := range doc.Operations.V {
		op, ok := ParseOp(name.V)
		switch {
		case name.V == "*":
			ops |= AllOps
		case ok:
			ops |= op.Covers()
		default:
			c.unknown(name, "operation", append([]string{"*"}, opNames[:]...))
		}
	}
	return ops
}

func (c *checker) decision(doc *documentRule) Decision {
	if !doc.Decision.Set() {
		c.problems.Add(doc.Pos, "the rule has no decision; it is one of %s", strings.Join(decisionNames[:], ", "))
		return Deny
	}
	d, ok := ParseDecision(doc.Decision.V)
	if !ok {
		c.unknown(doc.Decision, "decision", append(decisionNames[:], "approve"))
	}
	return d
}

func (c *checker) unknown(word strictyaml.String, what string, known []string) {
	if near, ok := strictyaml.Nearest(word.V, known); ok {
		c.problems.Add(word.Pos, "unknown %s %q (did you mean %q?)", what, word.V, near)
		return
	}
	c.problems.Add(word.Pos, "unknown %s %q (known are %s)", what, word.V, strings.Join(known, ", "))
}
