package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// randomPolicy makes up to six rules of random globs, operations and decisions.
func (w words) randomPolicy() *Policy {
	rules := make([]BuiltinRule, w.IntN(7))
	for i := range rules {
		r := &rules[i]
		r.Name = "r" + string(rune('0'+i))
		for range 1 + w.IntN(2) {
			r.Paths = append(r.Paths, w.glob(4))
		}
		r.Ops = Op(w.IntN(NumOps)).Covers() | Op(w.IntN(NumOps)).Covers()
		if w.IntN(3) == 0 {
			r.Ops = AllOps
		}
		r.Decision = Decision(w.IntN(NumDecisions))
	}
	return Builtin("random", rules...)
}

func (w words) randomLayers() []*Policy {
	layers := make([]*Policy, 1+w.IntN(3))
	for i := range layers {
		layers[i] = w.randomPolicy()
	}
	return layers
}

// slowDecide is Decide of one policy, written down as the documentation says
// it: one operation, one rule after the other, the reference matcher.
func slowDecide(p *Policy, path string, op Op) Verdict {
	of := slowRule(p, path, op)
	if stat := slowRule(p, path, Stat); stat.Decision == Hide {
		return stat
	}
	if of.Decision == Hide {
		of.Decision = Deny
	}
	return of
}

func slowRule(p *Policy, path string, op Op) Verdict {
	for _, r := range p.Rules {
		for _, glob := range r.Paths {
			if r.Ops.Has(op) && reference(split(glob), split(path)) {
				return Verdict{r.Decision, r}
			}
		}
		for _, glob := range r.Paths {
			if op == Stat && r.Decision != Deny && r.Decision != Hide && leadsTo(path, glob) {
				return Verdict{Allow, Traverse}
			}
		}
	}
	return Verdict{Deny, DefaultDeny}
}

// leadsTo reports whether path is a proper ancestor that all matches of glob
// share.
func leadsTo(path, glob string) bool {
	names, way := split(glob), split(path)
	if len(way) >= len(names) {
		return false
	}
	for i, name := range way {
		if unescaped, ok := unescape(names[i]); !ok || unescaped != name {
			return false
		}
	}
	return !reference(names, way)
}

// TestDecideAgainstReference has the most restrictive verdict of the layers win,
// whatever the rules. S1-02.
func TestDecideAgainstReference(t *testing.T) {
	w := words{rand.New(rand.NewPCG(5, 6))}
	for range 20_000 {
		layers := w.randomLayers()
		for range 5 {
			path := w.path(4)
			op := Op(w.IntN(NumOps))
			want := slowDecide(layers[0], path, op)
			for _, layer := range layers[1:] {
				if v := slowDecide(layer, path, op); v.Decision.Stricter(want.Decision) {
					want = v
				}
			}
			if got := Decide(layers, vpath.Path(path), op); got != want {
				t.Fatalf("Decide(%s, %q) = %s %s, want %s %s\n%s", op, path, got.Decision, got.Rule.Name, want.Decision, want.Rule.Name, listing(layers))
			}
		}
	}
}

func TestAllowedAgainstDecide(t *testing.T) {
	w := words{rand.New(rand.NewPCG(7, 8))}
	for range 20_000 {
		layers, path := w.randomLayers(), vpath.Path(w.path(4))
		allowed := Allowed(layers, path)
		for op := range Op(NumOps) {
			if v := Decide(layers, path, op); allowed.Has(op) != (v.Decision == Allow) {
				t.Fatalf("Allowed(%q) = %s, but Decide(%s) = %s\n%s", path, allowed, op, v.Decision, listing(layers))
			}
		}
	}
}

func TestExplainAgainstDecide(t *testing.T) {
	w := words{rand.New(rand.NewPCG(9, 10))}
	for range 20_000 {
		p, path, op := w.randomPolicy(), vpath.Path(w.path(4)), Op(w.IntN(NumOps))
		want := Decide([]*Policy{p}, path, op)
		got, steps := Explain(p, path, op)
		if got != want {
			t.Fatalf("Explain(%s, %q) = %s %s, want %s %s", op, path, got.Decision, got.Rule.Name, want.Decision, want.Rule.Name)
		}
		last := steps[len(steps)-1]
		rule := last.Rule
		if last.Traverse {
			rule = Traverse
		}
		if !last.Decides || rule != want.Rule {
			t.Fatalf("Explain(%s, %q): the last step is %s (%s), want %s\n%s", op, path, rule.Name, last.Outcome(), want.Rule.Name, listing([]*Policy{p}))
		}
	}
}

func TestAlikeIsProven(t *testing.T) {
	w := words{rand.New(rand.NewPCG(11, 12))}
	proven := 0
	for range 20_000 {
		layers, a, b := w.randomLayers(), vpath.Path(w.path(3)), vpath.Path(w.path(3))
		if a == b || !Alike(layers, a, b) {
			continue
		}
		proven++
		for range 20 {
			below := vpath.Path("/" + w.path(2)[1:])
			if below == vpath.Root {
				continue
			}
			inA, inB := below.Rebase(vpath.Root, a), below.Rebase(vpath.Root, b)
			for op := range Op(NumOps) {
				if va, vb := Decide(layers, inA, op), Decide(layers, inB, op); va != vb {
					t.Fatalf("Alike(%q, %q) = true, but %s of %q is %s and of %q %s\n%s", a, b, op, inA, va.Decision, inB, vb.Decision, listing(layers))
				}
			}
		}
	}
	if proven < 500 {
		t.Errorf("only %d of the random pairs were found alike", proven)
	}
}

