package runner

import (
	"fmt"
	"path"
	"strings"
)

// Space is a name space of paths.
type Space int

// The spaces that a file of a view has a path in.
const (
	OnHost      Space = iota // a process on the host, below the mountpoint
	InView                   // policies, events, and those who speak to the agent
	InContainer              // a process in the container
)

var spaceNames = [...]string{"host", "view", "container"}

func (s Space) String() string { return spaceNames[s] }

// Row says that the same tree has these three paths, each clean and absolute.
type Row [3]string

// Paths translates between spaces. It is a plain table; the rows with longer
// paths hide what shorter ones say of the same place.
type Paths []Row

// Translate returns the path in another space. What translates, translates
// back to the same path; false is what has no path there, or one that another
// row hides.
func (t Paths) Translate(p string, from, to Space) (string, bool) {
	if !clean(p) {
		return "", false
	}
	row, ok := t.row(p, from)
	if !ok {
		return "", false
	}
	there := path.Join(t[row][to], strings.TrimPrefix(p, t[row][from]))
	if back, ok := t.row(there, to); !ok || back != row {
		return "", false
	}
	return there, true
}

// row finds the row that speaks of p: the one with the longest path, and of two
// that are the same the first.
func (t Paths) row(p string, space Space) (int, bool) {
	found, ok := 0, false
	for i, r := range t {
		if below(p, r[space]) && (!ok || len(r[space]) > len(t[found][space])) {
			found, ok = i, true
		}
	}
	return found, ok
}

// Dir returns where a command that was called in dir of the host works in the
// container.
func (t Paths) Dir(dir string) (string, error) {
	there, ok := t.Translate(dir, OnHost, InContainer)
	if !ok {
		return "", fmt.Errorf("working directory %s is not within the view, so the container does not have it", dir)
	}
	return there, nil
}

// pathVariables hold one path each.
var pathVariables = map[string]bool{
	"HOME": true, "PWD": true, "OLDPWD": true, "TMPDIR": true,
	"XDG_CACHE_HOME": true, "XDG_CONFIG_HOME": true, "XDG_DATA_HOME": true, "XDG_STATE_HOME": true, "XDG_RUNTIME_DIR": true,
}

// Env returns env for another space. Variables such as HOME hold the path that
// their directory has there; those whose directory has none are left out,
// others stay as they are.
func (t Paths) Env(env []string, from, to Space) []string {
	var there []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if pathVariables[name] {
			p, ok := t.Translate(value, from, to)
			if !ok {
				continue
			}
			e = name + "=" + p
		}
		there = append(there, e)
	}
	return there
}
