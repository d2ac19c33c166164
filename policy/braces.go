package policy

import (
	"errors"
	"fmt"
	"strings"
)

// maxAlternatives bounds the patterns that the braces of one glob expand to.
const maxAlternatives = 256

// expandBraces returns the patterns without braces that text stands for. The
// braces must be balanced.
func expandBraces(text string) ([]string, error) {
	pending, done := []string{text}, []string(nil)
	for len(pending) > 0 {
		if len(pending)+len(done) > maxAlternatives {
			return nil, fmt.Errorf("its braces expand to more than %d alternatives", maxAlternatives)
		}
		next := pending[0]
		pending = pending[1:]
		open, commas, end, ok := firstBraces(next)
		if !ok {
			done = append(done, next)
			continue
		}
		var expanded []string
		from := open + 1
		for _, to := range append(commas, end) {
			expanded = append(expanded, next[:open]+next[from:to]+next[end+1:])
			from = to + 1
		}
		pending = append(expanded, pending...)
	}
	return done, nil
}

// firstBraces finds the first "{" of text, the "}" that closes it and the
// commas between that belong to it.
func firstBraces(text string) (open int, commas []int, end int, ok bool) {
	depth := 0
	for i := 0; i < len(text); i = after(text, i) {
		switch {
		case text[i] == '{':
			if depth == 0 {
				open = i
			}
			depth++
		case text[i] == ',' && depth == 1:
			commas = append(commas, i)
		case text[i] == '}':
			if depth--; depth == 0 {
				return open, commas, i, true
			}
		}
	}
	return 0, nil, 0, false
}

// after returns the index behind the term of text that begins at i: an escaped
// character, a class in brackets, else one byte.
func after(text string, i int) int {
	switch text[i] {
	case '\\':
		return i + 2
	case '[':
		for i++; i < len(text) && text[i] != ']'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
	}
	return i + 1
}

// splitComponents splits a pattern without braces, which begins with a slash,
// at its slashes. "/" has no components.
func splitComponents(text string) ([]string, error) {
	if text == "/" {
		return nil, nil
	}
	var names []string
	from := 1
	for i := 1; i < len(text); {
		end := after(text, i)
		switch {
		case text[i] == '/':
			names = append(names, text[from:i])
			from = end
		case strings.IndexByte(text[i:min(end, len(text))], '/') >= 0:
			return nil, errors.New("a slash can be neither escaped nor part of a class in brackets")
		}
		i = end
	}
	return append(names, text[from:]), nil
}
