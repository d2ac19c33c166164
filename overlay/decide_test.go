package overlay

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestS1_02_MostRestrictiveOfAllLayers(t *testing.T) {
	strictest := []string{"hide", "deny", "ask", "audit", "allow"}
	for i, a := range strictest {
		for j, b := range strictest {
			one := rules("one", a+" * /m/**")
			two := rules("two", b+" * /m/**")
			v := newView(t, dir("/m", "/x", one, two))
			verdict := strictest[min(i, j)]
			want(t, v, policy.Write, "/m/file", fmt.Sprintf("%s %s * /m/**", verdict, verdict))
			if got := v.Allowed("/m/file"); (got == policy.AllOps) != (verdict == "allow") || verdict != "allow" && got != 0 {
				t.Errorf("Allowed(/m/file) with %s and %s = %s", a, b, got)
			}
		}
	}
}

func TestS1_02_BaseCannotBeOverruledAndUnmountedIsDenied(t *testing.T) {
	base := rules("base", "deny write /work/locked/**", "allow * /**")
	v := newView(t,
		dir("/work", "/w", rules("rw", "allow * /**"), base),
		dir("/conf", "/c", rules("ro", "allow read /**"), base),
		dir("/closed", "/d"),
		Mount{Target: "/nolayers", Source: "/n"},
	)
	want(t, v, policy.Write, "/work/file", "allow allow * /**")
	want(t, v, policy.Write, "/work/locked/file", "deny deny write /work/locked/**")
	want(t, v, policy.Read, "/work/locked/file", "allow allow * /**")
	want(t, v, policy.Read, "/conf/file", "allow allow read /**")
	want(t, v, policy.Write, "/conf/file", "deny builtin:default-deny")
	want(t, v, policy.Read, "/etc/passwd", "deny builtin:unmounted")
	want(t, v, policy.Stat, "/nolayers", "deny builtin:default-deny")
}

func TestReadonlyComesAfterHideAndBeforeDeny(t *testing.T) {
	p := rules("p", "hide * /m/hidden", "deny * /m/denied", "ask * /m/asked", "audit * /m/audited", "allow * /**")
	v := newView(t, ro(dir("/m", "/x", p)))
	for op := range policy.Op(policy.NumOps) {
		want(t, v, op, "/m/hidden", "hide hide * /m/hidden")
		if policy.ChangeOps.Has(op) {
			want(t, v, op, "/m/denied", "deny builtin:readonly-mount")
			want(t, v, op, "/m/asked", "deny builtin:readonly-mount")
			want(t, v, op, "/m/audited", "deny builtin:readonly-mount")
			want(t, v, op, "/m/file", "deny builtin:readonly-mount")
			continue
		}
		want(t, v, op, "/m/denied", "deny deny * /m/denied")
		want(t, v, op, "/m/asked", "ask ask * /m/asked")
		want(t, v, op, "/m/audited", "audit audit * /m/audited")
		want(t, v, op, "/m/file", "allow allow * /**")
	}
	if got := v.Allowed("/m/file"); got != policy.ReadOps {
		t.Errorf("Allowed(/m/file) = %s, want the read group", got)
	}
}

func TestDeviceMountsAreNeverReadonly(t *testing.T) {
	v := newView(t,
		ro(kind(KindDevice, dir("/dev/null", "/dev/null"))),
		ro(kind(KindDevice, dir("/dev/zero", "/dev/zero", rules("read", "allow read /**")))),
	)
	want(t, v, policy.Write, "/dev/null", "allow allow * /**")
	want(t, v, policy.Truncate, "/dev/null", "allow allow * /**")
	want(t, v, policy.Write, "/dev/zero", "deny builtin:default-deny")
	if got := v.Allowed("/dev/null"); got != policy.AllOps {
		t.Errorf("Allowed(/dev/null) = %s, want all", got)
	}
}

func TestRootCanAlwaysBeStatted(t *testing.T) {
	for _, decision := range []string{"hide", "deny", "ask"} {
		v := newView(t, dir("/", "/x", rules("p", decision+" * /**")))
		want(t, v, policy.Stat, "/", "allow builtin:root")
		if got := v.Allowed("/"); got != policy.Stat.Set() {
			t.Errorf("Allowed(/) under %s = %s, want stat", decision, got)
		}
	}
	hidden := newView(t, dir("/", "/x", rules("p", "hide * /**")))
	want(t, hidden, policy.List, "/", "deny hide * /**")
	audited := newView(t, dir("/", "/x", rules("p", "audit * /**")))
	want(t, audited, policy.Stat, "/", "audit audit * /**")
	unmounted := newView(t, dir("/a", "/x", rules("p", "hide * /**")))
	want(t, unmounted, policy.Stat, "/", "allow builtin:root")
	want(t, unmounted, policy.List, "/", "deny builtin:unmounted")
}

