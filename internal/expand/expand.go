// Package expand replaces variables in the paths of profiles and policies. It
// works on one value at a time, never on the text of a whole file, so that no
// variable can add a key or a rule.
package expand

import (
	"fmt"
	"strings"
)

// Lookup returns the value of a variable and whether it is set: os.LookupEnv,
// or a stand-in for it.
type Lookup func(name string) (value string, ok bool)

// Text returns s with every ${NAME} replaced by the variable's value and every
// ${NAME:-fallback} by the value or, where that is unset or empty, by the
// fallback as it stands. A variable that is unset and has no fallback is an
// error. A "$" that no "{" follows stands for itself; values are not expanded
// again.
func Text(s string, lookup Lookup) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		reference, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", fmt.Errorf("%q has no closing brace", "${"+rest)
		}
		value, err := variable(reference, lookup)
		if err != nil {
			return "", err
		}
		out.WriteString(value)
		s = after
	}
}

// Path is Text for a path of the host: a leading "~" that stands alone or
// before a slash is the home directory, taken from ${HOME}.
func Path(s string, lookup Lookup) (string, error) {
	if rest, ok := strings.CutPrefix(s, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", fmt.Errorf("the home of another user, as in %q, is not supported; write ./%s for a file of that name", s, s)
		}
		s = "${HOME}" + rest
	}
	return Text(s, lookup)
}

func variable(reference string, lookup Lookup) (string, error) {
	name, fallback, hasFallback := strings.Cut(reference, ":-")
	if !isName(name) {
		return "", fmt.Errorf("${%s} is not a variable; known are ${NAME} and ${NAME:-fallback}", reference)
	}
	value, ok := lookup(name)
	switch {
	case hasFallback && value == "":
		return fallback, nil
	case !ok:
		return "", fmt.Errorf("the variable %s is not set; set it, or give a fallback: ${%s:-…}", name, name)
	}
	return value, nil
}

// isName reports whether s is a letter or "_", then letters, digits and "_".
func isName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
