package gitguard

import "strings"

// MaxPointer bounds a pointer, in bytes: a path and a word before it.
const MaxPointer = 4096 + 16

// CheckPointer judges the text of a file of kind Gitfile, Backlink or CommonDir
// that is to take the place of present. Its target must be the same as there,
// or inside. An empty one leads nowhere and passes.
func CheckPointer(kind Name, present, candidate []byte, inside Inside) *Refusal {
	if len(candidate) == 0 {
		return nil
	}
	target, ok := Target(kind, candidate)
	if !ok {
		return refusef(1, "is not in the form that git writes")
	}
	if was, ok := Target(kind, present); ok && was == target || inside(target) {
		return nil
	}
	return refusef(1, "leads to %s, which is not in the view or is reached through a link; set it on the host", target)
}

// Target returns where a pointer leads.
func Target(kind Name, text []byte) (string, bool) {
	s := strings.TrimSuffix(string(text), "\n")
	ok := true
	if kind == Gitfile {
		s, ok = strings.CutPrefix(s, "gitdir: ")
	}
	return s, ok && s != "" && len(text) <= MaxPointer && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
