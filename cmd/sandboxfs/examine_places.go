package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/runner"
)

// hostPaths proves that the engine's host has what this process has at
// SANDBOX_ROOT, where a daemon in a container makes its directories (S3-02).
func (e examinedEngine) hostPaths(ctx context.Context) finding {
	f := finding{Check: "host paths", State: stateOK, Detail: "the engine's host has the paths of this process"}
	paths, err := e.FindHostPaths(ctx)
	switch {
	case errors.Is(err, runner.ErrImage):
		f.State, f.Detail, f.Cure = stateWarn, "cannot be proven without an image", "make the image"
		return f
	case err != nil:
		return f.reproach(stateFail, err)
	case paths.Root == "" || paths.Root == "/" && paths.HostRoot == "/":
		return f
	}
	f.Detail = fmt.Sprintf("%s is %s on the engine's host, as was proven", paths.Root, paths.HostRoot)
	return f
}

// owners looks for directories of conversations that the user of a runner
// cannot write to (S3-03).
func (h host) owners(context.Context) finding {
	f := finding{Check: "owner", State: stateOK, Detail: "no SANDBOX_ROOT, so no directories of conversations"}
	if h.sandboxRoot == "" {
		return f
	}
	entries, err := os.ReadDir(h.sandboxRoot)
	if err != nil {
		return f.reproach(stateFail, fmt.Errorf("SANDBOX_ROOT: %w; make it, or name the directory where the volume is", err))
	}
	f.Detail = "the directories below " + h.sandboxRoot + " can be written by " + runner.DefaultUser
	for _, entry := range entries {
		var st unix.Stat_t
		name := filepath.Join(h.sandboxRoot, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") || unix.Lstat(name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		if owner := fmt.Sprintf("%d:%d", st.Uid, st.Gid); owner != runner.DefaultUser && st.Mode&0o007 != 0o007 {
			f.State = stateWarn
			f.Detail = fmt.Sprintf("%s belongs to %s, and commands in containers are %s", name, owner, runner.DefaultUser)
			f.Cure = fmt.Sprintf("chown -R %s %s", runner.DefaultUser, name)
			return f
		}
	}
	return f
}

// propagation looks whether views that are mounted later come through to
// containers that bind what is around them.
func (h host) propagation() finding {
	f := finding{Check: "propagation", State: stateOK}
	table, err := h.table()
	if err != nil {
		return f.reproach(stateWarn, err)
	}
	dir := h.sandboxRoot
	if dir == "" {
		dir = h.runtime
	}
	on := table.On(dir)
	f.Detail = on.Point + " is shared"
	if !on.Shared {
		f.State = stateWarn
		f.Detail = fmt.Sprintf("%s is not shared: a container that binds the directory around a mountpoint does not see a view that is mounted anew", on.Point)
		f.Cure = "mount --make-rshared " + on.Point
		if h.environment.Container {
			f.Cure = fmt.Sprintf("docker run -v HOSTDIR:%s:rshared", dir)
		}
	}
	return f
}

// garbage finds what gc would remove besides mounts.
func (h host) garbage(context.Context) finding {
	f := finding{Check: "leftovers", State: stateOK, Detail: "none"}
	var names []string
	for _, g := range h.collectable() {
		if g.Kind != "mount" {
			names = append(names, g.Kind+" "+g.Name)
		}
	}
	if len(names) > 0 {
		f.State, f.Cure = stateWarn, "sandboxfs gc"
		f.Detail = fmt.Sprintf("%d of dead daemons: %s", len(names), strings.Join(names[:min(len(names), 5)], ", "))
	}
	return f
}

// parameter is the value of a kernel parameter, "" where there is none.
func (h host) parameter(file string) string {
	text, _ := os.ReadFile(h.sysctl + file)
	return strings.TrimSpace(string(text))
}
