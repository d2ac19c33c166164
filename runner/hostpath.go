package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/mount"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// HostPaths says that the engine's host has at HostRoot what this process has
// at Root. They differ where this process is in a container itself. The zero
// HostPaths leaves every path as it is.
type HostPaths struct {
	Root     string // SANDBOX_ROOT
	HostRoot string // SANDBOX_HOST_PATH; "" for Root
}

func (p HostPaths) validate() error {
	for _, r := range []struct{ name, path string }{{"sandbox_root", p.Root}, {"sandbox_host_path", p.HostRoot}} {
		if r.path != "" && !clean(r.path) {
			return fmt.Errorf("%s %q is not a clean absolute path", r.name, r.path)
		}
	}
	if p.Root == "" && p.HostRoot != "" {
		return fmt.Errorf("sandbox_host_path %s without sandbox_root: say which directory of this process it is", p.HostRoot)
	}
	return nil
}

// same reports whether the engine's host has the paths of this process.
func (p HostPaths) same() bool { return p.HostRoot == "" || p.HostRoot == p.Root }

// Host returns the path of name on the engine's host. Where that has other
// paths than this process, only what lies within Root has one.
func (p HostPaths) Host(name string) (string, error) {
	if p.same() {
		return name, nil
	}
	if !mountinfo.Within(name, p.Root) {
		return "", fmt.Errorf("%s is not within sandbox_root %s, which is all that the engine's host shares (as %s)", name, p.Root, p.HostRoot)
	}
	return filepath.Join(p.HostRoot, strings.TrimPrefix(name, p.Root)), nil
}

// FindHostPaths completes the configured paths, proves them, and uses them from
// then on. Where the engine may be elsewhere it has to succeed before the first
// Ensure. What the configuration says is taken; without SANDBOX_HOST_PATH, the
// engine is asked for the mounts of the container that this process is in;
// without SANDBOX_ROOT, both have to be in one file system. The image is needed
// for the proof.
func (d *Docker) FindHostPaths(ctx context.Context) (HostPaths, error) {
	p := d.settings.HostPaths
	switch {
	case p.Root == "" && !d.elsewhere:
		return p, nil
	case p.Root == "":
		p = HostPaths{Root: "/", HostRoot: "/"}
	case p.HostRoot == "":
		found, err := d.detectHostRoot(ctx, p.Root)
		if err != nil {
			return p, err
		}
		p.HostRoot = found
	}
	if err := d.prove(ctx, p); err != nil {
		if d.settings.HostPaths.Root == "" && !errors.Is(err, ErrImage) && !errors.Is(err, ErrEngine) {
			return p, fmt.Errorf("this process and the engine at %s have different files; set SANDBOX_ROOT to a directory that the engine's host has too: docker run -v HOSTDIR:DIR:rshared -e SANDBOX_ROOT=DIR", d.address)
		}
		return p, err
	}
	d.settings.HostPaths, d.proven = p, true
	d.log.Info("paths", "sandbox_root", p.Root, "sandbox_host_path", p.HostRoot, "for", "binds")
	return p, nil
}

// detectHostRoot finds what root is on the engine's host.
func (d *Docker) detectHostRoot(ctx context.Context, root string) (string, error) {
	table, err := d.mounts()
	if err != nil {
		return "", err
	}
	id := ownContainer(table)
	if id == "" {
		return root, nil
	}
	if self, err := d.engine.ContainerInspect(ctx, id); err == nil {
		var found string
		longest := -1
		for _, m := range self.Mounts {
			if m.Type != mount.TypeTmpfs && mountinfo.Within(root, m.Destination) && len(m.Destination) > longest {
				longest = len(m.Destination)
				found = filepath.Join(desktop(m.Source), strings.TrimPrefix(root, m.Destination))
			}
		}
		if found == "" {
			return "", fmt.Errorf("sandbox_root %s is not on a volume of this container (%.12s), so the engine's host does not have it; docker run -v HOSTDIR:%s:rshared", root, id, root)
		}
		return found, nil
	}
	// The engine does not know this container: another one made it. What the
	// kernel says is right where the host's file system is its root.
	on := table.On(root)
	return filepath.Join(on.Root, strings.TrimPrefix(root, on.Point)), nil
}

// ownFiles are what an engine binds into each container.
var ownFiles = []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}

// inContainer reports whether the mounts are those of a container. The files by
// which engines mark one prove nothing, since images are made into whole
// machines, nor does resolv.conf, which network namespaces have of their own.
func inContainer(table mountinfo.Table) bool {
	for _, m := range table {
		if slices.Contains(ownFiles[:2], m.Point) || m.Point == "/" && (m.Type == "overlay" && m.Source == "overlay" || m.Type == "fuse.fuse-overlayfs") {
			return true
		}
	}
	return false
}

// ownID finds the id of a container in the sources of its own files.
var ownID = regexp.MustCompile(`/(?:containers|overlay-containers)/([0-9a-f]{64})/`)

// ownContainer is the id of the container that this process is in, "" for none.
func ownContainer(table mountinfo.Table) string {
	for _, m := range table {
		if !slices.Contains(ownFiles, m.Point) {
			continue
		}
		if id := ownID.FindStringSubmatch(m.Root); id != nil {
			return id[1]
		}
	}
	for _, file := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(file); err == nil {
			name, _ := os.Hostname() // by default the first digits of the id
			return name
		}
	}
	return ""
}
