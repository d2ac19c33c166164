package overlay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestS0_04_Aliases(t *testing.T) {
	for _, c := range []struct {
		name   string
		mounts []Mount
		want   map[vpath.Path][]vpath.Path
	}{
		{"a source inside the root",
			[]Mount{dir("/", "/p"), dir("/alias", "/p/sub")},
			map[vpath.Path][]vpath.Path{
				"/":          nil,
				"/sub":       {"/alias"},
				"/sub/x/y":   {"/alias/x/y"},
				"/alias":     {"/sub"},
				"/alias/x/y": {"/sub/x/y"},
				"/subx":      nil,
				"/other":     nil,
			}},
		{"one source at two targets",
			[]Mount{dir("/a", "/x"), dir("/b", "/x")},
			map[vpath.Path][]vpath.Path{"/a/f": {"/b/f"}, "/b/f": {"/a/f"}, "/a": {"/b"}, "/c": nil}},
		{"three names, nested sources",
			[]Mount{dir("/a", "/x"), dir("/b", "/x/y"), dir("/c", "/x/y/z")},
			map[vpath.Path][]vpath.Path{
				"/a/f":     nil,
				"/a/y/f":   {"/b/f"},
				"/a/y/z/f": {"/b/z/f", "/c/f"},
				"/b/z/f":   {"/a/y/z/f", "/c/f"},
				"/c/f":     {"/a/y/z/f", "/b/z/f"},
			}},
		{"a deeper mount stands in front",
			[]Mount{dir("/a", "/x"), dir("/b", "/x"), dir("/a/in", "/elsewhere")},
			map[vpath.Path][]vpath.Path{"/b/in/f": nil, "/a/in/f": nil, "/b/f": {"/a/f"}}},
		{"a mount at the place where its source shows",
			[]Mount{dir("/", "/p"), dir("/cache", "/p/cache")},
			map[vpath.Path][]vpath.Path{"/cache/f": nil, "/f": nil}},
		{"a file source",
			[]Mount{dir("/", "/p"), kind(KindFile, dir("/conf", "/p/etc/app.conf"))},
			map[vpath.Path][]vpath.Path{
				"/etc/app.conf":  {"/conf"},
				"/conf":          {"/etc/app.conf"},
				"/etc":           nil,
				"/etc/app.confx": nil,
			}},
		{"links and devices",
			[]Mount{dir("/", "/"), kind(KindSymlink, dir("/l", "/usr/lib")), kind(KindDevice, dir("/n", "/dev/null"))},
			map[vpath.Path][]vpath.Path{"/usr/lib": nil, "/l": nil, "/dev/null": nil, "/n": nil}},
		{"the host's root",
			[]Mount{dir("/all", "/"), dir("/home", "/home")},
			map[vpath.Path][]vpath.Path{"/all/home/f": {"/home/f"}, "/home": {"/all/home"}, "/all/etc": nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView(t, c.mounts...)
			for p, want := range c.want {
				got := v.Aliases(p)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("Aliases(%s) = %q, want %q", p, got, want)
				}
			}
		})
	}
}

func TestS0_04_StrictestVerdictOfAllNames(t *testing.T) {
	v := newView(t,
		dir("/", "/p", rules("root", "hide * /sub/hidden", "allow * /**")),
		dir("/alias", "/p/sub", rules("alias", "deny write /alias/key", "ask delete /alias/**", "allow * /**")),
		ro(dir("/locked", "/p/locked-source")),
	)
	want(t, v, policy.Write, "/sub/key", "deny deny write /alias/key")
	want(t, v, policy.Write, "/alias/key", "deny deny write /alias/key")
	want(t, v, policy.Read, "/sub/key", "allow allow * /**")
	want(t, v, policy.Unlink, "/sub/file", "ask ask delete /alias/**")
	want(t, v, policy.Read, "/alias/hidden", "hide hide * /sub/hidden")
	want(t, v, policy.Write, "/locked-source/file", "deny builtin:readonly-mount")
	want(t, v, policy.Read, "/locked-source/file", "allow allow * /**")
	want(t, v, policy.Write, "/elsewhere", "allow allow * /**")
	if got := v.Allowed("/sub/key"); got.Has(policy.Write) || got.Has(policy.Delete) || !got.Has(policy.Read) {
		t.Errorf("Allowed(/sub/key) = %s, want neither write nor delete, but read", got)
	}
}

