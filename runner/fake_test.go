package runner

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// fake is an engine that keeps containers and networks in memory. What it does
// not have panics.
type fake struct {
	engine

	mu         sync.Mutex
	containers map[string]*container.InspectResponse // guarded by mu, by name
	networks   map[string]network.Inspect            // guarded by mu, by name
	calls      []string                              // guarded by mu: what changed something
	fail       map[string]error                      // by call, once
	before     map[string]func()                     // by call, once
}

func newFake() *fake {
	return &fake{
		containers: map[string]*container.InspectResponse{}, networks: map[string]network.Inspect{},
		fail: map[string]error{}, before: map[string]func(){},
	}
}

// call records a call, and returns the error that a test has put in its way.
func (f *fake) call(name, subject string) error {
	if do := f.before[name]; do != nil {
		delete(f.before, name)
		do()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, name+" "+subject)
	err := f.fail[name]
	delete(f.fail, name)
	return err
}

func (f *fake) find(ref string) (*container.InspectResponse, error) {
	for name, c := range f.containers {
		if ref == name || ref == c.ID {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no container %s: %w", ref, errdefs.ErrNotFound)
}

func (f *fake) ContainerCreate(_ context.Context, config *container.Config, host *container.HostConfig, _ *network.NetworkingConfig, _ *ocispec.Platform, name string) (container.CreateResponse, error) {
	if err := f.call("create", name); err != nil {
		return container.CreateResponse{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.containers[name] != nil {
		return container.CreateResponse{}, fmt.Errorf("name %s is in use: %w", name, errdefs.ErrConflict)
	}
	c := &container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{ID: fmt.Sprint("id", len(f.calls)), Name: "/" + name, HostConfig: host, State: &container.State{}},
		Config:            config,
	}
	for _, m := range host.Mounts {
		c.Mounts = append(c.Mounts, container.MountPoint{Type: m.Type, Source: m.Source, Destination: m.Target, RW: !m.ReadOnly, Propagation: m.BindOptions.Propagation})
	}
	f.containers[name] = c
	return container.CreateResponse{ID: c.ID}, nil
}

func (f *fake) ContainerInspect(_ context.Context, ref string) (container.InspectResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.find(ref)
	if err != nil {
		return container.InspectResponse{}, err
	}
	return *c, nil
}

func (f *fake) ContainerStart(_ context.Context, ref string, _ container.StartOptions) error {
	if err := f.call("start", ref); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.find(ref)
	if err == nil {
		c.State.Running = true
	}
	return err
}

func (f *fake) ContainerStop(_ context.Context, ref string, _ container.StopOptions) error {
	return f.call("stop", ref)
}

func (f *fake) ContainerRemove(_ context.Context, ref string, _ container.RemoveOptions) error {
	if err := f.call("remove", ref); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c, err := f.find(ref)
	if err == nil {
		delete(f.containers, c.Name[1:])
	}
	return err
}

func (f *fake) ContainerList(_ context.Context, o container.ListOptions) ([]container.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []container.Summary
	for name, c := range f.containers {
		if want := o.Filters.Get("network"); len(want) == 0 || slices.Contains(want, string(c.HostConfig.NetworkMode)) {
			s := container.Summary{ID: c.ID, Names: []string{"/" + name}, Labels: c.Config.Labels, Created: time.Now().Unix()}
			s.HostConfig.NetworkMode = string(c.HostConfig.NetworkMode)
			list = append(list, s)
		}
	}
	return list, nil
}

func (f *fake) NetworkCreate(_ context.Context, name string, o network.CreateOptions) (network.CreateResponse, error) {
	err := f.call("network", name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.networks[name] = network.Inspect{Name: name, Labels: o.Labels, Internal: o.Internal, Options: o.Options}
	return network.CreateResponse{}, err
}

func (f *fake) NetworkInspect(_ context.Context, name string, _ network.InspectOptions) (network.Inspect, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.networks[name]; ok {
		return n, nil
	}
	return network.Inspect{}, fmt.Errorf("no network %s: %w", name, errdefs.ErrNotFound)
}

func (f *fake) NetworkList(context.Context, network.ListOptions) ([]network.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []network.Summary
	for _, n := range f.networks {
		list = append(list, n)
	}
	return list, nil
}

func (f *fake) NetworkRemove(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.networks[name]; !ok {
		return fmt.Errorf("no network %s: %w", name, errdefs.ErrNotFound)
	}
	delete(f.networks, name)
	return nil
}

func (f *fake) ImageInspect(_ context.Context, ref string, _ ...client.ImageInspectOption) (image.InspectResponse, error) {
	if ref != "sandboxfs-sandbox:latest" {
		return image.InspectResponse{}, fmt.Errorf("no image %s: %w", ref, errdefs.ErrNotFound)
	}
	return image.InspectResponse{ID: "sha256:1"}, nil
}

func (f *fake) Info(context.Context) (system.Info, error) {
	return system.Info{NCPU: 1, Runtimes: map[string]system.RuntimeWithStatus{"runc": {}, "runsc": {}}}, nil
}

func (f *fake) ServerVersion(context.Context) (types.Version, error) { return types.Version{}, nil }
func (f *fake) DaemonHost() string                                   { return "unix:///nowhere/engine.sock" }
func (f *fake) Close() error                                         { return nil }

func (f *fake) ContainerExecCreate(_ context.Context, id string, _ container.ExecOptions) (container.ExecCreateResponse, error) {
	return container.ExecCreateResponse{}, f.call("exec", id)
}

// fakeDocker returns a runner on a fake engine, with a firewall that does
// nothing and records what it is asked for.
func fakeDocker(t *testing.T, s Settings) (*Docker, *fake, *[]string) {
	t.Helper()
	f := newFake()
	if s.StateDir == "" {
		s.StateDir = t.TempDir()
	}
	d := newDocker(f, s.withDefaults(), slog.New(slog.DiscardHandler))
	commands := new([]string)
	d.firewall = &firewall{
		there:  func(string) bool { return true },
		needed: func() (bool, error) { return len(f.networks) > 0, nil },
		run: func(_ context.Context, stdin, command string, args ...string) error {
			*commands = append(*commands, fmt.Sprint(command, args, stdin))
			return nil
		},
	}
	return d, f, commands
}
