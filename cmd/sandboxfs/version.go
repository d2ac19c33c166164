package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X main.version=…); a build without that says so.
var version = "dev"

// release is what version prints.
type release struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	Commit  string `json:"commit"`
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the Go release and the commit",
		Args:  wants(),
		RunE: func(*cobra.Command, []string) error {
			r := thisRelease()
			if asJSON {
				return a.printJSON(r)
			}
			fmt.Fprintf(a.out, "sandboxfs %s (%s, commit %s)\n", r.Version, r.Go, r.Commit)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func thisRelease() release {
	r := release{Version: version, Go: runtime.Version(), Commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return r
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			r.Commit = s.Value
		}
	}
	return r
}
