package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/metrics"
)

// mountOptions is the command line of mount.
type mountOptions struct {
	profile    string
	mountpoint string

	config     string
	metrics    string // an address, "off", or "" for the default one
	socket     string
	audit      string
	logFormat  string
	background bool
}

func (a *app) mountCommand() *cobra.Command {
	var o mountOptions
	cmd := &cobra.Command{
		Use:   "mount PROFILE MOUNTPOINT",
		Short: "Serve the view of a profile until it is unmounted",
		Long: "mount serves the view of PROFILE at MOUNTPOINT, an empty directory, until SIGINT,\n" +
			"SIGTERM or SIGHUP, and then unmounts. PROFILE is a file, a directory (shown under the built-in\n" +
			"profile workspace), or the name of a profile in the config.\n\n" +
			"It prints \"ready MOUNTPOINT\" once the view answers, and each refusal on stderr,\n" +
			"once for each rule and path. SIGUSR1 opens the audit file anew.",
		Example: "  sandboxfs mount ~/project /mnt/agent\n  sandboxfs mount --background profile.yaml /mnt/agent",
		Args:    wants("PROFILE", "MOUNTPOINT"),
	}
	flags := cmd.Flags()
	configFlag(cmd, &o.config)
	flags.StringVar(&o.metrics, "metrics", metrics.DefaultAddr, `address of /metrics and /healthz, or "off"`)
	flags.StringVar(&o.socket, "socket", "", "serve /metrics and /healthz on this unix socket, too")
	auditFlag(cmd, &o.audit)
	flags.StringVar(&o.logFormat, "log-format", "text", "text or json")
	flags.BoolVar(&o.background, "background", false, "return once the view answers, and go on in the background")
	words(cmd, "log-format", "text", "json")
	cmd.PreRunE = func(*cobra.Command, []string) error { return o.check(flags) }
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		o.profile, o.mountpoint = args[0], args[1]
		if o.background {
			return a.mountInBackground(backgroundArgs(flags, args))
		}
		return a.mount(o)
	}
	return cmd
}

// check refuses flags that make no sense, and tells the default address of
// metrics from the same one asked for.
func (o *mountOptions) check(flags *pflag.FlagSet) error {
	if o.logFormat != "text" && o.logFormat != "json" {
		return usageError{fmt.Errorf("--log-format %q is neither text nor json", o.logFormat)}
	}
	if !flags.Changed("metrics") {
		o.metrics = ""
		return nil
	}
	return checkMetrics(o.metrics)
}

// checkMetrics refuses a value of --metrics that nobody can listen on.
func checkMetrics(addr string) error {
	if addr == "off" {
		return nil
	}
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return usageError{fmt.Errorf("--metrics %q is no address such as %s, and not off", addr, metrics.DefaultAddr)}
	}
	return nil
}

// mount serves a view in the foreground.
func (a *app) mount(o mountOptions) error {
	unix.Umask(0) // modes come from the callers, with their umask applied
	ready, err := a.readiness()
	if err != nil {
		return err
	}
	a.clearDead()
	p, err := o.plan()
	if err != nil {
		return err
	}
	return a.serve(p, ready)
}
