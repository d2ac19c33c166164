package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/runner"
)

// exitTimeout is the code of a command whose time was over, as of timeout(1).
const exitTimeout = 124

// jobOptions are the flags that run and exec share: what to run, and where.
type jobOptions struct {
	backend string // "docker", "local", or "" for what there is
	image   string
	network string
	timeout time.Duration
	env     []string
	args    []string

	paths  runner.HostPaths // as the environment or the config has them
	docker *profile.Docker  // the profile's, over the config's
	count  func(operation string, err error)
}

// runOptions is the command line of run.
type runOptions struct {
	jobOptions
	profile string
	at      string
	config  string
	audit   string
	metrics string // an address, or "off"
}

func (a *app) runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run PROFILE -- CMD…",
		Short: "Run a command in a sandbox that sees the view of a profile",
		Long: "run mounts the view of PROFILE at a place of its own, runs CMD in a sandbox where\n" +
			"nothing of the host but the view can be written, and unmounts. It exits with CMD's\n" +
			"code, with 128 and the signal that killed it, or with 124 if its time was over.\n\n" +
			"Last on stderr it says what was denied, and how to allow it.",
		Example: "  sandboxfs run ~/project -- sh\n  sandboxfs run --network local profile.yaml -- claude",
		Args:    wantsCommand("PROFILE"),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.at, "at", "", "mount at this empty directory, which CMD sees at the same path")
	auditFlag(cmd, &o.audit)
	flags.StringVar(&o.config, "config", "", "config of the containers, and of PROFILE when that is a name (default: the user's, then /etc/sandboxfs/config.yaml)")
	flags.StringVar(&o.metrics, "metrics", "off", `address of /metrics and /healthz, or "off"`)
	o.jobOptions.define(cmd)
	cmd.SetFlagErrorFunc(misplaced)
	cmd.PreRunE = func(*cobra.Command, []string) error { return cmp.Or(o.check(), checkMetrics(o.metrics)) }
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		o.profile, o.args = args[0], args[1:]
		return a.run(o)
	}
	return cmd
}

func (o *jobOptions) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.backend, "backend", "", "docker or local (default: docker if an image is named and an engine answers, else local)")
	flags.StringArrayVar(&o.env, "env", nil, "set a variable: NAME=value, or NAME for the value that it has here; may be repeated")
	flags.StringVar(&o.image, "image", "", "image of the container (default: that of the profile or the config)")
	flags.StringVar(&o.network, "network", "", "off, isolated (the internet alone; docker only) or local (what the host reaches) (default off, or what the profile lets a container have)")
	flags.DurationVar(&o.timeout, "timeout", 0, "kill CMD and all that it started after this time, such as 90s or 10m")
	words(cmd, "backend", "docker", "local")
	words(cmd, "network", "off", "isolated", "local")
}

// misplaced adds what is most often wrong about a flag that is unknown.
func misplaced(_ *cobra.Command, err error) error {
	if strings.HasPrefix(err.Error(), "unknown ") {
		return fmt.Errorf("%w; CMD and its flags come after --", err)
	}
	return err
}

// check refuses flags that make no sense.
func (o *jobOptions) check() error {
	switch {
	case !slices.Contains([]string{"", "docker", "local"}, o.backend):
		return usageError{fmt.Errorf("--backend %q is neither docker nor local", o.backend)}
	case o.networkName() == "":
		return usageError{fmt.Errorf("--network %q is none of off, isolated, local", o.network)}
	case o.backend == "local" && o.image != "":
		return usageError{errors.New("--image is for containers, and --backend local uses the programs of this host")}
	case o.backend == "local" && o.networkName() == runner.NetworkIsolated:
		return usageError{errors.New("--network isolated is for containers, and --backend local has off and local alone")}
	case o.timeout < 0:
		return usageError{fmt.Errorf("--timeout %v is negative", o.timeout)}
	}
	for _, e := range o.env {
		name, _, given := strings.Cut(e, "=")
		if _, here := os.LookupEnv(name); name == "" || !given && !here {
			return usageError{fmt.Errorf("--env %s: want NAME=value, or the name of a variable that is set", e)}
		}
	}
	return nil
}

