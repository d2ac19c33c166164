package overlay

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

func restrict(t *testing.T, v *View, r Restriction) *View {
	t.Helper()
	child, err := v.Restrict(r)
	if err != nil {
		t.Fatalf("Restrict(%+v) = %v", r, err)
	}
	return child
}

func TestS0_05_Inheritance(t *testing.T) {
	yes, no := true, false
	project := []Mount{dir("/", "/p"), ro(dir("/cache", "/c")), dir("/out", "/o")}
	roProject := []Mount{ro(dir("/", "/p")), ro(dir("/cache", "/c")), dir("/out", "/o")}
	rootless := []Mount{dir("/a", "/x"), dir("/b", "/y")}
	roRootless := []Mount{dir("/a", "/x"), ro(dir("/b/c", "/y"))}
	system := ro(dir("/usr", "/usr"))
	system.System = true

	for _, c := range []struct {
		name     string
		mounts   []Mount
		restrict vpath.Path
		readonly *bool
		writable map[vpath.Path]bool
		refused  vpath.Path // mount that stands in the way; "" for none
	}{
		{"rw, default", project, "", nil, map[vpath.Path]bool{"/f": true, "/cache/f": false, "/out/f": true}, ""},
		{"rw, readonly", project, "", &yes, map[vpath.Path]bool{"/f": false, "/cache/f": false, "/out/f": false}, ""},
		{"rw, writable", project, "", &no, map[vpath.Path]bool{"/f": true, "/cache/f": false, "/out/f": true}, ""},
		{"ro root, default", roProject, "", nil, map[vpath.Path]bool{"/f": false, "/cache/f": false, "/out/f": true}, ""},
		{"ro root, readonly", roProject, "", &yes, map[vpath.Path]bool{"/f": false, "/cache/f": false, "/out/f": false}, ""},
		{"ro root, writable", roProject, "", &no, nil, "/"},
		{"below the ro root, writable", roProject, "/src", &no, nil, "/"},
		{"a rw mount of an ro root, writable", roProject, "/out/sub", &no, map[vpath.Path]bool{"/out/sub/f": true}, ""},
		{"an ro mount of a rw root, default", project, "/cache", nil, map[vpath.Path]bool{"/cache/f": false}, ""},
		{"an ro mount of a rw root, writable", project, "/cache", &no, nil, "/cache"},
		{"below an ro mount of a rw root, writable", project, "/cache/npm", &no, nil, "/cache"},
		{"no root, writable", rootless, "", &no, map[vpath.Path]bool{"/a/f": true, "/b/f": true}, ""},
		{"no root, an ro mount, writable", roRootless, "", &no, nil, "/b/c"},
		{"no root, writable beside the ro mount", roRootless, "/a", &no, map[vpath.Path]bool{"/a/f": true}, ""},
		{"no root, synthesised above the ro mount", roRootless, "/b", &no, nil, "/b/c"},
		{"no root, system mounts stand in nobody's way", append(rootless, system), "", &no, map[vpath.Path]bool{"/a/f": true, "/usr/f": false}, ""},
		{"a system mount itself, writable", append(rootless, system), "/usr/lib", &no, nil, "/usr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			child, err := newView(t, c.mounts...).Restrict(Restriction{Restrict: c.restrict, ReadOnly: c.readonly})
			var escalation *EscalationError
			if errors.As(err, &escalation) {
				if escalation.Mount != c.refused || escalation.Code() != "PERMISSION_ESCALATION" || !strings.Contains(err.Error(), string(c.refused)) {
					t.Errorf("Restrict() = %v (mount %q, code %q), want mount %q", err, escalation.Mount, escalation.Code(), c.refused)
				}
				return
			}
			if err != nil || c.refused != "" {
				t.Fatalf("Restrict() = %v, want an escalation over %q", err, c.refused)
			}
			for p, writable := range c.writable {
				if got := child.CanWrite(p); got != writable {
					t.Errorf("CanWrite(%s) = %v, want %v", p, got, writable)
				}
				if !child.CanRead(p) {
					t.Errorf("CanRead(%s) = false", p)
				}
			}
		})
	}
}

