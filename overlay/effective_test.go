package overlay

import (
	"encoding/json"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

func TestS0_07_CanReadCanWrite(t *testing.T) {
	v := newView(t,
		dir("/a", "/x", rules("a", "ask * /a/asked", "audit * /a/audited", "deny open /a/closed", "deny write /a/fixed", "allow * /**")),
		ro(dir("/b/c", "/y")),
	)
	for _, c := range []struct {
		p           vpath.Path
		read, write bool
	}{
		{"/a/f", true, true},
		{"/a/asked", false, false},
		{"/a/audited", true, true},
		{"/a/closed", false, false},
		{"/a/fixed", true, false},
		{"/b/c/f", true, false},
		{"/b", true, false},
		{"/", true, false},
		{"/nowhere", false, false},
	} {
		if got := v.CanRead(c.p); got != c.read {
			t.Errorf("CanRead(%s) = %v, want %v", c.p, got, c.read)
		}
		if got := v.CanWrite(c.p); got != c.write {
			t.Errorf("CanWrite(%s) = %v, want %v", c.p, got, c.write)
		}
	}
}

func TestS0_07_EffectiveConfig(t *testing.T) {
	yes := true
	child := restrict(t, newView(t, dir("/", "/p"), dir("/m", "/x")), Restriction{Restrict: "/src", ReadOnly: &yes})
	got, err := json.Marshal(child.Effective())
	want := `[{"path":"/src","source":"/p/src","target":"/src","readonly":true,"policy":"allow-all","layers":["mount allow-all"]}]`
	if err != nil || string(got) != want {
		t.Errorf("Effective() = %s, %v, want %s", got, err, want)
	}
}

func TestS0_04_Notes(t *testing.T) {
	system := func(m Mount) Mount { m.System = true; return m }
	for _, c := range []struct {
		name   string
		mounts []Mount
		want   []string
	}{
		{"nothing to say", []Mount{dir("/a", "/x"), dir("/b", "/y")}, nil},
		{"a longer target",
			[]Mount{dir("/", "/p"), dir("/cache", "/c"), dir("/cache/deep", "/d")},
			[]string{"mount /cache shadows what mount / has there", "mount /cache/deep shadows what mount /cache has there"}},
		{"sources that overlap",
			[]Mount{dir("/a", "/x"), dir("/b", "/x/y")},
			[]string{"mounts /b and /a show the same files; the stricter verdict of both holds"}},
		{"a source that shows only once",
			[]Mount{dir("/", "/p"), dir("/cache", "/p/cache")},
			[]string{"mount /cache shadows what mount / has there"}},
		{"system mounts among themselves",
			[]Mount{system(dir("/usr", "/usr")), system(dir("/usr/local/Cellar", "/cellar")), system(dir("/x", "/usr/x"))}, nil},
		{"a system mount in front of a root",
			[]Mount{dir("/", "/p"), system(dir("/lib", "/lib"))},
			[]string{"mount /lib shadows what mount / has there"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			notes := newView(t, c.mounts...).Notes()
			if len(notes) != len(c.want) {
				t.Fatalf("Notes() = %v, want %q", notes, c.want)
			}
			for i, n := range notes {
				if n.String() != c.want[i] {
					t.Errorf("Notes()[%d] = %q, want %q", i, n, c.want[i])
				}
			}
		})
	}
}
