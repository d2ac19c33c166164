package fs

import (
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// linkedTops are the directories at the top of a mount that hold a repository
// with linked worktrees. Those may have submodules anywhere in the mount, so
// that they are looked for whenever a link is made.
type linkedTops struct {
	names []string
	until time.Time
}

// linkedLifetime is for how long they are believed in, against changes of the
// host. What a view changes makes them forgotten.
const linkedLifetime = time.Second

// linkedTops returns them, or why they cannot be told.
func (s *Server) linkedTops(m *mount) (names []string, why string) {
	if known := m.linked.Load(); known != nil && time.Now().Before(known.until) {
		return known.names, ""
	}
	tops := &linkedTops{until: time.Now().Add(linkedLifetime)}
	d, err := m.tree.Dir("")
	if err != nil {
		return nil, unlooked(m.target, err)
	}
	defer d.Close()
	st, err := d.Stat()
	if err != nil {
		return nil, unlooked(m.target, err)
	}
	entries, err := d.ReadDir()
	if err != nil {
		return nil, unlooked(m.target, s.unlessForeign(d, err))
	}
	w := wayWalk{s: s, left: subtreeLimit}
	for _, e := range entries {
		if e.Type != syscall.DT_DIR && e.Type != syscall.DT_UNKNOWN || !onDevice(d, e.Name, st.Dev) {
			continue
		}
		found := func(backing.Dir, vpath.Path) string {
			tops.names = append(tops.names, e.Name)
			return ""
		}
		why := w.below(d, m.target, e.Name, func(d backing.Dir, at vpath.Path) string {
			return w.below(d, at, ".git", func(d backing.Dir, at vpath.Path) string { return w.below(d, at, "worktrees", found) })
		})
		if why != "" {
			return nil, why
		}
	}
	m.linked.Store(tops)
	return tops.names, ""
}

// onDevice reports whether name in d is on the file system dev. What is mounted
// below a source is not walked into unasked: it may hang.
func onDevice(d backing.Dir, name string, dev uint64) bool {
	st, err := d.StatAt(name)
	return err == nil && st.Dev == dev
}

// atTop reports whether linkedTops finds the repository whose working tree is at
// path in the mount m.
func (s *Server) atTop(m *overlay.Mount, path vpath.Path, g *gitMove) bool {
	if path == m.Target || path.Dir() != m.Target {
		return false
	}
	top, err := s.statAt(m.Target)
	if err != nil {
		return false
	}
	tree, err := s.statAt(g.before(path))
	return err == nil && tree.Dev == top.Dev
}

// forgetLinked makes linkedTops look again, where submodules of linked worktrees
// are set up or move. No name is made meanwhile.
func (s *Server) forgetLinked() {
	for _, m := range s.mounts {
		m.linked.Store(nil)
	}
}

// linkedTree returns the linked worktree that the directory of git dir is of.
func (s *Server) linkedTree(dir vpath.Path, g *gitMove) (vpath.Path, bool) {
	d, err := s.dirAt(g.before(dir))
	if err != nil {
		return "", false
	}
	defer d.Close()
	_, text, errno := readGit(d, "gitdir")
	if errno != 0 {
		return "", false
	}
	target, ok := gitguard.Target(gitguard.Backlink, text)
	if !ok {
		return "", false
	}
	path, ok := s.gitTarget(dir, target)
	return path.Dir(), ok && path.Base() == ".git"
}

// linkedHold reports whether submodules of linked worktrees go on having their
// files where a link is not made, if what is moved is a repository at the top of
// its mount.
func (s *Server) linkedHold(top backing.Dir, m *move, g *gitMove, left *int) bool {
	if mount := s.View().Resolve(m.old).Mount; mount == nil || m.old.Dir() != mount.Target {
		return true
	}
	w := wayWalk{s: s}
	hold := true
	why := w.below(top, m.new, ".git", func(d backing.Dir, at vpath.Path) string {
		return w.below(d, at, "worktrees", func(d backing.Dir, at vpath.Path) string {
			hold = s.pointersHold(d, at, g, left)
			return ""
		})
	})
	return hold && why == ""
}
