package vpath

import (
	"errors"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Path
	}{
		{"/", "/"},
		{"//", "/"},
		{"/.", "/"},
		{"/a/..", "/"},
		{"/a", "/a"},
		{"/a/", "/a"},
		{"//a///b//", "/a/b"},
		{"/a/./b/.", "/a/b"},
		{"/a/b/../c", "/a/c"},
		{"/a/b/../../c", "/c"},
		{"/a/../b/..", "/"},
		{"/...", "/..."},
		{"/..a/a..", "/..a/a.."},
		{"/ ", "/ "},
		{"/a\nb", "/a\nb"},
		{"/\xff\xfe", "/\xff\xfe"},
		{`/a\b`, `/a\b`},
	} {
		got, err := Parse(c.in)
		if err != nil || got != c.want {
			t.Errorf("Parse(%q) = %q, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{"", ".", "..", "a", "a/b", "./a", "../a", `C:\a`, "/a\x00b", "\x00"} {
		if got, err := Parse(in); err == nil || errors.Is(err, ErrOutside) {
			t.Errorf("Parse(%q) = %q, %v, want an error that is not ErrOutside", in, got, err)
		}
	}
}

func TestS0_03_ParseOutsideIsAnErrorAndNeverClamped(t *testing.T) {
	for _, in := range []string{
		"/../etc/passwd",
		"/..",
		"/../",
		"/a/../..",
		"/a/../../a",
		"/a/b/../../../c",
		"/./../etc",
		"//../etc",
	} {
		if got, err := Parse(in); !errors.Is(err, ErrOutside) || got != "" {
			t.Errorf("Parse(%q) = %q, %v, want ErrOutside", in, got, err)
		}
	}
}

func TestS0_03_WithinComparesWholeComponents(t *testing.T) {
	for _, c := range []struct {
		p, dir Path
		want   bool
	}{
		{"/", "/", true},
		{"/a", "/", true},
		{"/cache", "/cache", true},
		{"/cache/x", "/cache", true},
		{"/cachex", "/cache", false},
		{"/cache", "/cache/x", false},
		{"/cach", "/cache", false},
		{"/", "/cache", false},
		{"/b/cache", "/cache", false},
		{"/cache.d/x", "/cache", false},
	} {
		if got := c.p.Within(c.dir); got != c.want {
			t.Errorf("%q.Within(%q) = %v, want %v", c.p, c.dir, got, c.want)
		}
	}
}

func TestDirBaseJoin(t *testing.T) {
	for _, c := range []struct {
		p, dir Path
		base   string
	}{
		{"/a", "/", "a"},
		{"/a/b", "/a", "b"},
		{"/a/b/c.txt", "/a/b", "c.txt"},
	} {
		if got := c.p.Dir(); got != c.dir {
			t.Errorf("%q.Dir() = %q, want %q", c.p, got, c.dir)
		}
		if got := c.p.Base(); got != c.base {
			t.Errorf("%q.Base() = %q, want %q", c.p, got, c.base)
		}
		if got := c.dir.Join(c.base); got != c.p {
			t.Errorf("%q.Join(%q) = %q, want %q", c.dir, c.base, got, c.p)
		}
	}
	if Root.Dir() != Root || Root.Base() != "/" {
		t.Errorf("Root.Dir(), Root.Base() = %q, %q, want / and /", Root.Dir(), Root.Base())
	}
}

func TestRelRebase(t *testing.T) {
	for _, c := range []struct {
		p, from Path
		rel     string
		to      Path
		want    Path
	}{
		{"/", "/", "", "/", "/"},
		{"/", "/", "", "/x", "/x"},
		{"/a/b", "/", "a/b", "/x", "/x/a/b"},
		{"/a", "/a", "", "/x", "/x"},
		{"/a", "/a", "", "/", "/"},
		{"/a/b/c", "/a", "b/c", "/x/y", "/x/y/b/c"},
		{"/a/b", "/a", "b", "/", "/b"},
	} {
		if got := c.p.Rel(c.from); got != c.rel {
			t.Errorf("%q.Rel(%q) = %q, want %q", c.p, c.from, got, c.rel)
		}
		if got := c.p.Rebase(c.from, c.to); got != c.want {
			t.Errorf("%q.Rebase(%q, %q) = %q, want %q", c.p, c.from, c.to, got, c.want)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("/home/user/project/src/pkg/file.go"); err != nil {
			b.Fatal(err)
		}
	}
}
