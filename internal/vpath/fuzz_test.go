package vpath

import (
	"errors"
	"path"
	"strings"
	"testing"
)

// FuzzPaths holds the laws that everything above this package leans on, for
// any two texts that Parse takes.
func FuzzPaths(f *testing.F) {
	for _, s := range [][2]string{
		{"/", "/"},
		{"/a/b", "/a"},
		{"/cachex", "/cache"},
		{"/../etc/passwd", "/etc"},
		{"//a/./b/../c/", "/a"},
		{"/a\x00", "a"},
		{"/.../..a", "/..."},
		{"/\xff/\n", "/\xff"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, s, u string) {
		p, err := Parse(s)
		checkRefusal(t, s, err)
		if err != nil {
			return
		}
		checkClean(t, s, p)
		checkTree(t, p)
		if q, err := Parse(u); err == nil {
			checkRebase(t, p, q)
			checkRebase(t, q, p)
			checkRebase(t, p.Rebase(Root, q), q)
		}
	})
}

// checkRefusal compares Parse's error with the depth that s reaches.
func checkRefusal(t *testing.T, s string, err error) {
	lowest, depth := 0, 0
	for name := range strings.SplitSeq(s, "/") {
		switch name {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		lowest = min(lowest, depth)
	}
	wellFormed := strings.HasPrefix(s, "/") && !strings.Contains(s, "\x00")
	if want := wellFormed && lowest < 0; errors.Is(err, ErrOutside) != want {
		t.Errorf("Parse(%q) = %v; is ErrOutside = %v, want %v", s, err, !want, want)
	}
	if want := wellFormed && lowest >= 0; (err == nil) != want {
		t.Errorf("Parse(%q) = %v; accepted = %v, want %v", s, err, !want, want)
	}
}

func checkClean(t *testing.T, s string, p Path) {
	if again, err := Parse(string(p)); err != nil || again != p {
		t.Errorf("Parse(Parse(%q)) = %q, %v, want %q", s, again, err, p)
	}
	if want := path.Clean(s); string(p) != want {
		t.Errorf("Parse(%q) = %q, want %q", s, p, want)
	}
	if !p.Within(Root) {
		t.Errorf("%q.Within(Root) = false", p)
	}
	for name := range strings.SplitSeq(string(p[1:]), "/") {
		if p != Root && (name == "" || name == "." || name == "..") {
			t.Errorf("Parse(%q) = %q, which has the component %q", s, p, name)
		}
	}
}

func checkTree(t *testing.T, p Path) {
	if p == Root {
		return
	}
	if got := p.Dir().Join(p.Base()); got != p {
		t.Errorf("%q.Dir().Join(Base()) = %q", p, got)
	}
	if !p.Within(p.Dir()) || p.Dir().Within(p) {
		t.Errorf("%q and its Dir %q: the one must be within the other and not the reverse", p, p.Dir())
	}
	if sibling := p + "x"; sibling.Within(p) || p.Within(sibling) {
		t.Errorf("%q and %q must not be within one another", p, sibling)
	}
}

// checkRebase holds p against dir, whether p is within it or not.
func checkRebase(t *testing.T, p, dir Path) {
	want := p == dir || dir == Root || strings.HasPrefix(string(p), string(dir)+"/")
	if got := p.Within(dir); got != want {
		t.Errorf("%q.Within(%q) = %v, want %v", p, dir, got, want)
	}
	if !want {
		return
	}
	if got, err := Parse(string(dir) + "/" + p.Rel(dir)); err != nil || got != p {
		t.Errorf("%q + %q.Rel(%q) = %q, %v, want %q", dir, p, dir, got, err, p)
	}
	for _, to := range []Path{Root, "/to", "/to/two", dir} {
		moved := p.Rebase(dir, to)
		if !moved.Within(to) || moved.Rel(to) != p.Rel(dir) {
			t.Errorf("%q.Rebase(%q, %q) = %q, want what is the same below %q", p, dir, to, moved, to)
		}
		if back := moved.Rebase(to, dir); back != p {
			t.Errorf("%q.Rebase(%q, %q) and back = %q", p, dir, to, back)
		}
	}
}
