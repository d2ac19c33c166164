package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
)

// Collect removes the containers of this instance whose session does not live,
// and networks without a container; a dry run only tells them. Unlike Sweep it
// leaves containers of other settings alone, and needs no image. It goes on
// after an error and returns all of them.
func (d *Docker) Collect(ctx context.Context, lives func(session string) bool, dryRun bool) ([]Swept, error) {
	mine := filters.NewArgs(
		filters.Arg("label", labelRunner+"=true"), filters.Arg("label", labelInstance+"="+d.settings.Instance))
	list, err := d.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: mine})
	if err != nil {
		return nil, d.explain(err)
	}
	on, err := d.engine.NetworkList(ctx, network.ListOptions{Filters: mine})
	if err != nil {
		return nil, d.explain(err)
	}
	var gone []Swept
	var errs []error
	live := map[string]bool{}
	for _, c := range list {
		name := c.ID
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		if lives(c.Labels[labelSession]) {
			live[name], live[c.HostConfig.NetworkMode] = true, true
			continue
		}
		gone = append(gone, Swept{"container " + name, "its view is gone"})
		if !dryRun {
			errs = append(errs, d.sweepOne(ctx, c.ID, name))
		}
	}
	for _, n := range on {
		if live[n.Name] {
			continue
		}
		gone = append(gone, Swept{"network " + n.Name, "no container is on it"})
		if !dryRun {
			errs = append(errs, d.collectNetwork(ctx, n.Name))
		}
	}
	if !dryRun {
		errs = append(errs, d.removeRules(ctx))
	}
	return gone, errors.Join(errs...)
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
