package fs

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// guardLink decides whether a symbolic link may come to stand at path: not in a
// directory of git, and not on the way to a repository's working tree. Names are
// held still, and so are the configurations that say where working trees are.
func (s *Server) guardLink(c *Caller, a access, path vpath.Path) syscall.Errno {
	c.Thread.Yield()
	if s.gitOn(path) && a.target != linkProbe && s.inGit(path) {
		return s.refuseGit(c, a, linkMessage, path)
	}
	return s.guardWays(c, a, path, func(at vpath.Path, way []vpath.Path) bool {
		folded := at.Fold()
		return slices.ContainsFunc(way, func(p vpath.Path) bool { return p.Fold() == folded })
	})
}

// guardLinksBelow decides the same of the links in the directory top, which is
// to stand at path.
func (s *Server) guardLinksBelow(c *Caller, a access, top backing.Dir, path vpath.Path) syscall.Errno {
	return s.guardWays(c, a, path, func(at vpath.Path, way []vpath.Path) bool {
		folded, depth := at.Fold(), strings.Count(string(at), "/")
		return slices.ContainsFunc(way, func(p vpath.Path) bool {
			return p.Fold().Within(folded) && linkOn(top, strings.Split(string(p), "/")[depth+1:])
		})
	})
}

// linkOn reports whether a link is met where names are walked from d.
func linkOn(d backing.Dir, names []string) bool {
	if len(names) == 0 {
		return false
	}
	if linkIn(d, names[0]) {
		return true
	}
	sub, err := d.DirAt(names[0])
	if err != nil {
		return !noDir(err)
	}
	defer sub.Close()
	return linkOn(sub, names[1:])
}

// noDir reports whether an error says that there is no such directory.
func noDir(err error) bool {
	return err == syscall.ENOENT || err == syscall.ENOTDIR || err == syscall.ELOOP
}

// guardWays refuses where a way to a working tree meets what comes to stand at
// path; meets is told each of them, with path as the mount that the way is in
// has it.
func (s *Server) guardWays(c *Caller, a access, path vpath.Path, meets func(at vpath.Path, way []vpath.Path) bool) syscall.Errno {
	if !s.gitOn(path) {
		return 0
	}
	view := s.View()
	for _, at := range append(view.Aliases(path), path) {
		w := wayWalk{
			s: s, left: subtreeLimit,
			found: "%s: a checkout on the host would go through a link here to the working tree that core.worktree of this configuration names; unset it first",
			slow:  c.Thread.Yield,
			meets: func(way []vpath.Path) bool { return meets(at, way) },
		}
		if why := w.around(at, view.Resolve(at).Mount); why != "" {
			return s.refuseGit(c, a, "%s", why)
		}
	}
	return 0
}

// hiddenTree returns why d, at path, must not become a directory of git: it holds
// repositories of submodules that wayWalk would not find any more. "" for none.
func (s *Server) hiddenTree(d backing.Dir, path vpath.Path) string {
	if !namesGit(path, vpath.Root) {
		return ""
	}
	w := wayWalk{
		s: s, left: subtreeLimit,
		found: "%s is of a repository inside of what would become another one",
		slow:  func() {},
		meets: func([]vpath.Path) bool { return true },
	}
	return w.each(d, path, func(sub backing.Dir, at vpath.Path) string {
		if at.Base() == "modules" {
			return ""
		}
		return w.store(sub, at)
	})
}

// wayWalk goes through configurations of git for the ways to working trees that
// they name. Its methods return why it stopped; "" where nothing was met. What
// cannot be looked at stops it.
type wayWalk struct {
	s     *Server
	left  int    // entries that may still be looked at
	found string // says what is wrong with a configuration of that path
	slow  func() // is called before much is looked at
	meets func(way []vpath.Path) bool
}

// around looks at the repositories whose working trees path of the mount m can
// lie on the way to: those that hold it, and those with linked worktrees at the
// top of the mount.
func (w *wayWalk) around(path vpath.Path, m *overlay.Mount) string {
	why := w.s.descend(path, m, func(d backing.Dir, at vpath.Path) string { return w.below(d, at, ".git", w.gitDir) })
	mount := w.s.mounts[m.Target]
	if why != "" || mount.tree == nil || path == m.Target {
		return why
	}
	linked, why := w.s.linkedTops(mount)
	for _, name := range linked {
		if why == "" {
			why = w.open(mount.tree, m.Target.Join(name).Join(".git"), m.Target, w.linked)
		}
	}
	return why
}

// descend calls look for each directory from the target of the mount m down to
// the one that holds path, until it says something, and returns that. Each is
// opened once: a path can be thousands of names long. What cannot be looked at
// stops it too.
func (s *Server) descend(path vpath.Path, m *overlay.Mount, look func(backing.Dir, vpath.Path) string) string {
	tree := s.mounts[m.Target].tree
	if tree == nil || path == m.Target {
		return ""
	}
	d, err := tree.Dir("")
	at := m.Target
	for _, name := range strings.Split(path.Rel(m.Target), "/") {
		if err != nil {
			return unlooked(at, err)
		}
		why := look(d, at)
		below := at.Join(name)
		if why != "" || below == path {
			d.Close()
			return why
		}
		above := d
		d, err = above.DirAt(name)
		above.Close()
		at = below
	}
	return ""
}