func TestMayHideMissesNothing(t *testing.T) {
	w := words{rand.New(rand.NewPCG(13, 14))}
	hidden := 0
	for range 100_000 {
		layers, path := w.randomLayers(), vpath.Path(w.path(4))
		if path == vpath.Root || Decide(layers, path, Stat).Decision != Hide {
			continue
		}
		hidden++
		if !MayHide(layers, path.Dir()) {
			t.Fatalf("MayHide(%q) = false, but %q is hidden\n%s", path.Dir(), path, listing(layers))
		}
	}
	if hidden < 500 {
		t.Errorf("only %d of the random paths were hidden", hidden)
	}
}

func listing(layers []*Policy) string {
	var b strings.Builder
	for i, p := range layers {
		for _, r := range p.Rules {
			b.WriteString(string(rune('0'+i)) + " " + r.Name + " " + strings.Join(r.Paths, " ") + " [" + r.Ops.String() + "] " + r.Decision.String() + "\n")
		}
	}
	return b.String()
}

func TestAlike(t *testing.T) {
	layers := []*Policy{mustCompile(t, `
file_rules:
  - {name: hooks, paths: ["/**/.git/hooks/**"], operations: [write], decision: deny}
  - {name: keys, paths: ["/**/*.key"], operations: [read], decision: hide}
  - {name: docs, paths: ["/w/docs/*/draft"], operations: [write], decision: deny}
  - {name: secret, paths: ["/w/src/secret"], operations: [read], decision: deny}
  - {name: all, paths: ["/w/**"], operations: ["*"], decision: allow}
`)}
	for _, tt := range []struct {
		a, b vpath.Path
		want bool
	}{
		{"/w/a", "/w/b", true},
		{"/w/a/b/c", "/w/x", true},
		{"/w/x", "/w/.git", false},   // what is in x/hooks becomes a hook
		{"/w/x/hooks", "/w/y", true}, // no .git above
		{"/w/.git/x", "/w/.git/y", true},
		{"/w/.git/x", "/w/.git/hooks", false},
		{"/w/.git/hooks/a", "/w/sub/.git/hooks/b", true}, // below a hooks directory both
		{"/w/a.key", "/w/b", true},                       // the rule is of the name, not of what lies below
		{"/w/docs/a", "/w/docs/b", true},
		{"/w/docs/a", "/w/other/a", false},
		{"/w/docs/a/x", "/w/other/a", true},
		{"/w/src", "/w/lib", false}, // src/secret
		{"/w/a", "/tmp", false},     // elsewhere nothing is allowed
		{"/w/a", "/w/a", true},
		{"/", "/w", false},
	} {
		if got := Alike(layers, tt.a, tt.b); got != tt.want {
			t.Errorf("Alike(%q, %q) = %t, want %t", tt.a, tt.b, got, tt.want)
		}
		if got := Alike(layers, tt.b, tt.a); got != tt.want {
			t.Errorf("Alike(%q, %q) = %t, want %t", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestMayHide(t *testing.T) {
	layers := []*Policy{mustCompile(t, `
file_rules:
  - {name: one, paths: ["/w/s/key", "/w/t/**", "/w/u/*/deep"], operations: ["*"], decision: hide}
  - {name: no-stat, paths: ["/w/v/*"], operations: [write], decision: hide}
  - {name: all, paths: ["/**"], operations: ["*"], decision: allow}
`)}
	for _, tt := range []struct {
		dir  vpath.Path
		want bool
	}{
		{"/", false}, {"/w", true}, {"/w/s", true}, {"/w/s/key", false}, {"/w/t", true}, {"/w/t/x", true},
		{"/w/u", false}, {"/w/u/x", true}, {"/w/u/x/y", false}, {"/w/v", false}, {"/x", false},
	} {
		if got := MayHide(layers, tt.dir); got != tt.want {
			t.Errorf("MayHide(%q) = %t, want %t", tt.dir, got, tt.want)
		}
	}
}

// TestNoPolicyDenies has what is nil or empty deny. X-10.
func TestNoPolicyDenies(t *testing.T) {
	for _, layers := range [][]*Policy{nil, {}, {nil}, {{}}, {Builtin("empty")}} {
		if v := Decide(layers, "/x", Stat); v.Decision != Deny || v.Rule != DefaultDeny {
			t.Errorf("Decide(%v, /x, stat) = %s %v, want deny by default", layers, v.Decision, v.Rule)
		}
		if ops := Allowed(layers, "/x"); ops != 0 {
			t.Errorf("Allowed(%v, /x) = %s, want nothing", layers, ops)
		}
	}
	if v := (Verdict{}); v.Decision.Permits() {
		t.Error("the zero Verdict permits")
	}
}
