package fs

import (
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// gitStays reports whether a target that stands in a file of the directory dir
// leads, on the host too, to what the view shows.
func (s *Server) gitStays(dir vpath.Path, target string) bool {
	_, ok := s.gitTarget(dir, target)
	return ok
}

// worktreeStays reports the same of core.worktree, which must not lead into a
// directory of git, nor hold dir itself: what git checks out there, it would
// read. No tracked file has a component ".git", so that below one dir is safe.
func (s *Server) worktreeStays(dir vpath.Path, target string) bool {
	path, ok := s.gitTarget(dir, target)
	if !ok || namesGit(path, vpath.Root) {
		return false
	}
	return !dir.Within(path) || namesGit(dir, path)
}

// namesGit reports whether a component of path below top is the name of a
// directory of git.
func namesGit(path, top vpath.Path) bool {
	for ; path != top; path = path.Dir() {
		if gitguard.NamesGitDir(path.Base()) {
			return true
		}
	}
	return false
}

// gitTarget returns the path in the view that target leads to from dir. A
// relative one has to stay below the mount that dir is in, since around its
// source the host has other things; an absolute one is a path of the view on
// the host, of the source of a mount, or where the view has no root, of the view
// itself, as commands run on it see it.
func (s *Server) gitTarget(dir vpath.Path, target string) (vpath.Path, bool) {
	view := s.View()
	if !strings.HasPrefix(target, "/") {
		m := view.Resolve(dir).Mount
		if m == nil {
			return "", false
		}
		path, ok := s.walkPlain(m.Target, dir, target)
		return path, ok && view.Resolve(path).Mount == m
	}
	host := vpath.Path(strings.TrimRight(target, "/"))
	if clean, err := vpath.Parse(target); err != nil || clean != host {
		return "", false
	}
	if top := vpath.Path(s.mountpoint); top != "" && host.Within(top) {
		return s.walkPlain(vpath.Root, vpath.Root, host.Rel(top))
	}
	mounts := view.Mounts()
	for i := range mounts {
		m := &mounts[i]
		if source := vpath.Path(m.Source); !m.System && m.Source != "" && host.Within(source) {
			path, ok := s.walkPlain(m.Target, m.Target, host.Rel(source))
			return path, ok && view.Resolve(path).Mount == m
		}
	}
	if s.mounts[vpath.Root] != nil || view.Resolve(host).Mount == nil {
		return "", false
	}
	return s.walkPlain(vpath.Root, vpath.Root, host.Rel(vpath.Root))
}

// walkPlain walks target from dir and reports whether it stays below top and
// meets no symbolic link, whose target could be another one tomorrow. What does
// not exist yet is walked by its name; a step upwards from one is refused, since
// it can become a link.
func (s *Server) walkPlain(top, dir vpath.Path, target string) (vpath.Path, bool) {
	below := false
	for name := range strings.SplitSeq(target, "/") {
		switch name {
		case "", ".":
		case "..":
			if dir == top || below {
				return "", false
			}
			dir = dir.Dir()
		default:
			dir, below = dir.Join(name), true
			if _, link := s.linkAt(dir); link {
				return "", false
			}
		}
	}
	return dir, true
}
