package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/selftest"
)

func (a *app) selftestCommand() *cobra.Command {
	var agent, asJSON bool
	var config string
	cmd := &cobra.Command{
		Use:   "selftest [PROFILE]",
		Short: "Try the known ways round a rule on a temporary view",
		Long: "selftest mounts the policies of PROFILE (default: rules of every kind) over\n" +
			"directories of its own, with a file wherever a rule speaks of one, and tries the known\n" +
			"ways round each rule from another process. What PROFILE shows is not touched. It exits\n" +
			"with 1 if one of them got through.",
		Args: wants("[PROFILE]"),
		RunE: func(_ *cobra.Command, args []string) error {
			if agent {
				return selftest.Agent(a.stdin, a.stdout)
			}
			return a.selftest(append(args, "")[0], config, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	configFlag(cmd, &config)
	cmd.Flags().BoolVar(&agent, "agent", false, "")
	cmd.Flags().MarkHidden("agent")
	return cmd
}

// selftest mounts, tries, unmounts and prints.
func (a *app) selftest(name, config string, asJSON bool) (err error) {
	unix.Umask(0) // as in mount
	signals := catch()
	r, err := newRecord(record{Profile: name, Config: config})
	if err != nil {
		return fmt.Errorf("no place for a mountpoint: %w", err)
	}
	d := a.daemon(&plan{options: mountOptions{metrics: "off", logFormat: "text"}, mountpoint: r.Mountpoint})
	d.log = a.warnings()
	d.tally = newTally() // refusals are what is wanted here: none is printed
	d.keep(r)
	defer d.close()
	if err := os.Mkdir(r.ground(), 0o700); err != nil {
		return err
	}
	if name == "" {
		if name, err = selftest.Builtin(r.ground()); err != nil {
			return err
		}
	}
	p, problems := profile.Find(name, config)
	if d.built, err = build(p, problems); err != nil {
		return err
	}
	d.profile, d.owner = p, p.Owner
	ground, err := selftest.Prepare(d.view, r.ground())
	if err != nil {
		return fmt.Errorf("no place for a self-test: %w", err)
	}
	defer ground.Close()
	d.view = ground.View
	rows, err := d.try(ground, signals)
	if err != nil {
		return err
	}
	return a.printSelftest(p, rows, ground.Skipped, asJSON)
}

// try serves the ground until every attempt on it is made.
func (d *daemon) try(ground *selftest.Ground, signals <-chan os.Signal) (rows []selftest.Row, err error) {
	if _, err := d.open(); err != nil {
		return nil, err
	}
	agent := exec.Command("/proc/self/exe", "selftest", "--agent")
	agent.Stderr = d.app.stderr
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	in, inErr := agent.StdinPipe()
	out, outErr := agent.StdoutPipe()
	if err := errors.Join(inErr, outErr, agent.Start()); err != nil {
		return nil, errors.Join(err, d.drain(signals))
	}
	stopped := make(chan struct{})
	go func() {
		select {
		case <-signals:
			agent.Process.Kill()
		case <-stopped:
		}
	}()
	rows, err = ground.Run(d.mountpoint, out, in, d.server.Swap)
	close(stopped)
	in.Close()
	io.Copy(io.Discard, out)
	err = errors.Join(err, agent.Wait())
	return rows, errors.Join(err, d.drain(signals))
}

// printSelftest prints the table, and ends with a failure if something got
// through.
func (a *app) printSelftest(p *profile.Profile, rows []selftest.Row, skipped int, asJSON bool) error {
	tried, through := 0, 0
	for _, r := range rows {
		tried += r.Tried
		through += len(r.Through)
	}
	if asJSON {
		if err := a.printJSON(map[string]any{"profile": p.Name, "tried": tried, "through": through, "skipped": skipped, "rows": rows}); err != nil {
			return err
		}
	} else {
		printRows(a.out, rows)
		fmt.Fprintf(a.out, "\n%d attempts on the rules of %s, %d got through\n", tried, oneLine(p.Name), through)
		if skipped > 0 {
			fmt.Fprintf(a.out, "%d paths that the rules speak of cannot be tried: they are directories here, or a class that no sample is made of\n", skipped)
		}
	}
	if through > 0 {
		return status(exitFailed)
	}
	return nil
}

func printRows(w io.Writer, rows []selftest.Row) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		switch {
		case r.Tried == 0:
			fmt.Fprintf(table, "%s\t%s\t-\tnot tried: %s\n", r.ID, r.Attempt, r.Without)
		case len(r.Through) == 0:
			fmt.Fprintf(table, "%s\t%s\t%d\theld\n", r.ID, r.Attempt, r.Tried)
		default:
			fmt.Fprintf(table, "%s\t%s\t%d\tGOT THROUGH %d times\n", r.ID, r.Attempt, r.Tried, len(r.Through))
			for _, line := range r.Through {
				fmt.Fprintf(table, "\t\t\t%s\n", oneLine(line))
			}
		}
	}
	table.Flush()
}
