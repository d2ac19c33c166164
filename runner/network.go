package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
)

// localNetwork is the one network of all containers that may see each other.
const localNetwork = namePrefix + "local"

// bridgePrefix begins the name of every isolated bridge. The firewall's rules
// hold for all of them, so that they stand before a bridge comes up.
const bridgePrefix = "sfx"

// network is the name that the engine knows the network of p by.
func (p *plan) network() string {
	switch p.spec.Network {
	case NetworkIsolated:
		return p.name
	case NetworkLocal:
		return localNetwork
	}
	return "none"
}

// ensureNetwork makes the network of p where it is missing, and the rules that
// an isolated one needs. Until those stand no container is on it.
func (d *Docker) ensureNetwork(ctx context.Context, p *plan) error {
	switch p.spec.Network {
	case NetworkLocal:
		_, err := d.createNetwork(ctx, p, network.CreateOptions{Driver: "bridge"})
		return err
	case NetworkIsolated:
		return d.ensureIsolated(ctx, p)
	}
	return nil
}

// ensureIsolated makes a bridge that leads to the internet alone. The engine
// drops neither what goes to the host's addresses nor to private ones, so rules
// of our own do. Where there can be none, the bridge leads nowhere.
func (d *Docker) ensureIsolated(ctx context.Context, p *plan) error {
	unlock, err := d.firewall.lock()
	if err != nil {
		return err
	}
	defer unlock()
	why := d.firewall.unusable()
	if why == "" {
		bridge, err := d.createNetwork(ctx, p, d.isolated(p, true))
		if err != nil {
			return err
		}
		if d.firewall.there(bridge) {
			if err := d.firewall.install(ctx); err != nil {
				return fmt.Errorf("network %s: %w", p.name, err)
			}
			return nil
		}
		if err := d.engine.NetworkRemove(ctx, p.name); err != nil {
			return fmt.Errorf("network %s: %w", p.name, d.explain(err))
		}
		why = "the engine's bridges are in another network namespace than this process, which cannot filter them"
		d.firewall.disable(why)
	}
	p.notes = append(p.notes, "the isolated network has no internet: "+why)
	_, err = d.createNetwork(ctx, p, d.isolated(p, false))
	return err
}

// isolated is a bridge for one container. Without filter nobody would drop what
// it sends, so it gets no way out and no address of the host.
func (d *Docker) isolated(p *plan, filtered bool) network.CreateOptions {
	o := network.CreateOptions{
		Driver: "bridge",
		Options: map[string]string{
			"com.docker.network.bridge.name":       bridgePrefix + d.settings.hash(p.spec.Session),
			"com.docker.network.bridge.enable_icc": "false",
		},
		Labels: map[string]string{labelFiltered: fmt.Sprint(filtered)},
	}
	if !filtered {
		o.Internal = true
		o.Options["com.docker.network.bridge.inhibit_ipv4"] = "true"
	}
	return o
}

// createNetwork makes the network of p unless there is one like it, and returns the name
// of its bridge.
func (d *Docker) createNetwork(ctx context.Context, p *plan, o network.CreateOptions) (bridge string, err error) {
	bridge = o.Options["com.docker.network.bridge.name"]
	name := p.network()
	found, err := d.engine.NetworkInspect(ctx, name, network.InspectOptions{})
	if err == nil && found.Labels[labelFiltered] != o.Labels[labelFiltered] {
		// It was made where there could be rules and now cannot, or the other way.
		if err = d.removeNetwork(ctx, name); err == nil {
			err = errdefs.ErrNotFound
		}
	}
	if !errdefs.IsNotFound(err) {
		return bridge, d.explain(err)
	}
	labels := map[string]string{labelRunner: "true", labelInstance: d.settings.Instance, labelState: d.settings.StateDir, labelHost: hostname()}
	for k, v := range o.Labels {
		labels[k] = v
	}
	o.Labels = labels
	if _, err = d.engine.NetworkCreate(ctx, name, o); err != nil && !errdefs.IsConflict(err) {
		err = d.explain(err)
		if strings.Contains(err.Error(), "address pool") {
			err = fmt.Errorf("%w; too many networks are there at once, and a smaller size in default-address-pools of the engine's daemon.json makes room", err)
		}
		return "", fmt.Errorf("network %s: %w", name, err)
	}
	return bridge, nil
}

// networkStale says why the network of p cannot stay, "" if it can.
func (d *Docker) networkStale(ctx context.Context, p *plan) string {
	if p.spec.Network != NetworkIsolated {
		return ""
	}
	n, err := d.engine.NetworkInspect(ctx, p.name, network.InspectOptions{})
	if err != nil {
		return "its network is gone"
	}
	if have, want := n.Labels[labelFiltered], fmt.Sprint(d.firewall.unusable() == ""); have != want {
		return fmt.Sprintf("its network has label %s %q, want %q", labelFiltered, have, want)
	}
	return ""
}

// removeNetworks removes the network of the container name, the local one when
// nobody is left on it, and the rules with the last isolated one.
func (d *Docker) removeNetworks(ctx context.Context, name string) error {
	if err := d.removeNetwork(ctx, name); err != nil {
		return err
	}
	if err := d.removeUnused(ctx, localNetwork); err != nil {
		return err
	}
	return d.removeRules(ctx)
}

func (d *Docker) removeNetwork(ctx context.Context, name string) error {
	if err := d.engine.NetworkRemove(ctx, name); err != nil && !absent(err) {
		return fmt.Errorf("remove network %s: %w", name, d.explain(err))
	}
	return nil
}

// removeUnused removes a network that no container of any instance names.
func (d *Docker) removeUnused(ctx context.Context, name string) error {
	on, err := d.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("network", name))})
	if err != nil {
		return d.explain(err)
	}
	if len(on) > 0 {
		return nil
	}
	return d.removeNetwork(ctx, name)
}

// removeRules removes the firewall's rules when no bridge is left that needs
// them. The kernel is asked and not the engine: there may be several engines.
func (d *Docker) removeRules(ctx context.Context) error {
	if d.firewall.unusable() != "" {
		return nil
	}
	unlock, err := d.firewall.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if needed, err := d.firewall.needed(); err != nil || needed {
		return err
	}
	return d.firewall.remove(ctx)
}
