package main

import (
	"fmt"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

func (a *app) execCommand() *cobra.Command {
	var o jobOptions
	cmd := &cobra.Command{
		Use:   "exec MOUNTPOINT -- CMD…",
		Short: "Run a further command in the container of a live view",
		Long: "exec runs CMD in the container that belongs to the view at MOUNTPOINT. The first exec\n" +
			"makes it, and it stays until the view is unmounted; another image or network\n" +
			"replaces it. Without an image or an engine, each command has a sandbox of its own.",
		Example: "  sandboxfs exec --image golang:1.26 /mnt/agent -- go test ./...\n  sandboxfs exec /mnt/agent -- go vet ./...",
		Args:    wantsCommand("MOUNTPOINT"),
	}
	o.define(cmd)
	cmd.SetFlagErrorFunc(misplaced)
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.check() }
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		o.args = args[1:]
		return a.exec(o, args[0])
	}
	return cmd
}

// exec runs a command on the view that is mounted at name.
func (a *app) exec(o jobOptions, name string) error {
	m, err := locateView(name)
	if err != nil {
		return err
	}
	r := recordOf(m.Point)
	if r == nil {
		return fmt.Errorf("%s is not a view of this user", m.Point)
	}
	p, problems := profile.Find(r.Profile, r.Config)
	if err := problems.Err(); err != nil {
		return err
	}
	if err := o.configure(p, r.Config); err != nil {
		return err
	}
	if o.image == "" && o.backend != "local" {
		_, o.image, _ = r.container() // the one that was asked for last is meant still
	}
	signals := catchAll()
	defer signal.Stop(signals)
	j, err := a.job(o, p, m.Point, r)
	if err != nil {
		return err
	}
	defer j.close()
	if j.docker != nil {
		j.docker.shared = true
	} else {
		a.complain("%s", j.where)
	}
	code, err := j.run(signals)
	if err != nil {
		return err
	}
	return status(code)
}

// locateView returns the view that is mounted at name.
func locateView(name string) (mountinfo.Mount, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return mountinfo.Mount{}, err
	}
	at, _, err := mountinfo.Locate(name, table)
	if err != nil {
		return mountinfo.Mount{}, err
	}
	m, ok := table.At(at)
	switch {
	case !ok || !m.Ours():
		return m, fmt.Errorf("%s is not the mountpoint of a view", at)
	case m.Dead():
		return m, fmt.Errorf("the daemon behind %s has died; clear it with: sandboxfs gc", at)
	}
	return m, nil
}

// recordOf returns the record of the live view at point, nil if there is none.
func recordOf(point string) *record {
	for _, r := range records(runtimeDirs()...) {
		if r.Mountpoint == point && !r.dead {
			return r
		}
	}
	return nil
}