func TestS0_06_SamePathsAndNothingElse(t *testing.T) {
	v := newView(t,
		dir("/", "/home/user/project", rules("p", "deny write /src/locked/**", "allow * /**")),
		ro(dir("/src/vendor", "/vendor")),
		dir("/srcx", "/other"),
	)
	child := restrict(t, v, Restriction{Restrict: "/src"})
	for p, host := range map[vpath.Path]string{
		"/src":               "/home/user/project/src",
		"/src/file.ts":       "/home/user/project/src/file.ts",
		"/src/vendor/x":      "/vendor/x",
		"/":                  "",
		"/secrets/key":       "",
		"/srcx/f":            "",
		"/src.bak":           "",
		"/home/user/project": "",
	} {
		if got, _ := child.HostPath(p); got != host {
			t.Errorf("HostPath(%s) = %q, want %q", p, got, host)
		}
	}
	want(t, child, policy.Write, "/src/file.ts", "allow allow * /**")
	want(t, child, policy.Write, "/src/locked/f", "deny deny write /src/locked/**")
	want(t, child, policy.Write, "/src/vendor/x", "deny builtin:readonly-mount")
	want(t, child, policy.Read, "/secrets/key", "deny builtin:unmounted")
	want(t, child, policy.List, "/", "allow builtin:synthesised")
	if got := child.Names("/"); len(got) != 1 || got[0] != "src" {
		t.Errorf("Names(/) = %q, want src alone", got)
	}
	narrowed := child.Resolve("/src").Mount
	if narrowed.Anchor != "/home/user/project" || narrowed.Source != "/home/user/project/src" {
		t.Errorf("narrowed mount has source %q and anchor %q, want the anchor at the parent's source", narrowed.Source, narrowed.Anchor)
	}
	grandchild := restrict(t, child, Restriction{Restrict: "/src/lib/deep"})
	if m := grandchild.Mounts()[0]; m.Anchor != "/home/user/project" || m.Source != "/home/user/project/src/lib/deep" {
		t.Errorf("mount of the grandchild has source %q and anchor %q", m.Source, m.Anchor)
	}
	if _, err := child.Restrict(Restriction{Restrict: "/secrets"}); err == nil {
		t.Error("Restrict(/secrets) of a child that has only /src: no error")
	}
}

func TestRestrictToWhatIsNotThere(t *testing.T) {
	v := newView(t,
		dir("/a/b/c", "/x"),
		kind(KindFile, dir("/a/file", "/f")),
		kind(KindSymlink, dir("/bin", "/bin")),
		dir("/s/secret", "/y", rules("hidden", "hide * /**")),
	)
	for p, message := range map[vpath.Path]string{
		"/nowhere":    "no mount covers it and none lies below it",
		"/a/bc":       "no mount covers it and none lies below it",
		"/s":          "no mount covers it and none lies below it",
		"/a/file/sub": "mount /a/file is a file, nothing lies below it",
		"/bin/sh":     "mount /bin is a symbolic link, nothing lies below it",
	} {
		if _, err := v.Restrict(Restriction{Restrict: p}); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("Restrict(%s) = %v, want %q", p, err, message)
		}
	}
	for p, names := range map[vpath.Path]string{"/a": "b file", "/a/b": "c", "/a/file": ""} {
		child := restrict(t, v, Restriction{Restrict: p})
		if got := strings.Join(child.Names(p), " "); got != names {
			t.Errorf("restricted to %s: Names(%s) = %q, want %q", p, p, got, names)
		}
		want(t, child, policy.Stat, "/bin", "deny builtin:unmounted")
	}
}

func TestCeilingIsALayerOfEveryMount(t *testing.T) {
	v := newView(t, dir("/", "/p"), dir("/m", "/x"))
	ceiling := rules("ceiling", "deny delete /**", "allow * /**")
	child := restrict(t, v, Restriction{Ceiling: []*policy.Policy{ceiling}})
	for _, p := range []vpath.Path{"/f", "/m/f"} {
		want(t, child, policy.Unlink, p, "deny deny delete /**")
		want(t, v, policy.Unlink, p, "allow allow * /**")
	}
	for _, m := range child.Mounts() {
		if last := m.Layers[len(m.Layers)-1]; last.Kind != "ceiling" || last.Policy != ceiling {
			t.Errorf("mount %s: last layer is %s %s, want the ceiling", m.Target, last.Kind, last.Policy.Name)
		}
	}
	if _, err := v.Restrict(Restriction{Ceiling: []*policy.Policy{nil}}); err == nil {
		t.Error("Restrict() with a nil ceiling: no error")
	}
}

