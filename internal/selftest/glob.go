package selftest

import (
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// The words that stand for a wildcard.
const (
	presentWord = "something"
	absentWord  = "nothing"
)

// sample returns a path that glob matches, with word for every wildcard, or
// false for a glob whose classes no simple character satisfies.
func sample(glob, word string) (vpath.Path, bool) {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			for i+1 < len(glob) && glob[i+1] == '*' {
				i++
			}
			b.WriteString(word)
		case '?':
			b.WriteByte(word[0])
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end <= 0 || strings.ContainsAny(glob[i+1:i+2], `!^\`) {
				return "", false
			}
			b.WriteByte(glob[i+1])
			i += end + 1
		case '{':
			first, rest, ok := alternatives(glob[i:])
			if !ok {
				return "", false
			}
			glob, i = glob[:i]+first+rest, i-1
		case '\\':
			if i++; i == len(glob) {
				return "", false
			}
			b.WriteByte(glob[i])
		default:
			b.WriteByte(c)
		}
	}
	p, err := vpath.Parse(b.String())
	return p, err == nil
}

// alternatives splits "{a,b}rest" into the first alternative that is not empty,
// and the rest.
func alternatives(s string) (first, rest string, ok bool) {
	depth, from := 0, 1
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 || depth == 1 && s[i] == ',' {
			if first == "" {
				first = s[from:i]
			}
			from = i + 1
		}
		if depth == 0 {
			return first, s[i+1:], true
		}
	}
	return "", "", false
}