// configure takes over what p and the config in file say.
func (o *jobOptions) configure(p *profile.Profile, file string) error {
	c, err := loadConfig(file)
	if err != nil {
		return err
	}
	o.paths, o.docker = hostPaths(c), p.Docker
	if c != nil {
		o.docker = p.Docker.Over(c.Docker)
	}
	return nil
}

func (o *jobOptions) networkName() runner.Network {
	return map[string]runner.Network{
		"": runner.NetworkNone, "off": runner.NetworkNone, "isolated": runner.NetworkIsolated, "local": runner.NetworkLocal,
	}[o.network]
}

// wantsCommand checks that a command line has one argument and, after a double
// dash, a command.
func wantsCommand(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > 0 && args[0] == "":
			return fmt.Errorf("%s: %s is empty", cmd.Name(), name)
		case cmd.ArgsLenAtDash() == 1 && len(args) > 1:
			return nil
		}
		return fmt.Errorf("%s wants %s -- CMD…, with the dashes before the command", cmd.Name(), name)
	}
}

// run mounts, runs and unmounts.
func (a *app) run(o runOptions) error {
	unix.Umask(0) // as in mount
	a.clearDead()
	signals := catchAll() // before there is anything that a signal could leave behind
	d, err := a.prepareRun(o)
	if err != nil {
		return err
	}
	defer d.close()
	if err := o.configure(d.profile, o.config); err != nil {
		return err
	}
	o.count = d.countContainer
	job, err := a.job(o.jobOptions, d.profile, d.mountpoint, d.record)
	if err != nil {
		return err
	}
	defer job.close()
	if os.Geteuid() == 0 || job.docker != nil {
		d.owner = job.owner()
	} else {
		d.owner = nil // this user, who is the one in the sandbox
	}
	a.complain("%s", job.where)
	addr, err := d.start()
	if err != nil {
		return err
	}
	if addr != "" {
		a.complain("metrics http://%s/metrics", addr)
	}
	return d.finish(job, signals)
}

// finish runs job on the view, which is mounted, unmounts it and says what was
// denied. Its error is the status of the command.
func (d *daemon) finish(job *job, signals <-chan os.Signal) error {
	mounted := true
	defer func() {
		if mounted { // only a panic leads here
			d.mount.Unmount(true)
		}
	}()
	began := time.Now()
	code, err := job.run(signals)
	took := time.Since(began)
	drained := d.drain(signals)
	mounted = false
	if groups, _ := d.tally.list(); err == nil || len(groups) > 0 {
		d.summarize(took)
	}
	if err != nil {
		return errors.Join(err, drained)
	}
	if drained != nil { // the code is the command's, whoever else holds on to the view
		d.app.complain("%v", drained)
	}
	return status(code)
}

// countContainer counts an operation on the container of the view.
func (d *daemon) countContainer(operation string, err error) {
	d.metrics.Container(operation, err == nil)
}

// prepareRun reads the profile and checks all that can be checked before
// anything is mounted. What it has made goes with the daemon's close.
func (a *app) prepareRun(o runOptions) (d *daemon, err error) {
	at := o.at
	if at != "" {
		if at, err = filepath.Abs(at); err != nil {
			return nil, err
		}
	}
	r, err := newRecord(record{Mountpoint: at, Profile: o.profile, Config: o.config})
	if err != nil {
		return nil, fmt.Errorf("no place for a mountpoint: %w", err)
	}
	m := mountOptions{profile: o.profile, config: o.config, mountpoint: r.Mountpoint, metrics: o.metrics, audit: o.audit, logFormat: "text"}
	p, err := m.plan()
	if err != nil {
		return nil, errors.Join(err, r.remove())
	}
	d = a.daemon(p)
	d.log = a.warnings()
	d.warn()
	d.tally = newTally()
	d.keep(r)
	return d, nil
}
