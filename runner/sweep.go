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

// Swept is what Sweep or Collect removed, a "container" or a "network", and why.
type Swept struct{ Kind, Name, Reason string }

// Sweep removes the containers of this instance that no session needs, keep
// being asked for each, those that the settings have outgrown, and networks
// without a container. It goes on after an error and returns all of them.
func (d *Docker) Sweep(ctx context.Context, keep func(session string) bool) ([]Swept, error) {
	list, err := d.ownContainers(ctx)
	if err != nil {
		return nil, err
	}
	want, err := d.wanted(ctx)
	if err != nil {
		return nil, err
	}
	var swept []Swept
	var errs []error
	live := map[string]bool{localNetwork: true}
	for _, c := range list {
		name := nameOf(c)
		reason := want(c.Labels)
		if !keep(c.Labels[labelSession]) {
			reason = "no session needs it"
		}
		if reason == "" {
			live[name] = true
			continue
		}
		if err := d.sweepOne(ctx, c.ID, name); err != nil {
			errs = append(errs, err)
			continue
		}
		d.log.Info("stale container removed", "container", name, "reason", reason)
		swept = append(swept, Swept{"container", name, reason})
	}
	gone, err := d.sweepNetworks(ctx, live)
	return append(swept, gone...), errors.Join(append(errs, err)...)
}

// wanted returns what says why labels are not those of a container that would
// be made today. Without the image no container could be.
func (d *Docker) wanted(ctx context.Context) (func(labels map[string]string) string, error) {
	image, err := d.imageID(ctx)
	if errors.Is(err, ErrImage) {
		return func(map[string]string) string { return "image " + d.settings.image() + " is gone" }, nil
	}
	if err != nil {
		return nil, err
	}
	base := d.settings.settingLabels(image)
	return func(labels map[string]string) string {
		if reason := differs(labels, base); reason != "" {
			return reason
		}
		return differs(labels, d.settings.networkLabels(Network(labels[labelPrefix+"network"])))
	}, nil
}

func (d *Docker) sweepOne(ctx context.Context, id, name string) error {
	defer d.sessions.lock(name)()
	return d.remove(ctx, id, name)
}

func (d *Docker) sweepNetworks(ctx context.Context, live map[string]bool) ([]Swept, error) {
	list, err := d.ownNetworks(ctx)
	if err != nil {
		return nil, err
	}
	var swept []Swept
	var errs []error
	for _, n := range list {
		if live[n.Name] {
			continue
		}
		if err := d.removeNetwork(ctx, n.Name); err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
			continue
		}
		swept = append(swept, Swept{"network", n.Name, "no container is on it"})
	}
	errs = append(errs, d.removeUnused(ctx, localNetwork), d.removeRules(ctx))
	return swept, errors.Join(errs...)
}

// ownContainers lists the containers of this instance, also those that do not
// run.
func (d *Docker) ownContainers(ctx context.Context) ([]container.Summary, error) {
	list, err := d.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: d.own()})
	return list, d.explain(err)
}

// ownNetworks lists the networks that this instance has made.
func (d *Docker) ownNetworks(ctx context.Context) ([]network.Summary, error) {
	list, err := d.engine.NetworkList(ctx, network.ListOptions{Filters: d.own()})
	return list, d.explain(err)
}

// own finds what this instance has made.
func (d *Docker) own() filters.Args {
	return filters.NewArgs(
		filters.Arg("label", labelRunner+"=true"), filters.Arg("label", labelInstance+"="+d.settings.Instance))
}

// nameOf is the name of a container, or its id where it has none.
func nameOf(c container.Summary) string {
	if len(c.Names) == 0 {
		return c.ID
	}
	return strings.TrimPrefix(c.Names[0], "/")
}
