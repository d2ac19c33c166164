package fs

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// guardLink decides whether a symbolic link may come to stand at path: not on
// the way to a repository's working tree. Names are held still, and so are the
// configurations that say where working trees are.
func (s *Server) guardLink(c *Caller, a access, path vpath.Path) syscall.Errno {
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

// hides returns why d, at path, must not become a directory of git: it holds
// repositories of submodules that wayWalk would not find any more. "" for none.
func (s *Server) hides(d backing.Dir, path vpath.Path) string {
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
	mount := w.s.mounts[m.Target]
	if mount.tree == nil || path == m.Target {
		return ""
	}
	for dir := path; dir != m.Target; {
		dir = dir.Dir()
		if why := w.open(mount.tree, dir.Join(".git"), m.Target, w.gitDir); why != "" {
			return why
		}
	}
	linked, err := mount.linkedTops()
	if err != nil {
		return unlooked(m.Target, err)
	}
	for _, name := range linked {
		if why := w.open(mount.tree, m.Target.Join(name).Join(".git").Join("worktrees"), m.Target, w.worktrees); why != "" {
			return why
		}
	}
	return ""
}

// open calls look for the directory at path, if there is one.
func (w *wayWalk) open(tree backing.Tree, path, target vpath.Path, look func(backing.Dir, vpath.Path) string) string {
	d, err := tree.Dir(path.Rel(target))
	if err != nil {
		return unlooked(path, err)
	}
	defer d.Close()
	return look(d, path)
}

// unlooked says that a directory could not be looked at; "" where there is none.
func unlooked(path vpath.Path, err error) string {
	if noDir(err) {
		return ""
	}
	return fmt.Sprintf("%s cannot be looked through for working trees that a link could lead away: %v", path, err)
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
	return w.below(d, at, "worktrees", w.worktrees)
}

// below calls look for the directory name in d, if there is one.
func (w *wayWalk) below(d backing.Dir, at vpath.Path, name string, look func(backing.Dir, vpath.Path) string) string {
	sub, err := d.DirAt(name)
	if err != nil {
		return unlooked(at.Join(name), err)
	}
	defer sub.Close()
	return look(sub, at.Join(name))
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
		return unlooked(at, err)
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
		return unlooked(at.Join(name), errno)
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

// linkedTops are the directories at the top of a mount that hold a repository
// with linked worktrees, as they were found some time ago.
type linkedTops struct {
	names []string
	until time.Time
}

// linkedLifetime is for how long they are believed in, against changes of the
// host. What a view changes makes them forgotten.
const linkedLifetime = time.Second

func (m *mount) linkedTops() ([]string, error) {
	if known := m.linked.Load(); known != nil && time.Now().Before(known.until) {
		return known.names, nil
	}
	d, err := m.tree.Dir("")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir()
	if err != nil {
		return nil, err
	}
	tops := &linkedTops{until: time.Now().Add(linkedLifetime)}
	for _, e := range entries {
		if e.Type != syscall.DT_DIR && e.Type != syscall.DT_UNKNOWN {
			continue
		}
		worktrees, err := m.tree.Dir(e.Name + "/.git/worktrees")
		if err == nil {
			worktrees.Close()
		}
		if err == nil || !noDir(err) {
			tops.names = append(tops.names, e.Name)
		}
	}
	m.linked.Store(tops)
	return tops.names, nil
}

// forgetLinked makes linkedTops look again. No name is made meanwhile.
func (s *Server) forgetLinked() {
	for _, m := range s.mounts {
		m.linked.Store(nil)
	}
}
