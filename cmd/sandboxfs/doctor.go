package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// The states of a check. Only stateFail means that mount cannot work.
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
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what mount needs on this machine, with a cure for what is missing",
		Long: "doctor looks at everything that mount depends on and says what to do about what\n" +
			"is missing. It exits with 1 when something is missing that mount cannot do without.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.doctor(examine(thisHost()), asJSON) },
	}
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
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.State, f.Check, oneLine(f.Detail))
		if f.Cure != "" {
			fmt.Fprintf(table, "\t\t→ %s\n", oneLine(f.Cure))
		}
	}
	table.Flush()
}
