package strictyaml

import (
	"fmt"
	"strings"
)

// suggest returns the part of an unknown key's message that helps: the known
// key that was probably meant, else all known keys.
func suggest(unknown string, known []string) string {
	if key, ok := Nearest(unknown, known); ok {
		return fmt.Sprintf(" (did you mean %q?)", key)
	}
	return fmt.Sprintf(" (known are %s)", strings.Join(known, ", "))
}

// Nearest returns the word among known that word is probably a misspelling of:
// the one with the fewest letters to change, add, remove or swap, at most a
// third of them. Case, "_" and "-" do not count. Of equally near ones the first is taken.
func Nearest(word string, known []string) (string, bool) {
	w := fold(word)
	best, distance := "", len(w)/3+1
	for _, k := range known {
		if d := edits(w, fold(k), distance); d < distance {
			best, distance = k, d
		}
	}
	return best, best != ""
}

func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// edits returns how many letters must be changed, added, removed or swapped
// with their neighbour to get from a to b, or limit when the lengths alone tell
// that it is no less.
func edits(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) >= limit {
		return limit
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			next[j+1] = min(row[j]+change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
