package overlay

import (
	"fmt"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// NoteKind says what a Note is about.
type NoteKind string

// The kinds of notes.
const (
	NoteShadows  NoteKind = "shadows"  // Mount stands in front of a part of Other
	NoteOverlaps NoteKind = "overlaps" // the sources of Mount and Other share files
)

// Note is something legal about a mount table that its author may not have
// meant.
type Note struct {
	Kind  NoteKind
	Mount vpath.Path
	Other vpath.Path
}

// String returns the note as one sentence.
func (n Note) String() string {
	if n.Kind == NoteShadows {
		return fmt.Sprintf("mount %s shadows what mount %s has there", n.Mount, n.Other)
	}
	return fmt.Sprintf("mounts %s and %s show the same files; the stricter verdict of both holds", n.Mount, n.Other)
}

// Notes returns what is to be said about the mount table, in its order. Two
// system mounts have nothing to say to each other.
func (v *View) Notes() []Note {
	var notes []Note
	for i := range v.mounts {
		m := &v.mounts[i]
		if above := v.above(m); above != nil && !(m.System && above.System) {
			notes = append(notes, Note{NoteShadows, m.Target, above.Target})
		}
		for j := range v.mounts[:i] {
			other := &v.mounts[j]
			if slices.Contains(m.peers, other) && !(m.System && other.System) {
				notes = append(notes, Note{NoteOverlaps, m.Target, other.Target})
			}
		}
	}
	return notes
}

// above returns the mount in which the target of m lies.
func (v *View) above(m *Mount) *Mount {
	if m.Target == vpath.Root {
		return nil
	}
	return v.governing(m.Target.Dir())
}
