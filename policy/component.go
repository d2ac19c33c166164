package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// component is the part of a glob between two slashes.
type component struct {
	form   form
	text   string // of exact: the name; of wild: the pattern; of star: what stands before the star
	suffix string // what every name that it covers ends with
}

type form uint8

const (
	exact    form = iota // a name without wildcards
	star                 // a name with one "*" and no other wildcard
	wild                 // any other pattern, for doublestar
	anyDepth             // "**": any number of names, none included
)

// match reports whether c covers the one name. It is not for anyDepth.
func (c *component) match(name string) bool {
	switch c.form {
	case exact:
		return name == c.text
	case star:
		return len(name) >= len(c.text)+len(c.suffix) && strings.HasPrefix(name, c.text) && strings.HasSuffix(name, c.suffix)
	}
	return doublestar.MatchUnvalidated(c.text, name)
}

func newComponent(text string) (component, error) {
	switch {
	case text == "":
		return component{}, errors.New(`an empty component ("//", or "/" at the end) covers nothing; write /dir for a directory, /dir/** for all of it`)
	case text == "." || text == "..":
		return component{}, fmt.Errorf("the component %q covers nothing: paths are cleaned before rules are asked", text)
	case strings.Contains(text, "***"):
		return component{}, errors.New(`three stars in a row mean nothing; write "**" for any depth, "*" for any name`)
	case text == "**":
		return component{form: anyDepth}, nil
	}
	if strings.ContainsAny(text, `?[\`) {
		return newWild(text), nil
	}
	before, after, isStar := strings.Cut(strings.ReplaceAll(text, "**", "*"), "*")
	switch {
	case !isStar:
		return component{form: exact, text: text, suffix: text}, nil
	case strings.Contains(after, "*"):
		return newWild(text), nil
	}
	return component{form: star, text: before, suffix: after}, nil
}

// newWild is newComponent for a text with wildcards or escapes.
func newWild(text string) component {
	if name, ok := unescape(text); ok {
		return component{form: exact, text: name, suffix: name}
	}
	return component{form: wild, text: text, suffix: text[strings.LastIndexAny(text, `*?]\`)+1:]}
}

// unescape returns text without its backslashes, if it has no wildcard.
func unescape(text string) (string, bool) {
	var name strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			i++
		}
		name.WriteByte(text[i])
	}
	return name.String(), true
}

// Literal returns the glob that covers path and nothing else: with a backslash
// before each character that means something in a glob.
func Literal(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if strings.IndexByte(`*?[]{}\`, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
