package fs

import (
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// gitStays reports whether a target that stands in a file of the directory dir
// leads, on the host too, to what the view shows.
func (s *Server) gitStays(dir vpath.Path, target string) bool {
	_, ok := s.gitTarget(dir, target)
	return ok
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
	w, ok := s.startOf(dir, target)
	if !ok {
		return "", false
	}
	path, ok := s.walkPlain(w)
	return path, ok && (w.mount == nil || s.View().Resolve(path).Mount == w.mount)
}

// targetWalk is a target as the view walks it: names from a directory on, not
// above top, to a place of mount where that is not nil.
type targetWalk struct {
	top, dir vpath.Path
	names    string
	mount    *overlay.Mount
}

// startOf returns where the walk of a target begins; false where the view does
// not show it.
func (s *Server) startOf(dir vpath.Path, target string) (targetWalk, bool) {
	view := s.View()
	if !strings.HasPrefix(target, "/") {
		m := view.Resolve(dir).Mount
		if m == nil {
			return targetWalk{}, false
		}
		return targetWalk{m.Target, dir, target, m}, true
	}
	host := vpath.Path(strings.TrimRight(target, "/"))
	if clean, err := vpath.Parse(target); err != nil || clean != host {
		return targetWalk{}, false
	}
	if top := vpath.Path(s.mountpoint); top != "" && host.Within(top) {
		return targetWalk{vpath.Root, vpath.Root, host.Rel(top), nil}, true
	}
	mounts := view.Mounts()
	for i := range mounts {
		m := &mounts[i]
		if source := vpath.Path(m.Source); !m.System && m.Source != "" && host.Within(source) {
			return targetWalk{m.Target, m.Target, host.Rel(source), m}, true
		}
	}
	if s.mounts[vpath.Root] != nil || view.Resolve(host).Mount == nil {
		return targetWalk{}, false
	}
	return targetWalk{vpath.Root, vpath.Root, host.Rel(vpath.Root), nil}, true
}

// walkPlain returns where w leads, and false where it leaves its top or meets a
// symbolic link, whose target could be another one tomorrow, or is too far to walk. What does not exist
// yet is walked by its name; a step upwards from one is refused, since it can
// become a link.
func (s *Server) walkPlain(w targetWalk) (vpath.Path, bool) {
	dir, below, steps := w.dir, false, maxSteps
	for name := range strings.SplitSeq(w.names, "/") {
		switch name {
		case "", ".":
		case "..":
			if dir == w.top || below {
				return "", false
			}
			dir = dir.Dir()
		default:
			dir, below = dir.Join(name), true
			if steps -= depth(dir); steps < 0 || s.linkAlike(dir) {
				return "", false
			}
		}
	}
	return dir, true
}

// passes returns the places that w comes by, up to where it leaves its top.
func (w targetWalk) passes() []vpath.Path {
	var way []vpath.Path
	dir := w.dir
	for name := range strings.SplitSeq(w.names, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			if dir == w.top {
				return way
			}
			dir = dir.Dir()
		default:
			dir = dir.Join(name)
		}
		way = append(way, dir)
	}
	return way
}

// linkAlike reports whether the host could find a symbolic link at path.
func (s *Server) linkAlike(path vpath.Path) bool {
	if _, link := s.linkAt(path); link {
		return true
	}
	d, err := s.dirAt(path.Dir())
	if err != nil {
		return false
	}
	defer d.Close()
	return linkIn(d, path.Base())
}

// linkIn reports the same of name in d. A backing that folds names shows each
// under its listed spelling alone.
func linkIn(d backing.Dir, name string) bool {
	st, err := d.StatAt(name)
	if err != syscall.ENOENT {
		return err != nil && !noDir(err) || err == nil && st.Mode&syscall.S_IFMT == syscall.S_IFLNK
	}
	entries, err := d.ReadDir()
	folded := vpath.Fold(name)
	for _, e := range entries {
		if (e.Type == syscall.DT_LNK || e.Type == syscall.DT_UNKNOWN) && vpath.Fold(e.Name) == folded {
			return true
		}
	}
	return err != nil
}

// dirAt opens the directory that the backing has at path.
func (s *Server) dirAt(path vpath.Path) (backing.Dir, error) {
	place := s.View().Resolve(path)
	if place.Mount == nil || s.mounts[place.Mount.Target].tree == nil {
		return nil, syscall.ENOTDIR
	}
	return s.mounts[place.Mount.Target].tree.Dir(place.Rel)
}

// statAt returns the attributes of the directory that the backing has at path.
func (s *Server) statAt(path vpath.Path) (backing.Stat, error) {
	d, err := s.dirAt(path)
	if err != nil {
		return backing.Stat{}, err
	}
	defer d.Close()
	return d.Stat()
}