// linked looks at the linked worktrees of the directory of git d.
func (w *wayWalk) linked(d backing.Dir, at vpath.Path) string {
	return w.below(d, at, "worktrees", w.worktrees)
}

// open calls look for the directory at path, if there is one.
func (w *wayWalk) open(tree backing.Tree, path, target vpath.Path, look func(backing.Dir, vpath.Path) string) string {
	d, err := tree.Dir(path.Rel(target))
	if err == syscall.EACCES {
		holder, err := tree.Dir(path.Dir().Rel(target))
		if err != nil {
			return unlooked(path, err)
		}
		defer holder.Close()
		return w.below(holder, path.Dir(), path.Base(), look)
	}
	if err != nil {
		return unlooked(path, err)
	}
	defer d.Close()
	return look(d, path)
}

// below calls look for the directory name in d, if there is one.
func (w *wayWalk) below(d backing.Dir, at vpath.Path, name string, look func(backing.Dir, vpath.Path) string) string {
	sub, err := d.DirAt(name)
	if err != nil {
		return unlooked(at.Join(name), w.s.unlessForeign(d, err))
	}
	defer sub.Close()
	return look(sub, at.Join(name))
}

// unlooked says that a directory could not be looked at; "" where there is none.
func unlooked(path vpath.Path, err error) string {
	if err == nil || noDir(err) {
		return ""
	}
	return fmt.Sprintf("%s cannot be looked through for working trees that a link could lead away: %v", path, err)
}

// unlessForeign returns err, and nil where it says that the daemon may not look
// into what is not its own: then nothing in there was made from a view, nor
// locked up.
func (s *Server) unlessForeign(o interface{ Stat() (backing.Stat, error) }, err error) error {
	if err != syscall.EACCES || s.uid == 0 {
		return err
	}
	if st, statErr := o.Stat(); statErr == nil && st.Uid != s.uid {
		return nil
	}
	return err
}

// gitDir looks at a directory of git, and where it keeps further ones.
func (w *wayWalk) gitDir(d backing.Dir, at vpath.Path) string {
	for _, name := range [...]string{"config", "config.worktree"} {
		if why := w.config(d, at, name); why != "" {
			return why
		}
	}
	if why := w.below(d, at, "modules", w.modules); why != "" {
		return why
	}
	return w.linked(d, at)
}

func (w *wayWalk) modules(d backing.Dir, at vpath.Path) string {
	w.slow()
	return w.each(d, at, w.store)
}

func (w *wayWalk) worktrees(d backing.Dir, at vpath.Path) string {
	return w.each(d, at, w.gitDir)
}

// store looks at a directory in modules: one of git, or a part of a name with
// slashes.
func (w *wayWalk) store(d backing.Dir, at vpath.Path) string {
	if isGitDir(d, at) {
		return w.gitDir(d, at)
	}
	return w.each(d, at, w.store)
}

// each calls look for the directories in d.
func (w *wayWalk) each(d backing.Dir, at vpath.Path, look func(backing.Dir, vpath.Path) string) string {
	entries, err := d.ReadDir()
	if err == nil && len(entries) > w.left {
		err = syscall.E2BIG
	}
	if err != nil {
		return unlooked(at, w.s.unlessForeign(d, err))
	}
	w.left -= len(entries)
	for _, e := range entries {
		if e.Type != syscall.DT_DIR && e.Type != syscall.DT_UNKNOWN {
			continue
		}
		if why := w.below(d, at, e.Name, look); why != "" {
			return why
		}
	}
	return ""
}

// config looks at one configuration. One that is no regular file is the host's.
func (w *wayWalk) config(d backing.Dir, at vpath.Path, name string) string {
	_, text, errno := readGit(d, name)
	switch errno {
	case 0:
	case syscall.ENOENT, syscall.ENXIO:
		return ""
	default:
		return w.unread(d, at.Join(name), errno)
	}
	targets, ok := gitguard.Worktrees(text)
	if !ok {
		return fmt.Sprintf("%s is not in the form that git writes, and could name a working tree that a link would lead away", at.Join(name))
	}
	for _, target := range targets {
		if start, ok := w.s.startOf(at, target); ok && w.meets(start.passes()) {
			return fmt.Sprintf(w.found, at.Join(name))
		}
	}
	return ""
}

// unread says that a configuration could not be read.
func (w *wayWalk) unread(d backing.Dir, path vpath.Path, errno syscall.Errno) string {
	o, err := d.ObjectAt(path.Base())
	if err != nil {
		return unlooked(path, w.s.unlessForeign(d, err))
	}
	defer o.Close()
	return unlooked(path, w.s.unlessForeign(o, errno))
}
