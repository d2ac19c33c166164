package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// found is what stands under a name.
type found struct {
	kind  kind
	mount *mount
	id    backing.ID
	stat  backing.Stat // of kindDir and kindFile

	// own is set, along with ENOENT, where there is something that the view itself
	// is made of: whoever asked settles it.
	own *policy.Rule
}

// locate looks for what the view has under name in dir: a mount's target, a
// directory or file of the backing, or a synthesised directory where a mount
// lies below and the backing has no directory that may be shown. It decides
// nothing that the caller may see but that one thing.
func (s *Server) locate(view *overlay.View, dir *node, name string, path vpath.Path) (found, syscall.Errno) {
	f, errno := s.find(view, dir, name, path)
	if errno == 0 {
		if r := ownRule(view, f.id); r != nil && r.Decision == policy.Hide {
			return found{own: r}, syscall.ENOENT
		}
	}
	return f, errno
}

func (s *Server) find(view *overlay.View, dir *node, name string, path vpath.Path) (found, syscall.Errno) {
	place := view.Resolve(path)
	if place.Mount != nil && place.Rel == "" {
		return s.locateTarget(s.mounts[place.Mount.Target])
	}
	if !place.Leads {
		return s.locateIn(dir, name)
	}
	if mayStat(view, path) {
		f, errno := s.locateIn(dir, name)
		if errno == 0 && f.kind == kindDir {
			return f, 0
		}
	}
	return found{kind: kindSynth}, 0
}

// locateIn looks in the backing of dir.
func (s *Server) locateIn(dir *node, name string) (found, syscall.Errno) {
	if dir.kind != kindDir || isFresh(name) {
		return found{}, syscall.ENOENT
	}
	d, errno := s.openDir(dir)
	if errno != 0 {
		return found{}, errno
	}
	defer d.release()
	st, err := d.StatAt(name)
	if err != nil {
		return found{}, errnoOf(err)
	}
	return foundObject(dir.mount, st), 0
}

// locateTarget looks at the source of a mount.
func (s *Server) locateTarget(m *mount) (found, syscall.Errno) {
	switch m.kind {
	case overlay.KindDevice:
		return found{kind: kindDevice, mount: m}, 0
	case overlay.KindDir:
		d, err := m.tree.Dir("")
		if err != nil {
			return found{}, errnoOf(err)
		}
		defer d.Close()
		st, err := d.Stat()
		if err != nil {
			return found{}, errnoOf(err)
		}
		return foundObject(m, st), 0
	}
	st, err := m.holder.StatAt(m.base)
	if err != nil {
		return found{}, errnoOf(err)
	}
	return foundObject(m, st), 0
}

func foundObject(m *mount, st backing.Stat) found {
	f := found{kind: kindFile, mount: m, id: st.ID(), stat: st}
	if st.IsDir() {
		f.kind = kindDir
	}
	return f
}

// foundAttr fills out for what was found and stands at n.
func (s *Server) foundAttr(n *node, f *found, path vpath.Path, out *Attr) {
	switch f.kind {
	case kindSynth:
		s.synthAttr(path, out)
	case kindDevice:
		s.deviceAttr(n, out)
	default:
		s.attr(n, &f.stat, out)
		if f.stat.Mode&syscall.S_IFMT == syscall.S_IFREG && n.watch.observe(&f.stat) {
			s.notify.data(n.num)
		}
	}
}
