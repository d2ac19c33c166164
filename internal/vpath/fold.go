package vpath

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the form that all names have in common which some host takes
// for one another: if a file system that folds case or Unicode finds a under
// the name b, then Fold(a) == Fold(b). It goes by all of them at once, and so
// holds more names alike than any one does. It is for refusals: that two
// names fold alike must never grant anything.
//
// Alike are letters of either case, compositions and compatibility forms (ext4,
// APFS, ZFS), names that differ by ignorable code points (HFS+, ext4), by
// trailing dots and spaces or a stream after ':' or '\' (NTFS, vfat), and a
// name that begins with a dot and its short form of up to six letters: git~1.
// Other short names are not known from the name alone.
//
// Folding twice is folding once. A name that is not UTF-8 is returned as it is.
// What comes out is never empty and holds no slash.
func Fold(name string) string {
	if folded(name) || !utf8.ValidString(name) {
		return name
	}
	for once := ""; once != name; {
		once = name
		name = asWindows(foldRunes(norm.NFKD.String(foldRunes(name))))
	}
	if name == "" {
		return "\u200b" // what all names have in common of which nothing is left
	}
	return name
}

// Fold returns p with each of its names folded.
func (p Path) Fold() Path {
	if folded(string(p)) {
		return p
	}
	if lower := strings.ToLower(string(p)); folded(lower) {
		return Path(lower)
	}
	names := strings.Split(string(p), "/")
	for i, name := range names {
		if name != "" {
			names[i] = Fold(name)
		}
	}
	return Path(strings.Join(names, "/"))
}

// folded reports that s, a name or a path, is plainly its own folded form. It
// is false of some that are, too.
func folded(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf, 'A' <= c && c <= 'Z', c == ':', c == '\\', c == '~':
			return false
		case c == '.' || c == ' ':
			if i+1 == len(s) || s[i+1] == '/' {
				return false
			}
		}
	}
	return s != ""
}

// foldRunes takes case and ignorable code points out of s. The dot of an i is
// no difference: some hosts take İ for i, and others for i with a dot.
func foldRunes(s string) string {
	var b strings.Builder
	dotless := false // the last letter is an i
	for _, r := range s {
		if ignorable(r) || r == '\u0307' && dotless {
			continue
		}
		r = unicode.ToLower(unicode.ToUpper(r))
		if !unicode.Is(unicode.M, r) {
			dotless = r == 'i'
		}
		switch r {
		case 'ß':
			b.WriteString("ss")
		case '/':
			b.WriteRune('\u2215')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ignorable reports that some file system leaves r out of its comparisons.
func ignorable(r rune) bool {
	return r >= 0xad && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// asWindows takes off name what Windows does, and gives a short name its long
// form, if that can only be one that begins with a dot.
func asWindows(name string) string {
	if i := strings.IndexAny(name, `:\`); i >= 0 {
		name = name[:i]
	}
	name = strings.TrimRight(name, ". ")
	stem, number, ok := strings.Cut(name, "~")
	if ok && stem != "" && number != "" && len(name) <= 8 &&
		!strings.ContainsAny(stem, ". ") && strings.Trim(number, "0123456789") == "" {
		return "." + stem
	}
	return name
}
