package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

func (a *app) explainCommand() *cobra.Command {
	var asJSON bool
	var config string
	cmd := &cobra.Command{
		Use:   "explain PROFILE OP PATH",
		Short: "Tell the verdict on one operation, and the way to it",
		Long: "explain prints what the view of PROFILE says to the operation OP on PATH, and every\n" +
			"rule that was tried on the way. Nothing is mounted and no daemon is asked. It exits\n" +
			"with 0 if the operation is allowed, and with 3 if not.\n\n" +
			"Operations: " + strings.ReplaceAll(policy.AllOps.String(), ",", ", ") + ".",
		Example: "  sandboxfs explain profile.yaml write /src/.env",
		Args:    wants("PROFILE", "OP", "PATH"),

		ValidArgsFunction: completeOperation,
		RunE: func(_ *cobra.Command, args []string) error {
			e, err := explain(args[0], config, args[1], args[2])
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(explanationJSON(e))
			} else {
				printExplanation(a.out, e)
			}
			if err == nil && !e.Verdict.Decision.Permits() {
				return status(exitDenied)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	configFlag(cmd, &config)
	return cmd
}

// explained is an explanation that names files from the profile's directory,
// and says what the path is called elsewhere.
type explained struct {
	overlay.Explanation
	dir     string
	host    string // "" where there is none
	sandbox string // as a command of run sees it; "" where it does not
}

// content returns the rule that goes by what is written to the path, if it is in
// a directory of git; nil where none does, or nothing is written at all.
func (e explained) content() *policy.Rule {
	m, rule := e.Place.Mount, policy.GitContent
	if m == nil || !m.Guarded(gitguard.Pack) || !e.Verdict.Decision.Permits() || !rule.Ops.Has(e.Op) || !gitguard.NameOf(e.Place.Path.Base()).Guarded() {
		return nil
	}
	return rule
}

func explain(name, config, op, path string) (explained, error) {
	operation, ok := policy.ParseOp(op)
	if !ok {
		return explained{}, usageError{unknownOp(op)}
	}
	at, err := vpath.Parse(path)
	if err != nil {
		return explained{}, err
	}
	p, problems := profile.Find(name, config)
	b, err := build(p, problems)
	if err != nil {
		return explained{}, err
	}
	host, _ := b.view.HostPath(at)
	e := b.view.Explain(at, operation)
	if rule := beyond(p, b.view, at, operation); rule != nil && e.Verdict.Decision.Permits() {
		e = refusedBy(rule, e)
	}
	return explained{e, p.Dir(), host, inSandbox(p, at)}, nil
}

// beyond returns the rule by which the server refuses what every policy allows,
// nil if there is none that the path alone tells.
func beyond(p *profile.Profile, view *overlay.View, path vpath.Path, op policy.Op) *policy.Rule {
	switch {
	case policy.DeleteOps.Has(op) && view.Pinned(path):
		return policy.Mountpoint
	case policy.SymlinkEscape.Ops.Has(op) && p.Symlinks == profile.SymlinksReject:
		return policy.SymlinkEscape
	}
	return nil
}

// refusedBy returns e with the verdict of a rule that stands in no policy.
func refusedBy(rule *policy.Rule, e overlay.Explanation) overlay.Explanation {
	e.Verdict = policy.Verdict{Decision: rule.Decision, Rule: rule}
	for i := range e.Names {
		e.Names[i].Decides = false
		for j := range e.Names[i].Layers {
			e.Names[i].Layers[j].Decides = false
		}
	}
	return e
}

func unknownOp(op string) error {
	known := strings.Split(policy.AllOps.String(), ",")
	if near, ok := strictyaml.Nearest(op, known); ok {
		return fmt.Errorf("there is no operation %q (did you mean %s?)", op, near)
	}
	return fmt.Errorf("there is no operation %q; they are %s", op, strings.Join(known, ", "))
}

// printExplanation writes the verdict in one line, then all that was tried.
func printExplanation(w io.Writer, e explained) {
	rule := e.Verdict.Rule
	fmt.Fprintf(w, "%s  %s %s  rule %s\n", e.Verdict.Decision, e.Op, oneLine(string(e.Place.Path)), e.ruleName(rule))
	if rule.Message != "" {
		fmt.Fprintf(w, "  %s\n", oneLine(rule.Message))
	}
	if e.host != "" && e.sandbox != "" {
		fmt.Fprintf(w, "  on the host %s, in a sandbox %s\n", oneLine(e.host), oneLine(e.sandbox))
	}
	if rule := e.content(); rule != nil {
		fmt.Fprintf(w, "  in a directory of git, its content is checked too: %s\n", rule.Name)
	}
	if e.Place.Mount == nil {
		fmt.Fprintf(w, "\nno mount governs %s\n", oneLine(string(e.Place.Path)))
	}
	for _, n := range e.Names {
		printName(w, e, n)
	}
	if !e.Verdict.Decision.Permits() {
		fmt.Fprintf(w, "\nto allow it: %s\n", cure(e))
	}
}

// printName writes what one mount says of one name of the path.
func printName(w io.Writer, e explained, n overlay.Name) {
	fmt.Fprintf(w, "\n%s on mount %s (%s)\n", oneLine(string(n.Path)), n.Mount.Target, oneLine(n.Mount.Source))
	if n.Path != e.Place.Path {
		fmt.Fprintf(w, "  another name of the same file\n")
	}
	if n.ReadOnly {
		fmt.Fprintf(w, "%s readonly mount: changes are refused\n", arrow(n.Verdict.Rule == policy.ReadonlyMount && n.Decides))
	}
	for _, l := range n.Layers {
		fmt.Fprintf(w, "  %s policy %s: %s\n", l.Kind, l.Policy.Name, l.Verdict.Decision)
		for _, s := range l.Steps {
			if s.Traverse && s.Decided == 0 {
				continue // what a rule lets pass besides is worth a line only where it does
			}
			fmt.Fprintf(w, "%s     %-5s  %s  %s\n", arrow(l.Decides && s.Decides), stepDecision(s), e.ruleName(s.Rule), oneLine(s.Outcome()))
		}
	}
}

// arrow marks the line that the verdict comes from.
func arrow(decides bool) string {
	if decides {
		return "→"
	}
	return " "
}

func stepDecision(s policy.Step) policy.Decision {
	if s.Traverse {
		return policy.Traverse.Decision
	}
	return s.Rule.Decision
}

// ruleName names a rule and the place where it stands.
func (e explained) ruleName(r *policy.Rule) string {
	if r.Pos.File == "" {
		return oneLine(r.Name)
	}
	return oneLine(fmt.Sprintf("%s (%s)", r.Name, r.Pos.Short(e.dir)))
}
