package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/runner"
)

// places translate what this process calls a directory into what a command in
// the sandbox calls it. The first table that knows a path has the say.
type places []runner.Paths

// placesOf are the view at mountpoint, as far as it is bound, and then the
// sources that it shows.
func placesOf(p *profile.Profile, mountpoint string, binds []runner.Bind) places {
	var mounted, sources runner.Paths
	for _, b := range binds {
		view := cmp.Or(strings.TrimPrefix(b.Source, mountpoint), "/")
		mounted = append(mounted, runner.Row{b.Source, view, b.Target})
	}
	for _, m := range p.Mounts {
		if inside, ok := mounted.Translate(string(m.Target), runner.InView, runner.InContainer); ok {
			sources = append(sources, runner.Row{m.Source, string(m.Target), inside})
		}
	}
	return places{mounted, sources}
}

// binds are the parts of a view that a command sees, and where it starts. A
// profile with a root is seen at the mountpoint, and its skills at their own path
// as well; otherwise each mount is at its own path, so that the paths of the
// host hold.
func binds(p *profile.Profile, mountpoint string) (list []runner.Bind, dir string) {
	for _, m := range p.Mounts {
		if m.Target == vpath.Root {
			list = []runner.Bind{{Source: mountpoint, Target: mountpoint}}
			if skills := string(profile.SkillsTarget); p.Skills {
				list = append(list, runner.Bind{Source: filepath.Join(mountpoint, skills), Target: skills, ReadOnly: true})
			}
			return list, mountpoint
		}
	}
	for _, m := range p.Mounts {
		if dir == "" && m.Kind == overlay.KindDir {
			dir = string(m.Target)
		}
		if !coveredBy(p.Mounts, m.Target) {
			list = append(list, runner.Bind{Source: filepath.Join(mountpoint, string(m.Target)), Target: string(m.Target)})
		}
	}
	return list, dir
}

// coveredBy reports whether target lies below that of another mount, which
// shows it as well.
func coveredBy(mounts []profile.Mount, target vpath.Path) bool {
	for _, m := range mounts {
		if m.Target != target && target.Within(m.Target) {
			return true
		}
	}
	return false
}

// inSandbox returns what a command of run calls the virtual path at, "" where it
// has no name there. Of a root it is known only once that is mounted.
func inSandbox(p *profile.Profile, at vpath.Path) string {
	const mountpoint = "/MOUNTPOINT"
	binds, _ := binds(p, mountpoint)
	name, _ := placesOf(p, mountpoint, binds)[0].Translate(string(at), runner.InView, runner.InContainer)
	if rest, ok := strings.CutPrefix(name, mountpoint); ok && binds[0].Target == mountpoint {
		return mountpoint[1:] + rest
	}
	return name
}

// dir returns where a command starts: in the directory that this process is in
// if the sandbox has it, else in fallback.
func (l places) dir(fallback string) string {
	here, err := unix.Getwd()
	if err != nil {
		return fallback
	}
	for _, table := range l {
		if dir, err := table.Dir(here); err == nil {
			return dir
		}
	}
	return fallback
}

// variable returns NAME=value as it is to be in the sandbox for a variable of
// this process, false if it holds a path that the sandbox does not have.
func (l places) variable(name string) (string, bool) {
	for _, table := range l {
		if e := table.Env([]string{name + "=" + os.Getenv(name)}, runner.OnHost, runner.InContainer); len(e) > 0 {
			return e[0], true
		}
	}
	return "", false
}
