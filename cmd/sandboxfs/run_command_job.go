package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/runner"
)

// job is a command that is to run on a view, and what runs it.
type job struct {
	app     *app
	options jobOptions
	point   string // where the view is mounted
	spec    runner.Spec
	places  places
	dir     string // where it starts, in the sandbox
	where   string // says in which kind of sandbox, and why

	// one of them
	local  *runner.Local
	docker *dockerJob
}

// job chooses the backend for a command on the view of p at mountpoint, which
// need not be mounted yet, but has its record.
func (a *app) job(o jobOptions, p *profile.Profile, mountpoint string, r *record) (*job, error) {
	j := &job{app: a, options: o, point: mountpoint}
	j.spec.Binds, j.spec.Dir = binds(p, mountpoint)
	if j.spec.Dir == "" {
		return nil, fmt.Errorf("profile %s shows files alone, and a command needs a directory to start in; add a mount of one", p.Name)
	}
	j.places = placesOf(p, mountpoint, j.spec.Binds)
	j.dir = j.places.dir(j.spec.Dir)
	j.spec.Network, j.spec.Session = o.networkName(), r.ID
	if err := j.spec.Check(); err != nil {
		return nil, err
	}
	if o.backend == "local" {
		return j, j.useLocal(p, "")
	}
	err := j.useDocker(p, r)
	wrong := o.image != "" && !errors.Is(err, runner.ErrEngine) || errors.Is(err, runner.ErrImage) || errors.Is(err, runner.ErrRuntime)
	switch {
	case err == nil:
		return j, nil
	case o.backend == "docker" || o.docker.Wanted() || wrong:
		return nil, err
	}
	return j, j.useLocal(p, fmt.Sprintf(" (%v)", err))
}

// useDocker has the command run in a container, or says why it cannot.
func (j *job) useDocker(p *profile.Profile, r *record) error {
	d, err := newDockerJob(j.app, p, j.options, r)
	if err == nil {
		err = d.usable(j.options.backend == "docker")
	}
	if err != nil {
		d.close()
		return err
	}
	j.docker, j.spec.User = d, d.user
	j.where = "runs in a container of " + d.image
	if j.options.network == "" && allowsLocal(j.options.docker, userName()) {
		j.spec.Network = runner.NetworkLocal
		j.where += ", on the local network as the profile or the config says"
	}
	return nil
}

// useLocal has the command run in a sandbox of this host, and says why.
func (j *job) useLocal(p *profile.Profile, why string) (err error) {
	j.where = "runs in a sandbox of this host's programs" + why
	j.spec.User = runner.LocalUser()
	if owner := p.Owner; owner != nil && os.Geteuid() == 0 {
		j.spec.User = fmt.Sprintf("%d:%d", owner.UID, owner.GID)
	}
	if j.local, err = runner.NewLocal(runner.Limits{}); err == nil && j.options.docker != nil {
		j.local.WeakerNested = j.options.docker.EnableWeakerNestedSandbox.V
	}
	return err
}

func (j *job) close() { j.docker.close() }

// owner is the user that the command runs as, and is therefore to own what the
// owner of a source owns.
func (j *job) owner() *profile.Owner {
	var o profile.Owner
	if _, err := fmt.Sscanf(j.spec.User, "%d:%d", &o.UID, &o.GID); err != nil {
		return nil
	}
	return &o
}

// run runs the command and returns the exit code to end with. Signals that come
// in are handed on; the second one, and the first to a container, ends it.
func (j *job) run(signals <-chan os.Signal) (code int, err error) {
	cmd := runner.Cmd{
		Args: j.options.args, Dir: j.dir, Timeout: j.options.timeout,
		Stdin: j.app.stdin, Stdout: j.app.stdout, Stderr: j.app.stderr,
	}
	late := false
	defer func() { // when the terminal is what it was
		if late {
			j.app.complain("the command was killed, as its time of %v was over", j.options.timeout)
		}
	}()
	screen := j.app.screen()
	cmd.Env = j.env(screen != nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if err := endUnmounted(ctx, j.point, cancel); err != nil {
		return 0, err
	}
	if sig, ok := arrived(signals); ok {
		return 128 + int(sig), nil
	}
	forward := make(chan unix.Signal, 2)
	go relay(ctx, signals, forward, cancel, j.local == nil)
	if screen != nil {
		if err := screen.raw(); err != nil {
			return 0, err
		}
		defer screen.restore()
		size := screen.size()
		cmd.Terminal, cmd.Resize = &size, screen.sizes
	}
	var result runner.Result
	if j.local != nil {
		result, err = j.local.Run(ctx, j.spec, cmd, forward)
	} else {
		result, err = j.docker.run(ctx, j.spec, cmd)
	}
	var killed killedBy
	switch {
	case errors.Is(err, runner.ErrTimeout):
		late = true
		return exitTimeout, nil
	case errors.As(err, &killed):
		return 128 + int(killed), nil
	}
	return result.ExitCode, err
}

// arrived returns a signal that came before there was a command to hand it to.
func arrived(signals <-chan os.Signal) (unix.Signal, bool) {
	for {
		select {
		case s := <-signals:
			if sig, ok := s.(syscall.Signal); ok && sig != unix.SIGUSR1 {
				return sig, true
			}
		default:
			return 0, false
		}
	}
}

// killedBy is why a command was ended: a signal that this process got.
type killedBy unix.Signal

func (k killedBy) Error() string { return "ended by " + unix.Signal(k).String() }

// relay hands the first signal to the command, where that is possible, and lets
// the next one end it, until ctx is done.
func relay(ctx context.Context, signals <-chan os.Signal, forward chan<- unix.Signal, cancel context.CancelCauseFunc, atOnce bool) {
	for {
		select {
		case s := <-signals:
			sig, ok := s.(syscall.Signal)
			if !ok || sig == unix.SIGUSR1 {
				continue
			}
			if atOnce {
				cancel(killedBy(sig))
				return
			}
			forward <- sig
			atOnce = true
		case <-ctx.Done():
			return
		}
	}
}

// catchAll returns the signals that a command is told of.
func catchAll() chan os.Signal {
	signals := catch()
	signal.Notify(signals, unix.SIGQUIT)
	return signals
}

// passedOn are the variables that a command gets from this process: what tells
// it of the terminal and the language, and nothing that could be a secret.
var passedOn = []string{"TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "TZ"}

// env is what a command gets besides what its sandbox sets.
func (j *job) env(terminal bool) []string {
	env := []string{"HOME=/tmp"} // which every sandbox may write to
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok && (terminal || name != "TERM") {
			env = append(env, name+"="+value)
		}
	}
	if path := absoluteOnly(os.Getenv("PATH")); j.local != nil && path != "" {
		env = append(env, "PATH="+path)
	}
	for _, e := range j.options.env {
		if !strings.Contains(e, "=") {
			there, has := j.places.variable(e)
			if !has {
				j.app.complain("%s is left out: the sandbox has no %s", e, os.Getenv(e))
				continue
			}
			e = there
		}
		env = append(env, e)
	}
	return env
}

// absoluteOnly returns a search path without what depends on the directory.
func absoluteOnly(list string) string {
	var dirs []string
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}