// TestDecideEqualsItsDefinition holds Decide and Allowed against the rules
// spelled out without any index.
func TestDecideEqualsItsDefinition(t *testing.T) {
	eachRandomView(t, func(r *rand.Rand, v *View) {
		for range 10 {
			p := randomPath(r, 5)
			if m := v.governing(p); m != nil && m.Kind != KindDir && p != m.Target {
				continue // nothing lies below a file
			}
			allowed := v.Allowed(p)
			for op := range policy.Op(policy.NumOps) {
				got, want := v.Decide(p, op), defined(v.mounts, p, op)
				if got.Decision != want.Decision || (got.Rule == policy.ReadonlyMount) != (want.Rule == policy.ReadonlyMount) {
					t.Fatalf("Decide(%s, %s) = %s %s, want %s %s in%s", p, op, got.Decision, got.Rule.Name, want.Decision, want.Rule.Name, describe(v))
				}
				if allowed.Has(op) != (got.Decision == policy.Allow) {
					t.Fatalf("Allowed(%s) = %s, Decide(%s) = %s in%s", p, allowed, op, got.Decision, describe(v))
				}
			}
		}
	})
}

func defined(mounts []Mount, p vpath.Path, op policy.Op) policy.Verdict {
	m := longest(mounts, p)
	if m == nil {
		if p == vpath.Root && op == policy.Stat {
			return policy.Verdict{Decision: policy.Allow, Rule: policy.RootStat}
		}
		for i := range mounts {
			below := mounts[i].Target.Within(p)
			if below && (op == policy.Stat || op == policy.List) && defined(mounts, mounts[i].Target, policy.Stat).Decision != policy.Hide {
				return policy.Verdict{Decision: policy.Allow, Rule: policy.Synthesised}
			}
		}
		return policy.Verdict{Decision: policy.Deny, Rule: policy.Unmounted}
	}
	verdict := policy.Verdict{Decision: policy.Allow}
	readonly := false
	for _, name := range namesOf(mounts, p) {
		m := longest(mounts, name)
		readonly = readonly || m.ReadOnly && m.Kind != KindDevice
		if said := policy.Decide(m.policies, name, op); verdict.Rule == nil || said.Decision.Stricter(verdict.Decision) {
			verdict = said
		}
	}
	if verdict.Decision != policy.Hide && readonly && policy.ChangeOps.Has(op) {
		verdict = policy.Verdict{Decision: policy.Deny, Rule: policy.ReadonlyMount}
	}
	if p == vpath.Root {
		return rootVerdict(verdict, op)
	}
	return verdict
}

func longest(mounts []Mount, p vpath.Path) *Mount {
	var best *Mount
	for i := range mounts {
		if m := &mounts[i]; p.Within(m.Target) && (best == nil || len(m.Target) > len(best.Target)) {
			best = m
		}
	}
	return best
}

// namesOf returns p and all its aliases, until no name adds another.
func namesOf(mounts []Mount, p vpath.Path) []vpath.Path {
	names := []vpath.Path{p}
	known := map[vpath.Path]bool{p: true}
	for i := 0; i < len(names); i++ {
		from := longest(mounts, names[i])
		if from.Kind == KindSymlink || from.Kind == KindDevice {
			continue
		}
		host := vpath.Path(from.Source).Join("x").Dir() // a clean text serves as a path here
		if rel := names[i].Rel(from.Target); rel != "" {
			host = host + "/" + vpath.Path(rel)
		}
		for j := range mounts {
			to := &mounts[j]
			if to.Kind == KindSymlink || to.Kind == KindDevice || !host.Within(vpath.Path(to.Source)) {
				continue
			}
			if to.Kind == KindFile && host != vpath.Path(to.Source) {
				continue
			}
			alias := host.Rebase(vpath.Path(to.Source), to.Target)
			if longest(mounts, alias) == to && !known[alias] {
				known[alias] = true
				names = append(names, alias)
			}
		}
	}
	return names
}
