package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/audit"
	"github.com/sandboxfs/sandboxfs/policy"
)

// tally counts what was refused while a command ran. It is an audit.Sink.
type tally struct {
	mu     sync.Mutex
	groups map[refusal]*refused // guarded by mu
}

// refusal is what refusals have in common that are counted together.
type refusal struct {
	rule, at, policy, decision string
	mount                      string // of rules that are built in, as what allows it hangs on that
}

// refused is how often one rule refused, with the first time as an example.
type refused struct {
	refusal
	count   int
	example audit.Event
}

func newTally() *tally { return &tally{groups: map[refusal]*refused{}} }

// Write counts e if it was refused. It returns nil.
func (t *tally) Write(e audit.Event) error {
	if e.Errno == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := refusal{rule: e.Rule, at: e.At, policy: e.Policy, decision: e.Decision}
	if e.At == "" {
		key.mount = string(e.Mount)
	}
	g := t.groups[key]
	if g == nil {
		g = &refused{refusal: key, example: e}
		t.groups[key] = g
	}
	g.count++
	return nil
}

// list returns the groups, those that refused most first, and the sum.
func (t *tally) list() (groups []refused, sum int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		groups = append(groups, *g)
		sum += g.count
	}
	slices.SortFunc(groups, func(a, b refused) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.rule+a.at+a.mount, b.rule+b.at+b.mount)
	})
	return groups, sum
}

// summarize says on stderr how long the command took and what was refused to it.
func (d *daemon) summarize(took time.Duration) {
	groups, sum := d.tally.list()
	what := "nothing was denied"
	if sum > 0 {
		what = fmt.Sprintf("%d denied:", sum)
	}
	d.app.complain("took %v, operations on the view: %d, %s", took.Round(10*time.Millisecond), d.metrics.Decisions(), what)
	for _, g := range groups {
		e := g.example
		line := fmt.Sprintf("  %d × %s, as %s %s", g.count, rulePlace(g), e.Operation, e.Path)
		if e.To != "" {
			line += fmt.Sprintf(" -> %s", e.To)
		}
		if e.Command != "" {
			line += " by " + e.Command
		}
		if e.Message != "" {
			line += ": " + e.Message
		}
		d.app.complain("%s", line)
		d.app.complain("    to allow it: %s", d.cureOf(e))
	}
}

func rulePlace(g refused) string {
	if g.at == "" {
		return g.rule
	}
	return fmt.Sprintf("%s (%s)", g.rule, g.at)
}

// cureOf says what to change for e to be allowed. Some rules hang on more than
// the path, so that an explanation of the path does not find them again.
func (d *daemon) cureOf(e audit.Event) string {
	if op, ok := policy.ParseOp(e.Operation); ok {
		x := explained{Explanation: d.view.Explain(e.Path, op), dir: d.profile.Dir()}
		asks := x.Verdict.Decision == policy.Ask && e.Rule == policy.NoApprover.Name
		if rule := x.Verdict.Rule; asks || rule != nil && rule.Name == e.Rule && !x.Verdict.Decision.Permits() {
			return cure(x)
		}
	}
	return fmt.Sprintf("sandboxfs explain %s %s %s", d.options.profile, e.Operation, e.Path)
}
