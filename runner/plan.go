package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// tmpfs are the directories that a container may write without a bind.
var tmpfs = []string{"/tmp", "/run", "/var/tmp", "/var/run"}

// keepAlive is the program of a container between its execs. Not every sleep
// knows "infinity".
var keepAlive = []string{"sleep", "2147483647"}

// plan is what a container has to be.
type plan struct {
	name   string
	spec   Spec
	config *container.Config
	binds  []mount.Mount
	notes  []string
}

// plan turns spec into what the engine is asked for, and checks every bind.
func (d *Docker) plan(ctx context.Context, spec Spec) (*plan, error) {
	spec = spec.withDefaults()
	if err := spec.validate(); err != nil {
		return nil, err
	}
	image, err := d.imageID(ctx)
	if err != nil {
		return nil, err
	}
	p := &plan{name: d.settings.name(spec.Session), spec: spec}
	if p.binds, err = d.binds(p); err != nil {
		return nil, err
	}
	p.config = &container.Config{
		Image:      image,
		User:       spec.User,
		WorkingDir: spec.Dir,
		Entrypoint: keepAlive,
		Labels:     d.settings.labels(spec, image, p.binds),
		StopSignal: "SIGKILL", // sleep has nothing to put in order
	}
	return p, nil
}

// hostConfig is what the container of p may do and use.
func (d *Docker) hostConfig(ctx context.Context, p *plan) (*container.HostConfig, error) {
	s := d.settings
	info, err := d.info(ctx)
	if err != nil {
		return nil, err
	}
	cpus := s.Limits.CPUs
	if info.NCPU > 0 {
		cpus = min(cpus, float64(info.NCPU))
	}
	host := &container.HostConfig{
		Init:           ptr(true),
		CapDrop:        append([]string{"ALL"}, s.CapDrop...),
		CapAdd:         s.CapAdd,
		SecurityOpt:    []string{"no-new-privileges"},
		ReadonlyRootfs: s.ReadOnly,
		Runtime:        s.Runtime,
		Mounts:         p.binds,
		NetworkMode:    container.NetworkMode(p.network()),
		Tmpfs:          map[string]string{},
		LogConfig:      container.LogConfig{Type: "none"},
		Resources: container.Resources{
			PidsLimit: ptr(s.Limits.Pids), Memory: s.Limits.Memory, MemorySwap: s.Limits.Memory,
			NanoCPUs: int64(cpus * 1e9),
		},
	}
	// The engine's own resolver answers at 127.0.0.11 whatever resolv.conf says,
	// and by itself asks that of the host, on the host's network.
	_, host.DNS = s.dns(p.spec.Network)
	if s.UnconfinedSecurity {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp=unconfined", "apparmor=unconfined")
	}
	uid, gid, _ := strings.Cut(p.spec.User, ":")
	for _, dir := range tmpfs {
		// Where the image has the directory, runc 1.1 takes over its mode.
		host.Tmpfs[dir] = fmt.Sprintf("rw,exec,nosuid,nodev,mode=1777,uid=%s,gid=%s,size=%d", uid, gid, s.Limits.Tmpfs)
	}
	return host, nil
}

// binds are the mounts of a container as the engine's host sees them.
func (d *Docker) binds(p *plan) ([]mount.Mount, error) {
	table, err := d.mounts()
	if err != nil {
		return nil, err
	}
	var binds []mount.Mount
	for _, b := range p.spec.Binds {
		source, err := d.source(b, table)
		if err != nil {
			return nil, err
		}
		m, note, err := d.bind(source, b.Target, b.ReadOnly, table)
		if err != nil {
			return nil, err
		}
		if note != "" {
			p.notes = append(p.notes, note)
		}
		binds = append(binds, m)
	}
	resolv, err := d.writeResolv(p)
	if err != nil || resolv == "" {
		return binds, err
	}
	m, _, err := d.bind(resolv, "/etc/resolv.conf", true, table)
	return append(binds, m), err
}

// bind is the mount of source, which is there and has no symbolic links. What
// is mounted below it later comes through where the host's mount is shared; a
// note says where it is not. Below a view nothing is mounted.
func (d *Docker) bind(source, target string, readOnly bool, table mountinfo.Table) (m mount.Mount, note string, err error) {
	if err := d.passedOn(source, table); err != nil {
		return m, "", err
	}
	host, err := d.settings.HostPaths.Host(source)
	if err != nil {
		return m, "", err
	}
	on := table.On(source)
	propagation := mount.PropagationRSlave
	if !on.Shared {
		propagation = mount.PropagationRPrivate
	}
	if !on.Shared && !on.Ours() {
		note = fmt.Sprintf("%s is not on a shared mount, so a view that is mounted below it later is not seen in the container; mount --make-rshared %s", source, on.Point)
	}
	return mount.Mount{
		Type: mount.TypeBind, Source: host, Target: target, ReadOnly: readOnly,
		BindOptions: &mount.BindOptions{Propagation: propagation},
	}, note, nil
}

// resolvFile is the generated resolv.conf of a container.
func (d *Docker) resolvFile(name string) string {
	return filepath.Join(d.settings.StateDir, name+".resolv.conf")
}

// writeResolv writes the resolv.conf of p, if its network has DNS servers of
// its own: the engine's resolver would ask those of the host.
func (d *Docker) writeResolv(p *plan) (file string, err error) {
	_, servers := d.settings.dns(p.spec.Network)
	if len(servers) == 0 {
		return "", nil
	}
	if d.settings.StateDir == "" {
		return "", fmt.Errorf("network %s has DNS servers, and there is no state directory to write its resolv.conf to", p.spec.Network)
	}
	var text strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&text, "nameserver %s\n", s)
	}
	file = d.resolvFile(p.name)
	if old, err := os.ReadFile(file); err == nil && string(old) == text.String() {
		return file, nil
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return "", fmt.Errorf("write the resolv.conf of a container: %w", err)
	}
	return file, os.Chmod(file, 0o644) // whatever the umask says
}

func (d *Docker) removeResolv(name string) {
	if d.settings.StateDir != "" {
		os.Remove(d.resolvFile(name))
	}
}
