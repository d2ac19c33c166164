package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// resolution is what resolve prints.
type resolution struct {
	Path     vpath.Path `json:"path"`
	Host     string     `json:"host"`
	Mount    vpath.Path `json:"mount"`
	ReadOnly bool       `json:"readonly"`
	Policy   string     `json:"policy"`
}

func (a *app) resolveCommand() *cobra.Command {
	var asJSON bool
	var config string
	cmd := &cobra.Command{
		Use:   "resolve PROFILE PATH",
		Short: "Tell the host path behind a path of the view",
		Long: "resolve prints the host path that PATH leads to in the view of PROFILE, the mount\n" +
			"that governs it, whether that is readonly, and its policy. Whether anything is\n" +
			"there, or may be read, is not asked.",
		Example: "  sandboxfs resolve profile.yaml /cache/npm",
		Args:    wants("PROFILE", "PATH"),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := resolve(args[0], config, args[1])
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(r)
			}
			access := "read-write"
			if r.ReadOnly {
				access = "readonly"
			}
			_, err = fmt.Fprintf(a.out, "%s  mount %s  %s  policy %s\n", oneLine(r.Host), r.Mount, access, r.Policy)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	configFlag(cmd, &config)
	return cmd
}

func resolve(name, config, path string) (*resolution, error) {
	at, err := vpath.Parse(path)
	if err != nil {
		return nil, err
	}
	p, problems := profile.Find(name, config)
	b, err := build(p, problems)
	if err != nil {
		return nil, err
	}
	host, ok := b.view.HostPath(at)
	if !ok {
		return nil, fmt.Errorf("%s: %s", at, policy.Unmounted.Message)
	}
	m := b.view.Resolve(at).Mount
	return &resolution{at, host, m.Target, m.ReadOnly, m.Policy}, nil
}
