// Package gitguard judges what git reads as instructions: configuration,
// pointers from one directory of git to another, and the names under which it
// looks for them. It is pure: it gets texts and names and does no I/O.
//
// A text is judged in the strict form that git itself writes, so that it means
// to every version of git what it means here; all else is refused. What is new
// in it has to be on a list of what may be set from inside a view (allow.go).
package gitguard

import (
	"fmt"
	"regexp"
)

// Pack is the name of the guard pack that this package belongs to.
const Pack = "git"

// MaxSize bounds a configuration that is judged, in bytes.
const MaxSize = 1 << 20

// Refusal says which line of a text is refused and why.
type Refusal struct {
	Line   int // counting from 1; 0 where it is about the whole
	Reason string
}

// Error returns "line: reason", to follow the name of a file and a colon.
func (r *Refusal) Error() string {
	if r.Line == 0 {
		return " " + r.Reason
	}
	return fmt.Sprintf("%d: %s", r.Line, r.Reason)
}

func refusef(line int, format string, args ...any) *Refusal {
	return &Refusal{line, fmt.Sprintf(format, args...)}
}

// Inside reports whether a path that stands in a text, relative to the directory
// of git that holds it, leads to what a view shows and is no directory of git.
type Inside func(path string) bool

// Check judges a configuration that is to take the place of present, which is
// empty where there is none. Entries that are not on the list pass where, for
// their key, present holds the very same ones in the same order; they may also
// all be gone. It returns the first refused line.
func Check(present, candidate []byte, inside Inside) *Refusal {
	entries, refusal := parse(candidate)
	if refusal != nil {
		return refusal
	}
	was := map[string][]entry{}
	if old, refusal := parse(present); refusal == nil {
		was = foreign(old, inside)
	}
	var first *Refusal
	for name, is := range foreign(entries, inside) {
		if r := unchanged(name, was[name], is); r != nil && (first == nil || r.Line < first.Line) {
			first = r
		}
	}
	return first
}

// foreign returns the entries that may not be made from inside a view, by name.
func foreign(entries []entry, inside Inside) map[string][]entry {
	out := map[string][]entry{}
	for _, e := range entries {
		if e.objection = e.judge(inside); e.objection != "" {
			out[e.name()] = append(out[e.name()], e)
		}
	}
	return out
}

// unchanged refuses the first entry of is that differs from was.
func unchanged(name string, was, is []entry) *Refusal {
	for i, e := range is {
		if i >= len(was) || was[i].value != e.value || was[i].isSet != e.isSet {
			return refusef(e.line, "%s %s; run it on the host: git config %s ...", name, e.objection, name)
		}
	}
	if len(is) < len(was) {
		return refusef(is[len(is)-1].line, "of %s some values are gone and some are not; run it on the host: git config %s ...", name, name)
	}
	return nil
}

// Worktrees returns the values of core.worktree in a configuration, and false
// where it is not in the form that git writes and could have one.
func Worktrees(text []byte) ([]string, bool) {
	entries, refusal := parse(text)
	if refusal != nil {
		return nil, !worktreeKey.Match(text)
	}
	var paths []string
	for _, e := range entries {
		if e.rule() == "core.worktree" {
			paths = append(paths, e.value)
		}
	}
	return paths, true
}

// worktreeKey matches the key wherever a version of git could find one.
var worktreeKey = regexp.MustCompile(`(?i)(^|[\n\]])[ \t\r\v\f\x00]*worktree[ \t\r\v\f]*(=|\n|$)`)
