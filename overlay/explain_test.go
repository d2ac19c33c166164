package overlay

import (
	"math/rand/v2"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestExplainEqualsDecide(t *testing.T) {
	eachRandomView(t, func(r *rand.Rand, v *View) {
		if child := randomChild(r, v); child != nil && r.IntN(2) == 0 {
			v = child
		}
		for range 5 {
			p, op := randomPath(r, 5), policy.Op(r.IntN(policy.NumOps))
			e := v.Explain(p, op)
			if want := v.Decide(p, op); e.Verdict != want {
				t.Errorf("Explain(%s, %s) = %v, Decide = %v in%s", p, op, e.Verdict, want, describe(v))
			}
			checkRetold(t, v, e)
		}
	})
}

// checkRetold arrives at the verdict of e from its names and layers alone.
func checkRetold(t *testing.T, v *View, e Explanation) {
	t.Helper()
	p := e.Place.Path
	if len(e.Names) == 0 {
		if e.Place.Mount != nil {
			t.Errorf("Explain(%s, %s) has no names, though %s governs it", p, e.Op, e.Place.Mount.Target)
		}
		return
	}
	var verdict policy.Verdict
	deciding := 0
	for i, n := range e.Names {
		said := strictestOf(n)
		if said != n.Verdict {
			t.Errorf("Explain(%s, %s): name %s says %v, its layers %v in%s", p, e.Op, n.Path, n.Verdict, said, describe(v))
		}
		if i == 0 {
			verdict = said
		}
		verdict = stricter(verdict, said)
		if n.Decides {
			deciding++
		}
	}
	if p == vpath.Root {
		verdict = rootVerdict(verdict, e.Op)
	}
	if verdict != e.Verdict {
		t.Errorf("Explain(%s, %s) = %v, its names say %v in%s", p, e.Op, e.Verdict, verdict, describe(v))
	}
	if want := e.Verdict.Rule != policy.RootStat; (deciding == 1) != want {
		t.Errorf("Explain(%s, %s) = %v: %d names decide in%s", p, e.Op, e.Verdict, deciding, describe(v))
	}
}

func strictestOf(n Name) policy.Verdict {
	var verdict policy.Verdict
	for i, l := range n.Layers {
		if i == 0 || l.Verdict.Decision.Stricter(verdict.Decision) {
			verdict = l.Verdict
		}
	}
	if n.ReadOnly && verdict.Decision != policy.Hide {
		return policy.Verdict{Decision: policy.Deny, Rule: policy.ReadonlyMount}
	}
	return verdict
}

func TestExplainNamesTheDecidingLayer(t *testing.T) {
	v := newView(t,
		dir("/", "/p", rules("mount", "allow * /**"), rules("base", "deny write /sub/x", "allow * /**")),
		dir("/alias", "/p/sub", rules("alias", "ask read /alias/**", "allow * /**")),
		ro(dir("/locked", "/l")),
	)
	for _, c := range []struct {
		op                      policy.Op
		p                       vpath.Path
		names, name, layer, via int // the deciding indices; -1 for none
		rule                    string
	}{
		{policy.Write, "/sub/x", 2, 0, 1, 0, "deny write /sub/x"},
		{policy.Read, "/sub/x", 2, 1, 0, 0, "ask read /alias/**"},
		{policy.Write, "/other", 1, 0, 0, 0, "allow * /**"},
		{policy.Write, "/locked/f", 1, 0, -1, -1, "builtin:readonly-mount"},
		{policy.Write, "/alias/x", 2, 1, 1, 0, "deny write /sub/x"},
	} {
		e := v.Explain(c.p, c.op)
		if len(e.Names) != c.names || e.Verdict.Rule.Name != c.rule || e.Place.Path != c.p || e.Op != c.op {
			t.Errorf("Explain(%s, %s) = %d names, rule %s, want %d, %s", c.p, c.op, len(e.Names), e.Verdict.Rule.Name, c.names, c.rule)
			continue
		}
		for i, n := range e.Names {
			if n.Decides != (i == c.name) {
				t.Errorf("Explain(%s, %s): name %d decides = %v, want name %d", c.p, c.op, i, n.Decides, c.name)
			}
			for j, l := range n.Layers {
				if want := i == c.name && j == c.layer; l.Decides != want {
					t.Errorf("Explain(%s, %s): layer %d of name %d decides = %v, want %v", c.p, c.op, j, i, l.Decides, want)
				}
				if l.Decides && l.Steps[c.via].Rule != e.Verdict.Rule {
					t.Errorf("Explain(%s, %s): step %d is %s, want %s", c.p, c.op, c.via, l.Steps[c.via].Rule.Name, c.rule)
				}
			}
		}
	}
}

func TestExplainWithoutAMount(t *testing.T) {
	v := newView(t, dir("/a/b", "/x"))
	for p, rule := range map[vpath.Path]*policy.Rule{"/a": policy.Synthesised, "/c": policy.Unmounted, "/": policy.Synthesised} {
		if e := v.Explain(p, policy.Stat); e.Verdict.Rule != rule || len(e.Names) != 0 || e.Place.Mount != nil {
			t.Errorf("Explain(%s, stat) = %+v, want %s and no names", p, e, rule.Name)
		}
	}
}

func TestExplainSaysWhichNamesAreOutside(t *testing.T) {
	v := newView(t, dir("/", "/p"), dir("/alias", "/p/src", rules("alias", "deny write /alias/**", "allow * /**")))
	child := restrict(t, v, Restriction{Restrict: "/src"})
	e := child.Explain("/src/f", policy.Write)
	if len(e.Names) != 2 || e.Names[0].Outside || !e.Names[1].Outside || !e.Names[1].Decides || e.Names[1].Path != "/alias/f" {
		t.Errorf("Explain(/src/f, write) in the child = %+v, want /alias/f outside to decide", e.Names)
	}
}
