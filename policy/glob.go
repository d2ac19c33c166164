package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxComponents bounds what may follow the literal beginning of a glob, so that
// a set of positions in it fits a word.
const maxComponents = 60

// glob is one compiled pattern without alternatives: a literal directory, then
// components of which the first is not literal. Paths are matched component by
// component, so no wildcard and no class ever covers a slash.
type glob struct {
	written string // as in the policy, variables replaced
	kind    globKind
	prefix  string      // the literal directory; "" is the root
	tail    []component // what follows it
	deep    states      // the positions of "**" in tail
	names   names       // in every path that it covers
}

type globKind uint8

const (
	general globKind = iota
	literal          // no tail
	subtree          // the tail is "**"
	named            // the tail is "**" and one literal name
	leading          // covers prefix and its ancestors; of Traverse
)

// match reports whether g covers path, where "" is the root; in is namesIn(path).
func (g *glob) match(path string, in names) bool {
	if g.names&^in != 0 {
		return false
	}
	if g.kind == leading {
		_, ok := below(g.prefix, path)
		return ok
	}
	rest, ok := below(path, g.prefix)
	if !ok {
		return false
	}
	switch g.kind {
	case literal:
		return rest == ""
	case subtree:
		return true
	case named:
		return endsWithName(rest, g.tail[1].text)
	}
	return strings.HasSuffix(rest, g.tail[len(g.tail)-1].suffix) && g.run(rest)&g.accept() != 0
}

// below returns what follows dir in path, "" or "/…", if path is dir or below.
func below(path, dir string) (rest string, ok bool) {
	if len(path) < len(dir) || path[:len(dir)] != dir {
		return "", false
	}
	rest = path[len(dir):]
	return rest, rest == "" || rest[0] == '/'
}

func endsWithName(path, name string) bool {
	i := len(path) - len(name)
	return i > 0 && path[i-1] == '/' && path[i:] == name
}

// deepestAncestor returns the deepest proper ancestor that all matches of g
// share, and false when there is none because g covers the root.
func (g *glob) deepestAncestor() (string, bool) {
	if g.start()&g.accept() == 0 {
		return g.prefix, true
	}
	slash := strings.LastIndexByte(g.prefix, '/')
	if slash < 0 {
		return "", false
	}
	return g.prefix[:slash], true
}

// compileGlob returns one glob for each alternative of the text of a pattern.
func compileGlob(text string) ([]glob, error) {
	if err := checkSyntax(text); err != nil {
		return nil, err
	}
	alternatives, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	globs := make([]glob, len(alternatives))
	for i, a := range alternatives {
		if globs[i], err = compileAlternative(a); err != nil && a != text {
			return nil, fmt.Errorf("its alternative %q: %w", a, err)
		} else if err != nil {
			return nil, err
		}
		globs[i].written = text
	}
	return globs, nil
}

func checkSyntax(text string) error {
	switch {
	case !strings.HasPrefix(text, "/"):
		return errors.New(`a glob begins with "/": it covers virtual paths, all of them absolute`)
	case strings.IndexByte(text, 0) >= 0:
		return errors.New("no path holds a NUL byte")
	case !doublestar.ValidatePattern(text):
		return errors.New(`a bracket or brace is not closed, a class is empty, or a backslash stands at the end; write \ before a character that is meant as it is`)
	}
	return nil
}

func compileAlternative(text string) (glob, error) {
	names, err := splitComponents(text)
	if err != nil {
		return glob{}, err
	}
	g := glob{kind: general}
	for _, name := range names {
		c, err := newComponent(name)
		if err != nil {
			return glob{}, err
		}
		if c.form == exact {
			g.names |= nameBit(c.text)
		}
		switch {
		case c.form == exact && len(g.tail) == 0:
			g.prefix += "/" + c.text
			continue
		case c.form == anyDepth && len(g.tail) > 0 && g.tail[len(g.tail)-1].form == anyDepth:
			continue // "**/**" is "**"
		case c.form == anyDepth:
			g.deep |= 1 << len(g.tail)
		}
		g.tail = append(g.tail, c)
	}
	if len(g.tail) > maxComponents {
		return glob{}, fmt.Errorf("more than %d components follow the first wildcard", maxComponents)
	}
	g.kind = kindOf(g.tail)
	return g, nil
}

func kindOf(tail []component) globKind {
	switch {
	case len(tail) == 0:
		return literal
	case len(tail) == 1 && tail[0].form == anyDepth:
		return subtree
	case len(tail) == 2 && tail[0].form == anyDepth && tail[1].form == exact:
		return named
	}
	return general
}
