package overlay

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/policy"
)

// TestGuarded: a pack is known by its layer, in a restricted view too, and not by
// a policy of its name.
func TestGuarded(t *testing.T) {
	layer := func(kind, name string) Layer {
		return Layer{kind, policy.Builtin(name, policy.BuiltinRule{Name: "all", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Allow})}
	}
	v, err := New([]Mount{{Target: "/a", Source: "/x", Layers: []Layer{layer("mount", "git"), layer("guard", "shell")}},
		{Target: "/b", Source: "/y", Layers: []Layer{layer("mount", "all"), layer("guard", "git")}}})
	if err != nil {
		t.Fatal(err)
	}
	child, err := v.Restrict(Restriction{Restrict: "/b/c"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mount *Mount
		pack  string
		want  bool
	}{
		{v.Resolve("/a").Mount, "git", false}, {v.Resolve("/a").Mount, "shell", true},
		{v.Resolve("/b").Mount, "git", true}, {child.Resolve("/b/c/d").Mount, "git", true},
	} {
		if got := c.mount.Guarded(c.pack); got != c.want {
			t.Errorf("%s: Guarded(%s) = %t, want %t", c.mount.Target, c.pack, got, c.want)
		}
	}
}
