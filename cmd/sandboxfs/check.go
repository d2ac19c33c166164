package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

func (a *app) checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE…",
		Short: "Find everything that is wrong with profiles, policies and configs",
		Long: "check tells profiles, policies and configs apart by their keys, and prints every\n" +
			"problem on stdout as file:line:col: message. Notes and warnings are marked as such\n" +
			"and are no problems. It exits with 1 when there is a problem.",
		Args: wants("FILE…"),
		RunE: func(_ *cobra.Command, args []string) error { return a.check(args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) check(files []string, asJSON bool) error {
	var reports []profile.Report
	failed := false
	for _, file := range files {
		r := profile.Check(file)
		reports = append(reports, r)
		failed = failed || len(r.Problems) > 0
	}
	if asJSON {
		if err := a.printJSON(reportsJSON(reports)); err != nil {
			return err
		}
	} else {
		for _, r := range reports {
			a.printReport(r)
		}
	}
	if failed {
		return status(exitFailed)
	}
	return nil
}

func (a *app) printReport(r profile.Report) {
	for _, p := range r.Problems {
		fmt.Fprintln(a.out, oneLine(p.Error()))
	}
	for _, remark := range r.Remarks {
		fmt.Fprintln(a.out, oneLine(remarkLine(remark)))
	}
	if len(r.Problems) == 0 {
		fmt.Fprintf(a.out, "%s: %s is valid\n", oneLine(r.File), r.Kind)
	}
}

func remarkLine(r profile.Remark) string {
	return fmt.Sprintf("%s: %s: %s", r.Pos, severity(r), r.Message)
}

func severity(r profile.Remark) string {
	if r.Warning {
		return "warning"
	}
	return "note"
}

// checkedFile is one file in the JSON that check prints.
type checkedFile struct {
	File  string       `json:"file"`
	Kind  profile.Kind `json:"kind"`
	Found []diagnostic `json:"diagnostics"`
}

// diagnostic is one problem, warning or note.
type diagnostic struct {
	Severity string `json:"severity"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Col      int    `json:"col"`
	Message  string `json:"message"`
}

func reportsJSON(reports []profile.Report) any {
	files := []checkedFile{}
	for _, r := range reports {
		f := checkedFile{File: r.File, Kind: r.Kind, Found: []diagnostic{}}
		for _, p := range r.Problems {
			f.Found = append(f.Found, placed("error", p))
		}
		for _, remark := range r.Remarks {
			f.Found = append(f.Found, placed(severity(remark), remark.Problem))
		}
		files = append(files, f)
	}
	return map[string][]checkedFile{"files": files}
}

func placed(severity string, p strictyaml.Problem) diagnostic {
	return diagnostic{severity, p.Pos.File, p.Pos.Line, p.Pos.Col, p.Message}
}
