package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/runner"
)

// examineWithin bounds each check of what another process answers for.
const examineWithin = 10 * time.Second

// engine is what doctor asks of a container engine.
type engine interface {
	About(context.Context) (runner.About, error)
	HasImage(context.Context) error
	FindHostPaths(context.Context) (runner.HostPaths, error)
	Unfiltered() string
	Close() error
}

// bounded returns what examine finds, or that it did not come to an end.
func (h host) bounded(check string, examine func(context.Context) finding) finding {
	ctx, cancel := context.WithTimeout(context.Background(), h.patience)
	defer cancel()
	found := make(chan finding, 1)
	go func() { found <- examine(ctx) }()
	select {
	case f := <-found:
		return f
	case <-ctx.Done():
		return finding{check, stateWarn, fmt.Sprintf("no answer within %v", h.patience),
			"look for views that hang: cat /sys/fs/fuse/connections/*/waiting, and sandboxfs umount them"}
	}
}

// reproach puts an error of the form "what is wrong; what to do" into f.
func (f finding) reproach(state string, err error) finding {
	f.State = state
	f.Detail, f.Cure, _ = strings.Cut(err.Error(), "; ")
	return f
}

// commands examines what run and exec need. Without it mount works all the same.
func (h host) commands() []finding {
	findings := []finding{
		h.bounded("bubblewrap", h.bubblewrap),
		h.bounded("local sandbox", h.localSandbox),
	}
	docker, err := h.engine()
	if err != nil {
		f := finding{Check: "container engine"}.reproach(stateFail, err)
		if f.Cure == "" {
			f.Cure = "correct SANDBOX_ROOT, SANDBOX_HOST_PATH, DOCKER_HOST, the profile or the config"
		}
		return append(findings, f)
	}
	defer docker.Close()
	e := examinedEngine{h, docker}
	f := h.bounded("container engine", e.answers)
	findings = append(findings, f)
	if f.State == stateOK {
		findings = append(findings,
			h.bounded("image", e.image), h.bounded("isolated network", e.isolated), h.bounded("host paths", e.hostPaths))
	}
	return append(findings, h.bounded("owner", h.owners), h.propagation())
}

// oldestBubblewrap is the version from which on the options are there that
// sandboxes are made with.
const oldestBubblewrap = "0.7"

func (h host) bubblewrap(ctx context.Context) finding {
	f := finding{Check: "bubblewrap", State: stateOK}
	file, err := h.findFile("bwrap")
	if err != nil {
		f.State, f.Detail, f.Cure = stateWarn, "not found, so that commands run in containers alone", "apt install bubblewrap"
		return f
	}
	out, err := exec.CommandContext(ctx, file, "--version").Output()
	f.Detail = strings.TrimSpace(string(out))
	if _, number, _ := strings.Cut(f.Detail, " "); err != nil || !atLeast(number, oldestBubblewrap) {
		f.State = stateWarn
		f.Detail = fmt.Sprintf("%s is %q, and sandboxes need %s", file, f.Detail, oldestBubblewrap)
		f.Cure = "install bubblewrap " + oldestBubblewrap + " or newer"
	}
	return f
}

// localSandbox makes one.
func (h host) localSandbox(ctx context.Context) finding {
	f := finding{Check: "local sandbox", State: stateOK, Detail: "can be made"}
	err := h.sandbox(ctx)
	if err == nil {
		return f
	}
	f = f.reproach(stateWarn, err)
	for _, forbidden := range []struct{ file, value, name string }{
		{"/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"},
		{"/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"},
		{"/kernel/apparmor_restrict_unprivileged_userns", "1", "kernel.apparmor_restrict_unprivileged_userns=0"},
	} {
		if h.uid != 0 && h.parameter(forbidden.file) == forbidden.value {
			f.Detail = "the kernel lets ordinary users make no user namespaces"
			f.Cure = "sysctl " + forbidden.name
			return f
		}
	}
	if f.Cure == "" {
		f.Cure = "in a container: docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
	}
	return f
}

// makeSandbox runs a command in a local sandbox that shows nothing.
func makeSandbox(ctx context.Context) error {
	local, err := runner.NewLocal(runner.Limits{})
	if err != nil {
		return err
	}
	var said strings.Builder
	r, err := local.Run(ctx, runner.Spec{Session: "doctor"}, runner.Cmd{Args: []string{"true"}, Stderr: &said}, nil)
	switch {
	case err != nil && said.Len() > 0:
		return fmt.Errorf("%s: %w", oneLine(strings.TrimSpace(said.String())), err)
	case err == nil && r.ExitCode != 0:
		return fmt.Errorf("true ends with code %d in it", r.ExitCode)
	}
	return err
}

// examinedEngine is an engine that doctor looks at.
type examinedEngine struct {
	host
	engine
}

// oldestAPI is that of Docker 20.10.
const oldestAPI = "1.41"

func (e examinedEngine) answers(ctx context.Context) finding {
	f := finding{Check: "container engine", State: stateOK}
	about, err := e.About(ctx)
	if err != nil {
		return f.reproach(stateWarn, err)
	}
	f.Detail = fmt.Sprintf("version %s, API %s", about.Version, about.API)
	if !atLeast(about.API, oldestAPI) {
		f.State = stateWarn
		f.Detail += ", and containers of views need API " + oldestAPI
		f.Cure = "Docker 20.10 or newer"
	}
	return f
}

func (e examinedEngine) image(ctx context.Context) finding {
	f := finding{Check: "image", State: stateOK, Detail: "is there"}
	if err := e.HasImage(ctx); err != nil {
		return f.reproach(stateWarn, err)
	}
	return f
}

func (e examinedEngine) isolated(context.Context) finding {
	f := finding{Check: "isolated network", State: stateOK, Detail: "reaches the internet and nothing else"}
	if why := e.Unfiltered(); why != "" {
		f = f.reproach(stateWarn, errors.New(why))
		f.Detail = "reaches nothing, because " + f.Detail
		if f.Cure == "" {
			f.Cure = "run sandboxfs as root on the engine's host, or use --network local"
		}
	}
	return f
}
