package policy

import (
	"errors"
	"path"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/expand"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// Vars are the values of the variables in globs.
type Vars struct {
	Mount vpath.Path    // ${MOUNT}: the target of the mount that the policy governs
	Env   expand.Lookup // every other variable; nil means that none is set
}

// Compile returns the policy with the variables in its globs replaced. A value
// stands for itself: what would be a wildcard in it is none. It is a problem if
// a variable is unset and has no fallback, or if its value makes no glob.
func (f *File) Compile(v Vars) (*Policy, strictyaml.Problems) {
	var problems strictyaml.Problems
	rules := make([]*Rule, len(f.rules))
	globs := make([][]glob, len(f.rules))
	for i := range f.rules {
		r := f.rules[i].Rule
		r.Paths = make([]string, len(f.rules[i].paths))
		for j, written := range f.rules[i].paths {
			text, err := expandGlob(written.V, v.lookup)
			var alternatives []glob
			if err == nil {
				alternatives, err = compileGlob(text)
			}
			if err != nil {
				problems.Add(written.Pos, "glob %q: %v", written.V, err)
			}
			r.Paths[j] = text
			globs[i] = append(globs[i], alternatives...)
		}
		rules[i] = &r
	}
	if len(problems) > 0 {
		return nil, problems.Sorted()
	}
	p := assemble(f.Name, f.Description, rules, globs)
	p.folds = f.folds
	return p, nil
}

// lookup returns the value of a variable as a glob. A path is cleaned, and the
// root is "", so that "${MOUNT}/x" is right for every mount.
func (v Vars) lookup(name string) (string, bool) {
	var value string
	var ok bool
	switch {
	case name == "MOUNT":
		value, ok = string(v.Mount), v.Mount != ""
	case v.Env != nil:
		value, ok = v.Env(name)
	}
	if strings.HasPrefix(value, "/") {
		value = strings.TrimSuffix(path.Clean(value), "/")
	}
	return Literal(value), ok
}

// expandGlob replaces the variables of a glob.
func expandGlob(written string, lookup expand.Lookup) (string, error) {
	if strings.HasPrefix(written, "~") {
		return "", errors.New(`"~" is not expanded in a glob; write ${HOME}`)
	}
	text, err := expand.Text(written, lookup)
	if text == "" && written != "" && err == nil {
		text = "/"
	}
	return text, err
}

// compileUnset compiles a glob whose variables have no values yet: each is
// taken for a literal name that no file could hold.
func compileUnset(written string) ([]glob, error) {
	text, err := expandGlob(written, func(name string) (string, bool) {
		return Literal("${" + name + "}"), true
	})
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(written, "${") {
		text = "/" + text
	}
	return compileGlob(text)
}