func TestS0_04_SameSourceTwiceTakesBothPolicies(t *testing.T) {
	v := newView(t,
		dir("/a", "/x", rules("a", "deny read /a/s", "allow * /**")),
		dir("/b", "/x", rules("b", "deny write /b/s", "allow * /**")),
		dir("/c", "/x", rules("c", "hide * /c/t", "allow * /**")),
	)
	for _, p := range []vpath.Path{"/a/s", "/b/s", "/c/s"} {
		want(t, v, policy.Read, p, "deny deny read /a/s")
		want(t, v, policy.Write, p, "deny deny write /b/s")
	}
	for _, dir := range []vpath.Path{"/a", "/b", "/c"} {
		want(t, v, policy.Stat, dir.Join("t"), "hide hide * /c/t")
		if !v.MayHide(dir) {
			t.Errorf("MayHide(%s) = false, but %s/t is hidden", dir, dir)
		}
	}
}

func TestReadonlyAliasComesBeforeDeny(t *testing.T) {
	v := newView(t,
		dir("/a", "/x", rules("a", "deny write /**", "allow * /**")),
		ro(dir("/b", "/x")),
	)
	want(t, v, policy.Write, "/a/f", "deny builtin:readonly-mount")
	want(t, v, policy.Write, "/b/f", "deny builtin:readonly-mount")
}

// A mount whose other name is hidden is hidden, and not listed either.
func TestMountHiddenByItsAlias(t *testing.T) {
	v := newView(t, dir("/a", "/x"), dir("/b", "/x", rules("b", "hide * /b/**", "allow * /**")))
	want(t, v, policy.Stat, "/a", "hide hide * /b/**")
	if got := v.Names("/"); len(got) != 0 {
		t.Errorf("Names(/) = %q, want none", got)
	}
}

func TestAlike(t *testing.T) {
	root := rules("root", "deny write /x/locked/**", "allow * /**")
	v := newView(t, dir("/", "/p", root), dir("/m/deep", "/m"), dir("/alias", "/p/shared/part"))
	for _, c := range []struct {
		a, b vpath.Path
		want bool
	}{
		{"/a", "/b", true},
		{"/a/b/c", "/d", true},
		{"/a", "/x", false},        // a rule tells them apart
		{"/m/deep/a", "/a", false}, // another mount
		{"/m", "/a", false},        // a mount below
		{"/m/deep/a", "/m/deep/b", true},
		{"/shared", "/a", false}, // an alias below
		{"/a", "/shared/part/x", false},
		{"/shared/other", "/a", true},
		{"/alias/a", "/alias/b", false},
	} {
		if got := v.Alike(c.a, c.b); got != c.want {
			t.Errorf("Alike(%s, %s) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
	if nowhere := newView(t, dir("/a", "/x")); nowhere.Alike("/b", "/c") {
		t.Error("Alike(/b, /c) = true where no mount governs them")
	}
}

func TestAlikeMeansTheSameVerdicts(t *testing.T) {
	proven := 0
	eachRandomView(t, func(r *rand.Rand, v *View) {
		a, b, rel := randomPath(r, 3), randomPath(r, 3), randomPath(r, 2)
		if a == b || rel == vpath.Root || !v.Alike(a, b) {
			return
		}
		proven++
		p, q := rel.Rebase(vpath.Root, a), rel.Rebase(vpath.Root, b)
		for op := range policy.Op(policy.NumOps) {
			if got, want := v.Decide(p, op), v.Decide(q, op); got != want {
				t.Errorf("Alike(%s, %s), but Decide of %s and %s differ for %s: %v, %v in%s", a, b, p, q, op, got, want, describe(v))
			}
		}
	})
	if proven == 0 {
		t.Error("Alike was true for no random pair")
	}
}

func TestMayHideMissesNoHiddenName(t *testing.T) {
	eachRandomView(t, func(r *rand.Rand, v *View) {
		for range 10 {
			p := randomPath(r, 4)
			if p != vpath.Root && v.Decide(p, policy.Stat).Decision == policy.Hide && !v.MayHide(p.Dir()) {
				t.Errorf("MayHide(%s) = false, but %s is hidden in%s", p.Dir(), p, describe(v))
			}
		}
	})
}
