package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// The states of a check. Only stateFail means that mount, or what was configured,
// cannot work.
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "fail"
)

// finding is what doctor found out about one thing that mount depends on.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Cure   string `json:"cure,omitempty"`
}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	var config string
	cmd := &cobra.Command{
		Use:   "doctor [PROFILE]",
		Short: "Check what mount and run need on this machine, with a cure for what is missing",
		Long: "doctor looks at everything that mount, run and exec depend on and says what to do\n" +
			"about what is missing. It exits with 1 when something is missing that mount cannot do\n" +
			"without, or when what SANDBOX_ROOT says is wrong. With PROFILE it asks the engine and\n" +
			"for the image that this names.",
		Args: wants("[PROFILE]"),
		RunE: func(_ *cobra.Command, args []string) error {
			p := new(profile.Profile)
			if len(args) > 0 {
				var problems strictyaml.Problems
				if p, problems = profile.Find(args[0], config); len(problems) > 0 {
					return problems.Err()
				}
			}
			return a.doctor(examine(a.thisHost(p, config)), asJSON)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "config that holds sandbox_root, docker, and PROFILE when that is a name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) doctor(findings []finding, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(map[string][]finding{"checks": findings}); err != nil {
			return err
		}
	} else {
		a.printFindings(findings)
	}
	for _, f := range findings {
		if f.State == stateFail {
			return status(exitFailed)
		}
	}
	return nil
}

func (a *app) printFindings(findings []finding) {
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.State, f.Check, oneLine(f.Detail))
		if f.Cure != "" {
			fmt.Fprintf(table, "\t\t→ %s\n", oneLine(f.Cure))
		}
	}
	table.Flush()
}
