package overlay

import (
	"slices"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestS0_02_SynthesisedDirectories(t *testing.T) {
	v := newView(t,
		dir("/a/b/c", "/x"),
		dir("/a/d", "/y"),
		kind(KindFile, dir("/a/b/file", "/z/file")),
	)
	for dir, names := range map[vpath.Path][]string{
		"/":        {"a"},
		"/a":       {"b", "d"},
		"/a/b":     {"c", "file"},
		"/a/b/c":   nil,
		"/nowhere": nil,
	} {
		if got := v.Names(dir); !slices.Equal(got, names) {
			t.Errorf("Names(%s) = %q, want %q", dir, got, names)
		}
		if got := v.Leads(dir); got != (names != nil) {
			t.Errorf("Leads(%s) = %v, want %v", dir, got, names != nil)
		}
	}
	for _, p := range []vpath.Path{"/a", "/a/b"} {
		want(t, v, policy.Stat, p, "allow builtin:synthesised")
		want(t, v, policy.List, p, "allow builtin:synthesised")
		for _, op := range []policy.Op{policy.Open, policy.Read, policy.Create, policy.Mkdir, policy.Chmod, policy.Rmdir, policy.Rename, policy.Getxattr} {
			want(t, v, op, p, "deny builtin:unmounted")
		}
		if got := v.Allowed(p); got != policy.Stat.Set()|policy.List.Set() {
			t.Errorf("Allowed(%s) = %s, want stat,list", p, got)
		}
	}
	want(t, v, policy.Stat, "/a/x", "deny builtin:unmounted")
	want(t, v, policy.Stat, "/nowhere", "deny builtin:unmounted")
	if got := v.Allowed("/nowhere"); got != 0 {
		t.Errorf("Allowed(/nowhere) = %s, want none", got)
	}
}

func TestS0_02_NamesOverARoot(t *testing.T) {
	v := newView(t, dir("/", "/p"), dir("/cache", "/c"), dir("/a/b", "/x"))
	if got, want := v.Names("/"), []string{"a", "cache"}; !slices.Equal(got, want) {
		t.Errorf("Names(/) = %q, want %q", got, want)
	}
	want(t, v, policy.Create, "/a", "allow allow * /**")
}

func TestWhollyHiddenMountLeavesNoTrace(t *testing.T) {
	hidden := rules("hidden", "hide * /s/secret/**", "allow * /**")
	v := newView(t, dir("/a/open", "/x"), dir("/s/secret", "/y", hidden))
	if got, want := v.Names("/"), []string{"a"}; !slices.Equal(got, want) {
		t.Errorf("Names(/) = %q, want %q", got, want)
	}
	if v.Leads("/s") || v.Names("/s") != nil {
		t.Errorf("Leads(/s), Names(/s) = %v, %q, want nothing", v.Leads("/s"), v.Names("/s"))
	}
	want(t, v, policy.Stat, "/s", "deny builtin:unmounted")
	want(t, v, policy.Stat, "/s/secret", "hide hide * /s/secret/**")
	want(t, v, policy.Create, "/s/secret", "hide hide * /s/secret/**")
	for dir, may := range map[vpath.Path]bool{"/": true, "/s": true, "/a": false, "/a/open": false} {
		if got := v.MayHide(dir); got != may {
			t.Errorf("MayHide(%s) = %v, want %v", dir, got, may)
		}
	}
}

// A mount that is visible shows its way, whatever the mount around it hides.
func TestMountInsideAHiddenDirectory(t *testing.T) {
	v := newView(t,
		dir("/", "/p", rules("root", "hide * /home/**", "allow * /**")),
		dir("/home/user/work", "/w"),
	)
	want(t, v, policy.Stat, "/home", "hide hide * /home/**")
	if place := v.Resolve("/home"); !place.Leads {
		t.Errorf("Resolve(/home) = %+v, want it to lead to /home/user/work", place)
	}
	if got, want := v.Names("/home"), []string{"user"}; !slices.Equal(got, want) {
		t.Errorf("Names(/home) = %q, want %q", got, want)
	}
}

func TestPinned(t *testing.T) {
	v := newView(t,
		dir("/", "/p"),
		dir("/a/b", "/x"),
		dir("/alias", "/p/sub/dir"),
		kind(KindFile, dir("/conf", "/p/etc/conf")),
		dir("/s", "/y", rules("hidden", "hide * /**")),
	)
	for p, pinned := range map[vpath.Path]bool{
		"/":        true,
		"/a":       true,
		"/a/b":     true,
		"/a/b/c":   false,
		"/a/c":     false,
		"/alias":   true,
		"/alias/x": false,
		"/s":       true,

		// Sources that show through the root.
		"/sub":       true,
		"/sub/dir":   true,
		"/sub/dir/x": false,
		"/sub/other": false,
		"/etc":       true,
		"/etc/conf":  false, // editors replace it
	} {
		if got := v.Pinned(p); got != pinned {
			t.Errorf("Pinned(%s) = %v, want %v", p, got, pinned)
		}
	}
}
