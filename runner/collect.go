package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// Collect removes the containers of this instance whose session does not live
// and whose view nobody serves, and networks without a container; a dry run
// only tells them. It asks lives after it has listed them, with the state
// directory of whoever made the container, which may be another one than that
// of the settings. What was made on another host is left alone, unless the engine
// is this one's and shows that its view is dead. Unlike Sweep it leaves containers
// of other settings alone, and needs no image. It goes on after an error and
// returns all of them.
func (d *Docker) Collect(ctx context.Context, lives func(session, stateDir string) bool, dryRun bool) ([]Swept, error) {
	list, err := d.ownContainers(ctx)
	if err != nil {
		return nil, err
	}
	on, err := d.ownNetworks(ctx)
	if err != nil {
		return nil, err
	}
	var gone []Swept
	var errs []error
	remove := func(s Swept, do func() error) {
		if !dryRun {
			if err := do(); err != nil {
				errs = append(errs, err)
				return
			}
		}
		gone = append(gone, s)
	}
	live := map[string]bool{}
	for _, c := range list {
		name := nameOf(c)
		if proves(c) || lives(c.Labels[labelSession], c.Labels[labelState]) || d.served(ctx, c.ID, d.foreign(c.Labels)) {
			live[name], live[c.HostConfig.NetworkMode] = true, true
			continue
		}
		remove(Swept{"container", name, "its view is gone"}, func() error { return d.sweepOne(ctx, c.ID, name) })
	}
	for _, n := range on {
		if !live[n.Name] && !d.foreign(n.Labels) {
			remove(Swept{"network", n.Name, "no container is on it"}, func() error { return d.collectNetwork(ctx, n.Name) })
		}
	}
	if !dryRun {
		errs = append(errs, d.removeRules(ctx))
	}
	return gone, errors.Join(errs...)
}

// foreign reports whether what has those labels was made where the records are
// others than those that lives looks into, on an engine that is elsewhere.
func (d *Docker) foreign(labels map[string]string) bool {
	return d.elsewhere && labels[labelHost] != hostname()
}

// served reports whether somebody answers for a view that the container sees, or
// otherwise where that cannot be seen. A daemon in a container of its own has its
// records where lives may not look.
func (d *Docker) served(ctx context.Context, id string, otherwise bool) bool {
	c, err := d.engine.ContainerInspect(ctx, id)
	if err != nil || c.State == nil || c.State.Pid == 0 {
		return otherwise
	}
	proc := fmt.Sprintf("/proc/%d/", c.State.Pid)
	text, err := os.Open(proc + "mountinfo")
	if err != nil {
		return otherwise
	}
	defer text.Close()
	table, err := mountinfo.Parse(text)
	if err != nil || ownContainer(table) != c.ID {
		return otherwise // a process of this number, but not the engine's
	}
	for _, m := range table {
		if m.Ours() && !mountinfo.Dead(proc+"root"+m.Point) {
			return true
		}
	}
	return false
}

// proves reports whether c is there to prove a host path, which takes seconds.
func proves(c container.Summary) bool {
	return c.Labels[labelSession] == "" && time.Since(time.Unix(c.Created, 0)) < time.Minute
}

// collectNetwork removes a network, but the one of all instances only when
// nobody at all is on it.
func (d *Docker) collectNetwork(ctx context.Context, name string) error {
	if name == localNetwork {
		return d.removeUnused(ctx, name)
	}
	if err := d.removeNetwork(ctx, name); err != nil {
		return fmt.Errorf("collect: %w", err)
	}
	return nil
}
