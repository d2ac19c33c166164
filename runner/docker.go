// Package runner runs commands that see a view and nothing that stands behind
// it: in containers (Docker) and in sandboxes of this host (Local). What both
// are given is a Spec, what is bound and what can be reached, and a Cmd.
//
// Docker has one long-lived container for each session; it is made, adopted or
// replaced by Ensure, used by Exec, and removed by Remove. What a dead session
// has left is removed by Collect, or by Sweep. Local has nothing that stays: a
// sandbox is made for each command and ends with it.
package runner

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// ImageVersion is what a runner expects of its image. It is raised by hand when
// the program and images made for it no longer fit; containers made before
// that are then replaced.
const ImageVersion = "1"

// Docker runs containers on an engine that speaks the API of Docker: Docker
// from 20.10 on, and Podman. It is safe for use by several goroutines, but for
// FindHostPaths, which comes before all else.
type Docker struct {
	engine   engine
	log      *slog.Logger
	firewall *firewall
	mounts   func() (mountinfo.Table, error)
	proc     string // where processes of containers are seen, if at all

	// constant after New, but for what FindHostPaths completes
	settings  Settings
	address   string // of the engine
	elsewhere bool   // the engine may have other files than this process
	proven    bool   // FindHostPaths has succeeded

	sessions keyed // one caller at a time per container
	once     sync.Once
	podman   bool // guarded by once
}

// New returns a runner of the engine that settings, DOCKER_HOST or the default
// socket name, in that order. It does not talk to the engine; Ping does.
func New(settings Settings, log *slog.Logger) (*Docker, error) {
	settings = settings.withDefaults()
	if err := settings.validate(); err != nil {
		return nil, err
	}
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if settings.SocketPath != "" {
		options = append(options, client.WithHost("unix://"+settings.SocketPath))
	}
	c, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("docker client: %w (is DOCKER_HOST right?)", err)
	}
	d := newDocker(c, settings, log)
	table, err := d.mounts()
	d.elsewhere = !strings.HasPrefix(d.address, "unix://") || err != nil || inContainer(table)
	return d, nil
}

func newDocker(e engine, settings Settings, log *slog.Logger) *Docker {
	return &Docker{
		engine: e, log: log, firewall: newFirewall(e.DaemonHost()), mounts: mountinfo.Read, proc: "/proc",
		settings: settings, address: e.DaemonHost(),
	}
}

// Close ends the connections to the engine. Containers go on.
func (d *Docker) Close() error { return d.engine.Close() }

// Ping asks the engine for an answer. Its error is one line that says what to
// do: the engine is missing, is not running, or may not be talked to.
func (d *Docker) Ping(ctx context.Context) error {
	_, err := d.engine.Ping(ctx)
	return d.explain(err)
}

// Check looks for the image and the runtime that the settings name. Its errors
// are one line that says what to do, as those of Ping are.
func (d *Docker) Check(ctx context.Context) error {
	if err := d.HasImage(ctx); err != nil {
		return err
	}
	_, err := d.info(ctx)
	return err
}

// info is what the engine says of itself, once it is known to have the runtime.
func (d *Docker) info(ctx context.Context) (system.Info, error) {
	info, err := d.engine.Info(ctx)
	if err != nil {
		return info, d.explain(err)
	}
	name := d.settings.Runtime
	if _, ok := info.Runtimes[name]; name != "" && !ok {
		known := strings.Join(slices.Sorted(maps.Keys(info.Runtimes)), ", ")
		return info, fmt.Errorf("%w %q; it has %s", ErrRuntime, name, known)
	}
	return info, nil
}

// supervised reports whether containers hold /sbin/docker-init, which Docker
// binds into those that have an init, and Podman does not.
func (d *Docker) supervised(ctx context.Context) bool {
	d.once.Do(func() {
		version, err := d.engine.ServerVersion(ctx)
		if err != nil {
			d.podman = true // without the supervisor an exec works on either
			return
		}
		for _, c := range version.Components {
			d.podman = d.podman || c.Name == "Podman Engine"
		}
	})
	return !d.podman
}

// Remove removes the container of a session, its network and its files. One
// that is not there is no error.
func (d *Docker) Remove(ctx context.Context, session string) (err error) {
	defer func() { d.count("remove", err) }()
	name := d.settings.name(session)
	defer d.sessions.lock(name)()
	return d.remove(ctx, name, name)
}

// count tells whoever counts of an operation that came to err.
func (d *Docker) count(operation string, err error) {
	if d.settings.Count != nil {
		d.settings.Count(operation, err)
	}
}

// remove removes the container ref, whose name is name, and what belongs to it.
func (d *Docker) remove(ctx context.Context, ref, name string) error {
	stop := container.StopOptions{Timeout: ptr(stopSeconds)}
	if err := d.engine.ContainerStop(ctx, ref, stop); err != nil && !absent(err) {
		d.log.Warn("container does not stop and is killed", "container", name, "err", err)
	}
	err := d.engine.ContainerRemove(ctx, ref, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !absent(err) {
		return fmt.Errorf("remove container %s: %w", name, d.explain(err))
	}
	d.removeResolv(name)
	return d.removeNetworks(ctx, name)
}

// stopSeconds is how long a container may take to stop before it is killed.
const stopSeconds = 2

func ptr[T any](v T) *T { return &v }

// keyed is a set of locks by name.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*held // guarded by mu
}

// held is a lock with the number of those who hold it or wait for it.
type held struct {
	sync.Mutex
	users int
}

// lock waits for the lock of name and returns what gives it back.
func (k *keyed) lock(name string) (unlock func()) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = make(map[string]*held)
	}
	h := k.locks[name]
	if h == nil {
		h = new(held)
		k.locks[name] = h
	}
	h.users++
	k.mu.Unlock()
	h.Lock()
	return func() {
		h.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(k.locks, name)
		}
	}
}
