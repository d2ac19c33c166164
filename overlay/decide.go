package overlay

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Decide returns the verdict for op on p, over all layers of the mount that
// governs it and of every alias that the mount table gives the path (Aliases).
// A readonly mount denies policy.ChangeOps with policy.ReadonlyMount unless the
// name is hidden. Without a mount: policy.Synthesised for stat and list of a
// path that leads to a mount that is not wholly hidden, else policy.Unmounted.
// Stat of Root is always allowed (policy.RootStat), and Root is never hidden.
// It does not allocate unless sources overlap at p.
func (v *View) Decide(p vpath.Path, op policy.Op) policy.Verdict {
	verdict := v.decide(p, op)
	if p == vpath.Root {
		return rootVerdict(verdict, op)
	}
	return verdict
}

func (v *View) decide(p vpath.Path, op policy.Op) policy.Verdict {
	m := v.governing(p)
	if m == nil {
		return v.unmounted(p, op)
	}
	verdict := m.decide(p, op)
	for _, a := range v.aliases(m, p) {
		verdict = stricter(verdict, a.mount.decide(a.path, op))
	}
	if v.outer != nil {
		verdict = stricter(verdict, v.outer.decide(p, op))
	}
	return verdict
}

// decide returns the verdict of m alone.
func (m *Mount) decide(p vpath.Path, op policy.Op) policy.Verdict {
	verdict := policy.Decide(m.policies, p, op)
	if m.refused().Has(op) && verdict.Decision != policy.Hide {
		return policy.Verdict{Decision: policy.Deny, Rule: policy.ReadonlyMount}
	}
	return verdict
}

func (v *View) unmounted(p vpath.Path, op policy.Op) policy.Verdict {
	if policy.Synthesised.Ops.Has(op) && v.Leads(p) {
		return policy.Verdict{Decision: policy.Synthesised.Decision, Rule: policy.Synthesised}
	}
	return policy.Verdict{Decision: policy.Deny, Rule: policy.Unmounted}
}

// stricter returns the verdict that comes first in the order hide, readonly,
// deny, ask, audit, allow; a where both are alike.
func stricter(a, b policy.Verdict) policy.Verdict {
	readonly := b.Rule == policy.ReadonlyMount && a.Decision == policy.Deny
	if b.Decision.Stricter(a.Decision) || readonly {
		return b
	}
	return a
}

// rootVerdict keeps the view's root there to stand on: whatever verdict says,
// it can be stat-ed, and what would be hidden is denied.
func rootVerdict(verdict policy.Verdict, op policy.Op) policy.Verdict {
	switch {
	case op == policy.Stat && !verdict.Decision.Permits():
		return policy.Verdict{Decision: policy.RootStat.Decision, Rule: policy.RootStat}
	case verdict.Decision == policy.Hide:
		verdict.Decision = policy.Deny
	}
	return verdict
}

// Allowed returns the operations on p whose verdict is a plain Allow. For each
// op it holds Decide(p, op).Decision == policy.Allow.
func (v *View) Allowed(p vpath.Path) policy.OpSet {
	set := v.filter(p, policy.Allowed)
	if p == vpath.Root && v.Decide(p, policy.Stat).Decision == policy.Allow {
		set |= policy.Stat.Set()
	}
	return set
}

// Permitted returns the operations on p that go ahead: for each it holds
// Decide(p, op).Decision.Permits().
func (v *View) Permitted(p vpath.Path) policy.OpSet {
	set := v.filter(p, policy.Permitted)
	if p == vpath.Root {
		set |= policy.Stat.Set()
	}
	return set
}

// filter returns the operations on p that of says of every layer that speaks.
func (v *View) filter(p vpath.Path, of func([]*policy.Policy, vpath.Path) policy.OpSet) policy.OpSet {
	m := v.governing(p)
	if m == nil {
		if v.Leads(p) {
			return policy.Synthesised.Ops
		}
		return 0
	}
	set := m.filter(p, of)
	for _, a := range v.aliases(m, p) {
		set &= a.mount.filter(a.path, of)
	}
	if v.outer != nil {
		set &= v.outer.filter(p, of)
	}
	return set
}

// filter is View.filter for m alone.
func (m *Mount) filter(p vpath.Path, of func([]*policy.Policy, vpath.Path) policy.OpSet) policy.OpSet {
	return of(m.policies, p) &^ m.refused()
}
