// Package strictyaml decodes a YAML file into a struct and reports every
// problem of it at its line and column: an unknown key, a key given twice, a
// value of the wrong kind. Nothing is guessed and nothing is ignored.
package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Line and Col count from 1; 0 means unknown.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns "file:line:col", without the parts that are unknown.
func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// Short returns "file:line", the form of audit events and explain: the file by
// its name below dir, or as it is where it lies elsewhere.
func (p Pos) Short(dir string) string {
	file := p.File
	if below, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/"); ok && dir != "" {
		file = below
	}
	return Pos{File: file, Line: p.Line}.String()
}

func (p Pos) compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
}

// Problem is one thing that is wrong with a file, and what to do about it.
type Problem struct {
	Pos     Pos
	Message string

	unread Pos // of a value that could not be decoded: what else is said of it follows from that
}

// Error returns "file:line:col: message".
func (p Problem) Error() string { return p.Pos.String() + ": " + p.Message }

// Problems is every problem that was found, in the order of the file.
type Problems []Problem

// Error returns one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Add appends a problem at pos.
func (ps *Problems) Add(pos Pos, format string, args ...any) {
	*ps = append(*ps, Problem{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

// Sorted returns the problems by file and position, in the order they were
// found where these are equal. Of a value that could not be decoded only that
// is told, and not what later checks thought of its absence.
func (ps Problems) Sorted() Problems {
	unread := map[Pos]bool{}
	for _, p := range ps {
		if p.unread != (Pos{}) {
			unread[p.unread] = true
		}
	}
	sorted := slices.DeleteFunc(slices.Clone(ps), func(p Problem) bool { return unread[p.Pos] && p.unread == Pos{} })
	slices.SortStableFunc(sorted, func(a, b Problem) int { return a.Pos.compare(b.Pos) })
	return sorted
}

// Err returns ps as an error, or nil when it is empty.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// Value is a scalar that remembers where it stood, for checks that come after
// decoding. Pos.Line is 0 when the key was absent.
type Value[T any] struct {
	V   T
	Pos Pos
}

// Set reports whether the key was given.
func (v Value[T]) Set() bool { return v.Pos.Line != 0 }

// Common scalars.
type (
	String = Value[string]
	Bool   = Value[bool]
)
