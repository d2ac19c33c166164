package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// Step is one rule that was tried on the way to a verdict.
type Step struct {
	Rule     *Rule  // as the file holds it, also where Traverse speaks for it
	Traverse bool   // the ancestors that Rule lets pass were tried, not its own globs
	Glob     string // the glob that covers the path, as written, variables replaced; "" if none does
	Decided  OpSet  // what the step settled of the operation asked for and of stat
	Decides  bool   // the verdict comes from here

	speaks bool // of an operation that was open still
}

// Outcome says in a few words what came of the step.
func (s Step) Outcome() string {
	switch {
	case s.Decides && s.Rule == DefaultDeny:
		return "decides: " + DefaultDeny.Message
	case s.Decides && s.Traverse:
		return "decides: the path leads to " + s.Glob
	case s.Decides:
		return "decides: covered by " + s.Glob
	case s.Decided != 0:
		return "decides " + s.Decided.String() + " only"
	case !s.speaks:
		return "other operations"
	}
	return "other paths"
}

// Explain returns what Decide says of the one policy p, and every step that was
// taken to get there; exactly the last step decides.
func Explain(p *Policy, path vpath.Path, op Op) (Verdict, []Step) {
	var steps []Step
	w := p.walk(spell([]*Policy{p}, path), op.Set())
	w.trace = &steps
	verdict := w.verdictOf(op)

	settles := op
	if verdict.Decision == Hide {
		settles = Stat
	}
	for i := range steps {
		if steps[i].Decided.Has(settles) {
			steps[i].Decides = true
			return verdict, steps[:i+1]
		}
	}
	return verdict, append(steps, Step{Rule: DefaultDeny, Decided: op.Set(), Decides: true})
}

// record adds a step to the trace: e was tried, and covers is its glob that
// matched.
func (w *walk) record(e *entry, covers *glob) {
	step := Step{Rule: e.from, Traverse: e.rule == Traverse, speaks: w.decided != 0}
	if covers != nil {
		step.Glob, step.Decided = covers.written, w.decided
	}
	*w.trace = append(*w.trace, step)
}
