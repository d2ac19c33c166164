package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// Container is a running container of a session.
type Container struct {
	ID    string
	Name  string
	Notes []string // what is weaker here than was asked for, and what to do about it

	user string
}

// attempts bounds how often Ensure tries again after others have made or
// removed the same container meanwhile: a busy engine has its name taken for
// seconds before it knows it. They wait longer each time, firstWait at first.
const (
	attempts  = 8
	firstWait = 25 * time.Millisecond
)

// errRace is that somebody else was faster.
var errRace = errors.New("somebody else changes the same container")

// Ensure returns the container of a session, running. It makes the one that is
// missing and adopts the one that is there; one that is not what spec and the
// settings ask for is stale: it is stopped, removed and made anew, and reason
// says why. What Ensure began and did not finish it removes.
func (d *Docker) Ensure(ctx context.Context, spec Spec) (c Container, reason string, err error) {
	defer func() { d.count("ensure", err) }()
	defer d.sessions.lock(d.settings.name(spec.Session))()
	for n := range attempts {
		if n > 0 {
			select {
			case <-time.After(firstWait << n):
			case <-ctx.Done():
				return c, reason, ctx.Err()
			}
		}
		var why string
		c, why, err = d.ensure(ctx, spec)
		if why != "" {
			reason = why
		}
		if !errors.Is(err, errRace) {
			break
		}
	}
	return c, reason, err
}

func (d *Docker) ensure(ctx context.Context, spec Spec) (c Container, reason string, err error) {
	p, err := d.plan(ctx, spec)
	if err != nil {
		return c, "", err
	}
	found, err := d.engine.ContainerInspect(ctx, p.name)
	switch {
	case errdefs.IsNotFound(err):
		c, err = d.make(ctx, p)
		return c, "", err
	case err != nil:
		return c, "", d.explain(err)
	}
	if reason = d.stale(ctx, found, p); reason == "" {
		c, err = d.adopt(ctx, found, p)
		return c, "", err
	}
	d.log.Info("container is stale and made anew", "container", p.name, "reason", reason)
	if err := d.remove(ctx, found.ID, p.name); err != nil {
		return c, reason, err
	}
	if p, err = d.plan(ctx, spec); err != nil { // its resolv.conf went with the old one
		return c, reason, err
	}
	c, err = d.make(ctx, p)
	return c, reason, err
}

// stale says what keeps a container from being the one of p, "" for nothing.
func (d *Docker) stale(ctx context.Context, found container.InspectResponse, p *plan) string {
	if found.Config == nil || found.HostConfig == nil || found.State == nil {
		return "the engine does not say what it is"
	}
	if reason := differs(found.Config.Labels, p.config.Labels); reason != "" {
		return reason
	}
	if found.State.Dead || found.State.Paused {
		return "it is " + string(found.State.Status)
	}
	if mode := string(found.HostConfig.NetworkMode); mode != p.network() {
		return fmt.Sprintf("it is on network %s, want %s", mode, p.network())
	}
	if reason := drift(found.Mounts, p.binds); reason != "" {
		return reason
	}
	return d.networkStale(ctx, p)
}

// adopt starts the container if it does not run.
func (d *Docker) adopt(ctx context.Context, found container.InspectResponse, p *plan) (Container, error) {
	if err := d.ensureNetwork(ctx, p); err != nil {
		return Container{}, err
	}
	if !found.State.Running {
		if err := d.engine.ContainerStart(ctx, found.ID, container.StartOptions{}); err != nil {
			if errdefs.IsNotFound(err) {
				return Container{}, errRace
			}
			return Container{}, fmt.Errorf("start container %s: %w", p.name, d.explainStart(err))
		}
	}
	return p.container(found.ID), nil
}

// make creates the container of p and starts it.
func (d *Docker) make(ctx context.Context, p *plan) (c Container, err error) {
	host, err := d.hostConfig(ctx, p)
	if err != nil {
		return c, err
	}
	defer func() {
		if err != nil && !errdefs.IsConflict(err) {
			d.undo(p.name)
		}
	}()
	if err := d.ensureNetwork(ctx, p); err != nil {
		return c, err
	}
	created, err := d.engine.ContainerCreate(ctx, p.config, host, nil, nil, p.name)
	if err == nil {
		err = d.engine.ContainerStart(ctx, created.ID, container.StartOptions{})
	}
	switch {
	case errdefs.IsConflict(err), errdefs.IsNotFound(err):
		return c, fmt.Errorf("%w: %w", errRace, err)
	case err != nil:
		return c, fmt.Errorf("container %s: %w", p.name, d.explainStart(err))
	}
	return p.container(created.ID), nil
}

// undo removes what a failed make has left, also when its context is done.
func (d *Docker) undo(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
	defer cancel()
	if err := d.remove(ctx, name, name); err != nil {
		d.log.Error("container is left behind", "container", name, "err", err)
	}
}

func (p *plan) container(id string) Container {
	return Container{ID: id, Name: p.name, Notes: p.notes, user: p.spec.User}
}
