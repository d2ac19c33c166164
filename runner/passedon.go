package runner

import (
	"errors"
	"fmt"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// passedOn checks that the engine's host has at the path of source what this
// process has there. A directory beneath a view that stayed here would be bound
// in its place, with nobody to check what is done to it.
func (d *Docker) passedOn(source string, table mountinfo.Table) error {
	p := d.settings.HostPaths
	switch {
	case d.elsewhere && !d.proven:
		return errors.New("nothing is bound until the paths of the engine's host are proven")
	case !d.elsewhere && p.same(), p == HostPaths{Root: "/", HostRoot: "/"}:
		return nil
	case !mountinfo.Within(source, p.Root):
		return fmt.Errorf("%s is not within sandbox_root %s, which is all that the engine's host shares (as %s); mount below it, or set XDG_RUNTIME_DIR to a directory there", source, p.Root, p.HostRoot)
	}
	under, root := beneath(source, table), beneath(p.Root, table)
	if under.ID != root.ID {
		return fmt.Errorf("%s is on the mount %s, and not on that of sandbox_root %s, so the engine's host has something else there; mount below sandbox_root itself", source, under.Point, p.Root)
	}
	if table.On(source).Ours() && !under.Peer {
		return fmt.Errorf("the engine's host does not see the view at %s, because %s does not pass mounts on; docker run -v HOSTDIR:%s:rshared, HOSTDIR on a mount that is shared itself", source, under.Point, under.Point)
	}
	return nil
}

// beneath returns the mount that name lies on when no view is mounted.
func beneath(name string, table mountinfo.Table) mountinfo.Mount {
	var others mountinfo.Table
	for _, m := range table {
		if !m.Ours() {
			others = append(others, m)
		}
	}
	return others.On(name)
}
