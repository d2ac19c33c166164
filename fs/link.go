package fs

import (
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// maxLinks is how many links in a row are walked, as path_resolution(7).
const maxLinks = 40

// maxSteps bounds how many names are passed where a target is walked, each of
// its places from the top of the mount: it is quickly said, and can be far down.
const maxSteps = 100000

// Readlink returns the target of a symbolic link, as it is.
func (s *Server) Readlink(c *Caller, num NodeID) (string, syscall.Errno) {
	n, errno := s.node(num)
	if errno != 0 {
		return "", errno
	}
	if errno := s.gate(c, n, policy.Readlink); errno != 0 {
		return "", errno
	}
	if n.kind != kindFile {
		return "", syscall.EINVAL
	}
	target, errno := s.readlink(n)
	if errno != 0 {
		return "", errno
	}
	for _, path := range s.pathsOf(n) {
		if !s.linkStays(path, target) {
			return "", s.refuse(c, access{op: policy.Readlink, path: path}, policy.SymlinkEscape)
		}
	}
	return target, 0
}

// linkMayStand reports whether n, if it is a symbolic link, may stand at path: a
// relative target leads elsewhere from there.
func (s *Server) linkMayStand(n *node, path vpath.Path) bool {
	if s.symlinks == SymlinksFollow || n == nil || n.kind != kindFile {
		return true
	}
	target, errno := s.readlink(n)
	return errno == syscall.EINVAL || errno == 0 && s.linkStays(path, target)
}

// isLink reports whether a file is a symbolic link, or cannot be told from one.
func (s *Server) isLink(n *node) bool {
	_, errno := s.readlink(n)
	return errno != syscall.EINVAL
}

func (s *Server) readlink(n *node) (string, syscall.Errno) {
	var target string
	errno := s.atName(n, func(d *dirRef, name string) error {
		st, err := d.StatAt(name)
		if err = n.same(&st, err); err != nil {
			return err
		}
		target, err = d.ReadlinkAt(name)
		return err
	})
	return target, errno
}

// linkStays reports whether the mode of the view lets a link at path lead to
// target.
func (s *Server) linkStays(path vpath.Path, target string) bool {
	switch s.symlinks {
	case SymlinksFollow:
		return true
	case SymlinksInside:
		w := linkWalk{s: s, left: maxLinks, steps: maxSteps}
		return w.stays(path.Dir(), target)
	}
	return false
}

// linkWalk follows a link's target through the view, component by component.
type linkWalk struct {
	s     *Server
	left  int // links
	steps int
}

// stays reports whether target, walked from the directory dir, never leaves the
// view, as far as the walk may go. A component that does not exist ends it
// inside. An absolute target is walked by the caller's kernel from its own root:
// it stays inside only where it begins with the view's mountpoint.
func (w *linkWalk) stays(dir vpath.Path, target string) bool {
	if w.left--; w.left < 0 {
		return false
	}
	if strings.HasPrefix(target, "/") {
		p, err := vpath.Parse(target)
		top := vpath.Path(w.s.mountpoint)
		if err != nil || top == "" || !p.Within(top) {
			return false
		}
		dir, target = vpath.Root, p.Rel(top)
	}
	names := strings.Split(target, "/")
	for i, name := range names {
		switch name {
		case "", ".":
			continue
		case "..":
			if dir == vpath.Root {
				return false
			}
			dir = dir.Dir()
			continue
		}
		if w.steps -= depth(dir); w.steps < 0 {
			return false
		}
		link, ok := w.s.linkAt(dir.Join(name))
		if ok {
			return w.stays(dir, link+"/"+strings.Join(names[i+1:], "/"))
		}
		dir = dir.Join(name)
	}
	return true
}

// depth returns how many names p has.
func depth(p vpath.Path) int { return strings.Count(string(p), "/") }

// linkAt returns the target of the symbolic link that the backing has at path.
func (s *Server) linkAt(path vpath.Path) (string, bool) {
	place := s.View().Resolve(path)
	if place.Mount == nil {
		return "", false
	}
	m := s.mounts[place.Mount.Target]
	if m.holder != nil {
		target, err := m.holder.ReadlinkAt(m.base)
		return target, err == nil
	}
	if m.tree == nil || place.Rel == "" {
		return "", false
	}
	rel, name := "", place.Rel
	if i := strings.LastIndexByte(place.Rel, '/'); i >= 0 {
		rel, name = place.Rel[:i], place.Rel[i+1:]
	}
	d, err := m.tree.Dir(rel)
	if err != nil {
		return "", false
	}
	defer d.Close()
	target, err := d.ReadlinkAt(name)
	return target, err == nil
}
