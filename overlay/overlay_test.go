package overlay

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// rules builds a policy from lines like "deny write,delete /src/**"; "*" stands
// for every operation. The rules are named by their line.
func rules(name string, lines ...string) *policy.Policy {
	var list []policy.BuiltinRule
	for _, line := range lines {
		f := strings.Fields(line)
		decision, _ := policy.ParseDecision(f[0])
		list = append(list, policy.BuiltinRule{Name: line, Ops: ops(f[1]), Decision: decision, Paths: f[2:]})
	}
	return policy.Builtin(name, list...)
}

func ops(names string) policy.OpSet {
	if names == "*" {
		return policy.AllOps
	}
	var set policy.OpSet
	for name := range strings.SplitSeq(names, ",") {
		op, ok := policy.ParseOp(name)
		if !ok {
			panic("no operation " + name)
		}
		set |= op.Covers()
	}
	return set
}

var allowAll = rules("allow-all", "allow * /**")

// dir returns a mount of a directory under the given policies, or under
// allowAll.
func dir(target vpath.Path, source string, policies ...*policy.Policy) Mount {
	if len(policies) == 0 {
		policies = []*policy.Policy{allowAll}
	}
	m := Mount{Target: target, Source: source, Policy: policies[0].Name}
	for _, p := range policies {
		m.Layers = append(m.Layers, Layer{Kind: "mount", Policy: p})
	}
	return m
}

func ro(m Mount) Mount {
	m.ReadOnly = true
	return m
}

func kind(k Kind, m Mount) Mount {
	m.Kind = k
	return m
}

func newView(t testing.TB, mounts ...Mount) *View {
	t.Helper()
	v, err := New(mounts)
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	return v
}

// want fails unless v gives the verdict "decision rule" for op on p.
func want(t *testing.T, v *View, op policy.Op, p vpath.Path, verdict string) {
	t.Helper()
	got := v.Decide(p, op)
	if is := got.Decision.String() + " " + got.Rule.Name; is != verdict {
		t.Errorf("Decide(%s, %s) = %s, want %s", p, op, is, verdict)
	}
}

// The random views of the property tests are small and crowded, so that
// targets nest and sources overlap all the time.

func randomPath(r *rand.Rand, maxDepth int) vpath.Path {
	p := vpath.Root
	for range r.IntN(maxDepth + 1) {
		p = p.Join(string("abc"[r.IntN(3)]))
	}
	return p
}

func randomPolicy(r *rand.Rand) *policy.Policy {
	decisions := []string{"allow", "allow", "allow", "deny", "hide", "ask", "audit"}
	operations := []string{"*", "*", "read", "write", "create", "delete", "stat", "list", "read,write", "rename"}
	var lines []string
	for range 1 + r.IntN(3) {
		glob := string(randomPath(r, 3))
		switch r.IntN(3) {
		case 0:
			glob = "/**/" + string("abc"[r.IntN(3)])
		case 1:
			glob = strings.TrimSuffix(glob, "/") + "/**"
		}
		lines = append(lines, decisions[r.IntN(len(decisions))]+" "+operations[r.IntN(len(operations))]+" "+glob)
	}
	if r.IntN(3) > 0 {
		lines = append(lines, "allow * /**")
	}
	return rules("random", lines...)
}

// randomView returns a view, or nil where the mounts that were drawn do not
// make one.
func randomView(r *rand.Rand) *View {
	var mounts []Mount
	for range 1 + r.IntN(5) {
		source := "/host" + string(randomPath(r, 2))
		m := dir(randomPath(r, 3), source, randomPolicy(r))
		if r.IntN(2) == 0 {
			m.Layers = append(m.Layers, Layer{Kind: "base", Policy: randomPolicy(r)})
		}
		m.ReadOnly = r.IntN(4) == 0
		m.System = r.IntN(8) == 0
		m.Kind = []Kind{KindDir, KindDir, KindDir, KindDir, KindFile, KindSymlink, KindDevice}[r.IntN(7)]
		mounts = append(mounts, m)
	}
	v, err := New(mounts)
	if err != nil {
		return nil
	}
	return v
}

// eachRandomView calls check with many views, and fails if few could be built.
func eachRandomView(t *testing.T, check func(r *rand.Rand, v *View)) {
	t.Helper()
	const rounds = 3000
	r := rand.New(rand.NewPCG(1, 2))
	built := 0
	for range rounds {
		if v := randomView(r); v != nil {
			built++
			check(r, v)
		}
		if t.Failed() {
			return
		}
	}
	if built < rounds/5 {
		t.Errorf("only %d of %d random views could be built", built, rounds)
	}
}

// describe prints a view for the message of a failed property.
func describe(v *View) string {
	var b strings.Builder
	for _, m := range v.mounts {
		b.WriteString("\n  " + string(m.Target) + " <- " + m.Source + " " + m.Kind.String())
		if m.ReadOnly {
			b.WriteString(" readonly")
		}
		for _, l := range m.Layers {
			b.WriteString("\n    " + l.Kind + ":")
			for _, rule := range l.Policy.Rules {
				b.WriteString(" [" + rule.Name + "]")
			}
		}
	}
	if v.outer != nil {
		b.WriteString("\n restricted from" + describe(v.outer))
	}
	return b.String()
}