// A name that the child cannot see keeps its say over the file.
func TestS0_06_AliasOutsideTheRestrictionStillSpeaks(t *testing.T) {
	v := newView(t,
		dir("/", "/p"),
		dir("/alias", "/p/src/part", rules("alias", "deny write /alias/key", "hide * /alias/hidden", "allow * /**")),
	)
	child := restrict(t, v, Restriction{Restrict: "/src"})
	grandchild := restrict(t, child, Restriction{Restrict: "/src/part"})
	for _, view := range []*View{v, child, grandchild} {
		want(t, view, policy.Write, "/src/part/key", "deny deny write /alias/key")
		want(t, view, policy.Stat, "/src/part/hidden", "hide hide * /alias/hidden")
		if !view.MayHide("/src/part") {
			t.Error("MayHide(/src/part) = false")
		}
		if !view.Pinned("/src/part") {
			t.Error("Pinned(/src/part) = false")
		}
		if view.Alike("/src/part/a", "/src/part/b") {
			t.Error("Alike(/src/part/a, /src/part/b) = true")
		}
	}
	if got := child.Aliases("/src/part/key"); got != nil {
		t.Errorf("Aliases(/src/part/key) in the child = %q, want none that it can see", got)
	}
}

func TestS0_06_ChildNeverExceedsItsParent(t *testing.T) {
	children, grandchildren := 0, 0
	eachRandomView(t, func(r *rand.Rand, v *View) {
		child := randomChild(r, v)
		if child == nil {
			return
		}
		children++
		checkCeiling(t, r, v, child)
		if grandchild := randomChild(r, child); grandchild != nil {
			grandchildren++
			checkCeiling(t, r, child, grandchild)
			checkCeiling(t, r, v, grandchild)
		}
	})
	if children < 300 || grandchildren < 100 {
		t.Errorf("only %d children and %d grandchildren were checked", children, grandchildren)
	}
}

func randomChild(r *rand.Rand, v *View) *View {
	restriction := Restriction{Restrict: randomPath(r, 2)}
	if r.IntN(2) == 0 {
		readonly := r.IntN(2) == 0
		restriction.ReadOnly = &readonly
	}
	if r.IntN(3) == 0 {
		restriction.Ceiling = []*policy.Policy{randomPolicy(r)}
	}
	child, err := v.Restrict(restriction)
	if err != nil {
		return nil
	}
	return child
}

// checkCeiling compares the two views at some paths. What the child makes up
// itself, the way to its own mounts, is compared with nothing.
func checkCeiling(t *testing.T, r *rand.Rand, parent, child *View) {
	t.Helper()
	for range 10 {
		p := randomPath(r, 5)
		host, mounted := child.HostPath(p)
		if mounted {
			if parents, _ := parent.HostPath(p); parents != host {
				t.Errorf("HostPath(%s) = %q, in the parent %q", p, host, parents)
			}
		}
		own := policy.OpSet(0)
		for op := range policy.Op(policy.NumOps) {
			got, ceiling := child.Decide(p, op), parent.Decide(p, op)
			switch got.Rule {
			case policy.Synthesised, policy.RootStat:
				own |= op.Set()
			case policy.Unmounted:
			default:
				if ceiling.Decision.Stricter(got.Decision) {
					t.Errorf("Decide(%s, %s) = %s %s, but %s %s in the parent; child%s", p, op,
						got.Decision, got.Rule.Name, ceiling.Decision, ceiling.Rule.Name, describe(child))
				}
			}
		}
		if more := child.Allowed(p) &^ parent.Allowed(p) &^ own; more != 0 {
			t.Errorf("Allowed(%s) has %s more than in the parent; child%s", p, more, describe(child))
		}
	}
}
