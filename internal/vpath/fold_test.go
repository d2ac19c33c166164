package vpath

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// each of these is found by some host under the first name.
func TestX12_FoldHoldsAlikeWhatAHostDoes(t *testing.T) {
	for _, alike := range [][]string{
		{".git", ".GIT", ".giT", ".g\u0130t", ".g\u0131t", // any case, the dotted and the dotless i too
			".g\u200cit", "\u200e.git", ".git\ufeff", ".gi\u00adt", ".\u034fgit", // HFS+ and ext4: ignorable
			".git ", ".git.", ".git . .", ".git:x", ".git::$INDEX_ALLOCATION", `.git\config`, "git~1", "GIT~12", "git~1 .:x", // NTFS, vfat
			"\uff0e\uff47\uff49\uff54", "\u2024git", ".\u1d33it"}, // ZFS: compatibility forms
		{".vscode", ".VSCODE", ".v\u017fcode", "vscode~1", "VSCODE~1"},
		{".bashrc", ".ba\u017fhrc", ".BaShRc", "bashrc~2"},
		{"ke", "\u212ae", "KE"},
		{"stra\u00dfe", "STRASSE", "stra\u1e9ee", "strasse"},
		{"caf\u00e9", "cafe\u0301", "CAFE\u0301", "CAF\u00c9"},
		{"\u03c3\u03b1\u03c2", "\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c3"},
		{"\ufb01le", "file", "FILE"},
		{"i\u0327\u0307", "\u0130\u0327", "I\u0327"},
		{"a\uff0fb", "a\u2215b"},
		{"...", ".", " ", ":x", "\u200b", "\u200c\u200d"},
	} {
		want := Fold(alike[0])
		for _, name := range alike {
			if got := Fold(name); got != want {
				t.Errorf("Fold(%q) = %q, want %q as for %q", name, got, want, alike[0])
			}
		}
	}
}

func TestFoldKeepsApart(t *testing.T) {
	for _, names := range [][2]string{
		{".git", "git"},
		{".git", ".gitx"},
		{".git", ". git"},
		{".git", "git~"},
		{".git", "~1"},
		{".git", ".git~1"},
		{".profile", "profil~1"}, // as far as the name alone can tell
		{"a", "b"},
		{"e", "\u00e9"},
		{"z", "\u017c"},
		{"\xff", "\xfe"},
		{"a\xff", "A\xff"},
		{"\xce\u200b\xb1", "\u03b1"}, // what is not UTF-8 is no letter in two halves
		{"a", " a"},
	} {
		if a, b := Fold(names[0]), Fold(names[1]); a == b {
			t.Errorf("Fold(%q) = Fold(%q) = %q, want two names", names[0], names[1], a)
		}
	}
}

func TestFoldOfPlainNamesIsTheNameItself(t *testing.T) {
	for _, name := range []string{"a", "main.go", ".git", "a b", "node_modules", "x.sample", "\xff", "a\xffB"} {
		if got := Fold(name); got != name {
			t.Errorf("Fold(%q) = %q, want it unchanged", name, got)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = Path("/a/main.go").Fold() }); n != 0 {
		t.Errorf("Fold of a plain path makes %v allocations, want none", n)
	}
}

func TestPathFoldFoldsEachName(t *testing.T) {
	for in, want := range map[Path]Path{
		"/":                  "/",
		"/a/b":               "/a/b",
		"/A/.GIT/Hooks./x":   "/a/.git/hooks/x",
		"/\xff/GIT~1":        "/\xff/.git",
		"/a\uff0fb/C":        "/a\u2215b/c",
		"/.../a":             "/\u200b/a",
		"/a:b/c":             "/a/c",
		"/caf\u00e9/. /x.\t": "/cafe\u0301/\u200b/x.\t",
	} {
		if got := in.Fold(); got != want {
			t.Errorf("%q.Fold() = %q, want %q", in, got, want)
		}
	}
}

// whatever table of cases a host goes by.
func TestX12_FoldTakesEveryLetterForItsOtherCases(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r == '/' || !unicode.In(r, unicode.L, unicode.M, unicode.Other_Lowercase, unicode.Other_Uppercase, unicode.Cf) || unicode.Is(unicode.Han, r) && norm.NFKD.IsNormalString(string(r)) {
			continue // neither case nor another form
		}
		s := "x" + string(r) + "x" // at the end, it could be one that Windows takes off
		want := Fold(s)
		for _, other := range []string{
			"x" + string(unicode.SimpleFold(r)) + "x", strings.ToUpper(s), strings.ToLower(s), strings.ToTitle(s),
			norm.NFC.String(s), norm.NFD.String(s), norm.NFKC.String(s), norm.NFKD.String(s),
		} {
			if strings.Contains(other, "/") {
				continue // no name of a file
			}
			if got := Fold(other); got != want {
				t.Fatalf("U+%04X: Fold(%q) = %q, and Fold(%q) = %q", r, s, want, other, got)
			}
		}
	}
}

// FuzzFold holds what callers lean on.
func FuzzFold(f *testing.F) {
	for _, s := range []string{".git", "GIT~1", "\xff", ".g\u200cit. :x", "\u0130\u0327\u0307", "\u1e9e\u0345", "a\u034f\u0307b", "\uff0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || strings.ContainsAny(name, "/\x00") {
			return
		}
		once := Fold(name)
		if once == "" || once == "." || once == ".." || strings.ContainsAny(once, "/\x00") {
			t.Errorf("Fold(%q) = %q, which is no name", name, once)
		}
		if twice := Fold(once); twice != once {
			t.Errorf("Fold(%q) = %q, and folded again %q", name, once, twice)
		}
		if !utf8.ValidString(name) {
			if once != name {
				t.Errorf("Fold(%q) = %q, want what is not UTF-8 unchanged", name, once)
			}
			return
		}
		for _, other := range []string{strings.ToUpper(name), strings.ToLower(name), norm.NFD.String(name), norm.NFC.String(name), name + ". ", name + "\u200d"} {
			if got := Fold(other); got != once {
				t.Errorf("Fold(%q) = %q, want %q as for %q", other, got, once, name)
			}
		}
	})
}
