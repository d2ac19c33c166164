// Package vpath holds the one type for paths inside a view, and the one place
// that cleans them. A path of the host is a plain string and is never a Path.
package vpath

import (
	"errors"
	"fmt"
	"strings"
)

// Path is a virtual path: absolute, slash-separated, without empty, "." or
// ".." components and without a trailing slash (but for Root itself). The zero
// value is not a valid Path. Names may hold every byte but '/' and NUL.
type Path string

// Root is the top of every view.
const Root Path = "/"

// ErrOutside reports a path that climbs above Root. It is an error and never
// clamped to Root: whoever wrote it expected to get somewhere else.
var ErrOutside = errors.New("outside sandbox")

// Parse cleans s lexically. It refuses a relative path, a NUL byte, and a path
// of which some ".." climbs above Root (ErrOutside). It asks no file system:
// the ".." of a path through a symbolic link means what the text says.
func Parse(s string) (Path, error) {
	if !strings.HasPrefix(s, "/") {
		return "", fmt.Errorf("path %q is not absolute", s)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", fmt.Errorf("path %q holds a NUL byte", s)
	}
	var names []string
	for name := range strings.SplitSeq(s, "/") {
		switch name {
		case "", ".":
		case "..":
			if len(names) == 0 {
				return "", fmt.Errorf("path %q: %w", s, ErrOutside)
			}
			names = names[:len(names)-1]
		default:
			names = append(names, name)
		}
	}
	return Path("/" + strings.Join(names, "/")), nil
}

// Join returns the path of name in the directory p. The name is one component
// as the kernel hands it over: not empty, not "." or "..", without a slash.
func (p Path) Join(name string) Path {
	if p == Root {
		return Path("/" + name)
	}
	return p + "/" + Path(name)
}

// Dir returns the directory that holds p; the Dir of Root is Root.
func (p Path) Dir() Path {
	i := strings.LastIndexByte(string(p), '/')
	if i <= 0 {
		return Root
	}
	return p[:i]
}

// Base returns the last component of p; the Base of Root is "/".
func (p Path) Base() string {
	if p == Root {
		return "/"
	}
	return string(p[strings.LastIndexByte(string(p), '/')+1:])
}

// Within reports whether p is dir or lies below it, by whole components:
// /cachex is not within /cache.
func (p Path) Within(dir Path) bool {
	if dir == Root || p == dir {
		return true
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

// Rel returns what follows dir in p, without a leading slash ("" for dir
// itself). It must only be called when p is within dir.
func (p Path) Rel(dir Path) string {
	if dir == Root {
		return string(p[1:])
	}
	if len(p) == len(dir) {
		return ""
	}
	return string(p[len(dir)+1:])
}

// Rebase returns p with its leading directory from replaced by to. It must
// only be called when p is within from.
func (p Path) Rebase(from, to Path) Path {
	rel := p.Rel(from)
	if rel == "" {
		return to
	}
	if to == Root {
		return Path("/" + rel)
	}
	return to + "/" + Path(rel)
}
