package policy

import (
	"fmt"
	"strings"
)

// BuiltinRule is a rule that a program writes. Its globs hold no variables; a
// path that is meant as it is goes through Literal. A glob may begin with two
// slashes, as Literal of the root with "/**" behind it does.
type BuiltinRule struct {
	Name     string // "builtin:…"
	Paths    []string
	Ops      OpSet
	Decision Decision
	Message  string
}

// Builtin returns the policy of that name with the given rules. It panics at a
// glob that is not valid, which no result of Literal is.
func Builtin(name string, rules ...BuiltinRule) *Policy {
	compiled := make([]*Rule, len(rules))
	globs := make([][]glob, len(rules))
	for i, r := range rules {
		for _, text := range r.Paths {
			if strings.HasPrefix(text, "//") {
				text = text[1:]
			}
			alternatives, err := compileGlob(text)
			if err != nil {
				panic(fmt.Sprintf("policy: built-in rule %s: glob %q: %v", r.Name, text, err))
			}
			globs[i] = append(globs[i], alternatives...)
		}
		compiled[i] = &Rule{Name: r.Name, Ops: r.Ops, Decision: r.Decision, Message: r.Message, Paths: r.Paths}
	}
	return assemble(name, "", compiled, globs)
}
