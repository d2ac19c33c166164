package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// walk is THE loop: every verdict of this package comes out of next. The first
// rule whose globs cover the path decides those of its operations that no rule
// before it decided; what no rule decides is denied.
type walk struct {
	entries []entry // not tried yet
	at      spelling
	folds   bool
	open    OpSet // not decided yet

	decided OpSet // by the last next, with its verdict
	verdict Verdict

	trace *[]Step // of Explain, else nil
}

// walk begins to decide ops on the path at. Whether a name is hidden is what the
// verdict of Stat says, so Stat is decided too where that could be.
func (p *Policy) walk(at spelling, ops OpSet) walk {
	w := walk{at: at, open: ops}
	if p != nil {
		w.entries, w.folds = p.entries, p.folds
		if p.hides {
			w.open |= Stat.Set()
		}
	}
	return w
}

// next goes on to the next rule that decides something, and reports false when
// every operation is decided.
func (w *walk) next() bool {
	for len(w.entries) > 0 && w.open != 0 {
		e := &w.entries[0]
		w.entries = w.entries[1:]
		w.decided = e.ops & w.open
		var covers *glob
		if w.decided != 0 {
			covers = e.match(w.at, w.folds)
		}
		if w.trace != nil {
			w.record(e, covers)
		}
		if covers != nil {
			w.open &^= w.decided
			w.verdict = Verdict{e.decision, e.rule}
			return true
		}
	}
	w.decided, w.open = w.open, 0
	w.verdict = Verdict{DefaultDeny.Decision, DefaultDeny}
	return w.decided != 0
}

// verdictOf runs w to its end and returns the verdict of op.
func (w *walk) verdictOf(op Op) Verdict {
	var verdict, stat Verdict
	for w.next() {
		if w.decided.Has(op) {
			verdict = w.verdict
		}
		if w.decided.Has(Stat) {
			stat = w.verdict
		}
	}
	if stat.Decision == Hide {
		return stat
	}
	if verdict.Decision == Hide {
		verdict.Decision = Deny
	}
	return verdict
}

// Decide returns the most restrictive verdict that any of layers has for op on
// p (hide > deny > ask > audit > allow); of equal ones the first layer's. No
// layers at all is a denial (DefaultDeny). If the verdict of Stat is hide, the
// verdict of every operation is hide. A hide rule that decides another op
// while stat is not hidden counts as Deny.
func Decide(layers []*Policy, p vpath.Path, op Op) Verdict {
	if len(layers) == 0 {
		return Verdict{DefaultDeny.Decision, DefaultDeny}
	}
	at := spell(layers, p)
	var strictest Verdict
	for i, layer := range layers {
		w := layer.walk(at, op.Set())
		if v := w.verdictOf(op); i == 0 || v.Decision.Stricter(strictest.Decision) {
			strictest = v
		}
	}
	return strictest
}

// Allowed returns the operations whose verdict on p is a plain Allow: what a
// node may cache. For each op it holds Decide(layers, p, op).Decision == Allow.
func Allowed(layers []*Policy, p vpath.Path) OpSet {
	return filter(layers, p, func(d Decision) bool { return d == Allow })
}

// Permitted returns the operations on p that go ahead: Allowed, and those that
// are recorded.
func Permitted(layers []*Policy, p vpath.Path) OpSet {
	return filter(layers, p, Decision.Permits)
}

func filter(layers []*Policy, p vpath.Path, passes func(Decision) bool) OpSet {
	if len(layers) == 0 {
		return 0
	}
	at := spell(layers, p)
	ops := AllOps
	for _, layer := range layers {
		ops &= layer.filter(at, ops, passes)
	}
	return ops
}

// filter returns those of ops whose decision on the path at passes.
func (p *Policy) filter(at spelling, ops OpSet, passes func(Decision) bool) OpSet {
	var passed OpSet
	for w := p.walk(at, ops); w.next(); {
		if w.verdict.Decision == Hide && w.decided.Has(Stat) {
			return 0
		}
		if passes(w.verdict.Decision) {
			passed |= w.decided
		}
	}
	return passed
}
