package fs

import (
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// gitMove is a rename of what git may read, as far as the guard has come.
type gitMove struct {
	from, to *dirRef
	access   access
	kind     gitguard.Name // of the new name
	isDir    bool          // what is moved
}

// guardMove decides a rename, and carries it out itself where a file takes the
// place of one that git reads: then taken is true.
func (s *Server) guardMove(c *Caller, m *move) (taken bool, errno syscall.Errno) {
	g := gitMove{access: access{op: policy.Rename, path: m.old, to: m.new}, kind: gitguard.NameOf(m.newName)}
	if m.isLink {
		if errno := s.guardLink(c, g.access, m.new); errno != 0 {
			return false, errno
		}
	}
	isFile := m.node != nil && m.node.kind == kindFile
	if isFile && g.kind == gitguard.Other && !s.namedClosed(m.oldDir) && !s.namedClosed(m.newDir) || !s.gitOn(m.new) {
		return false, 0
	}
	if g.from, errno = s.openDir(m.oldDir); errno != 0 {
		return false, errno
	}
	defer g.from.release()
	if g.to, errno = s.openDir(m.newDir); errno != 0 {
		return false, errno
	}
	defer g.to.release()
	if closed := max(s.closes(m.oldDir, m.oldName), s.closes(m.newDir, m.newName)); closed.Closed() {
		return false, s.refuseGit(c, g.access, "%s", messages[closed])
	}
	st, err := g.from.StatAt(m.oldName)
	if err != nil {
		return false, errnoOf(err)
	}
	if there, err := g.to.StatAt(m.newName); err == nil && there.ID() == st.ID() {
		return false, 0 // two names of one file: rename(2) does nothing
	}
	g.isDir = st.IsDir()
	dir := s.pathOf(m.newDir)
	if errno := s.guardArrival(c, m.newDir, g.to.Dir, dir, g.kind, g.access); errno != 0 {
		return false, errno
	}
	if g.isDir {
		return false, s.guardMovedDir(c, m, &g, dir)
	}
	if g.kind != gitguard.Gitfile && !isGitDir(g.to, dir) && !holdsGit(g.to, g.kind) {
		return false, 0
	}
	switch {
	case g.kind.Guarded():
		return true, s.takeOver(c, m, &g, dir)
	case (g.kind.Closed() || g.kind == gitguard.Store) && st.Mode&syscall.S_IFMT == syscall.S_IFLNK:
		return false, s.refuseGit(c, g.access, "%s is no link where git looks for it", m.new)
	}
	return false, 0
}

// takeOver carries out a rename onto a file that git reads: what is read from the
// candidate is checked, and the bytes that were checked are written to a fresh
// file that nobody has open. So nothing that is done to the candidate meanwhile
// or later, by another name, a descriptor or a mapping, reaches what git reads.
func (s *Server) takeOver(c *Caller, m *move, g *gitMove, dir vpath.Path) syscall.Errno {
	st, text, errno := readGit(g.from, m.oldName)
	switch errno {
	case 0:
	case syscall.ENXIO, syscall.EFBIG, syscall.ELOOP:
		return s.refuseGit(c, g.access, "%s is no regular file of at most %d bytes", m.new, gitguard.MaxSize)
	default:
		return errno
	}
	_, present, errno := readGit(g.to, m.newName)
	if errno != 0 {
		present = nil // nothing that the candidate could take over
	}
	if r := s.judge(g.kind, dir, present, text); r != nil {
		return s.refuseGit(c, g.access, "%s:%v", m.new, r)
	}
	held, errno := s.replaceFresh(g.to.Dir, m.newName, &st, text, m.replaced)
	if errno != 0 {
		return errno
	}
	s.replacedFresh(dentry{m.newDir, m.newName}, held)
	gone := s.keep(m.node, g.from, m.oldName)
	if err := g.from.UnlinkAt(m.oldName); err != nil {
		gone.close()
		return errnoOf(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lostLocked(dentry{m.oldDir, m.oldName}, gone)
	return 0
}

// guardMovedDir decides the move of a directory: to where git finds it by its
// name, and upwards or into a directory of git, where a relative path below it
// leads to what it must not.
func (s *Server) guardMovedDir(c *Caller, m *move, g *gitMove, dir vpath.Path) syscall.Errno {
	top, err := g.from.DirAt(m.oldName)
	if err != nil {
		return errnoOf(err)
	}
	defer top.Close()
	if g.kind.Closed() && isGitDir(g.to, dir) && !empty(g.from, m.oldName, g.kind) {
		return s.refuseGit(c, g.access, emptyMessage, m.old)
	}
	if !isGitDir(top, m.old) && gitguard.NamesGitDir(m.newName) {
		if errno := s.guardContents(c, m.node, top, m.new, g.access); errno != 0 {
			return errno
		}
	}
	if errno := s.guardLinksBelow(c, g.access, top, m.new); errno != 0 {
		return errno
	}
	c.Thread.Yield()
	if (gitguard.NamesGitDir(m.newName) || s.inGit(m.new)) && linkBelow(top, m.new) != "" {
		return s.refuse(c, g.access, policy.Subtree)
	}
	left := subtreeLimit
	if s.pointersMove(m) && !s.pointersHold(top, m.new, g, &left) || !s.linkedHold(top, m, g, &left) {
		return s.refuse(c, g.access, policy.Subtree)
	}
	return 0
}

// pointersMove reports whether a relative path below the directory that is moved
// could lead elsewhere, or come to count otherwise.
func (s *Server) pointersMove(m *move) bool {
	return depth(m.new) < depth(m.old) || namesGit(m.new, vpath.Root) || namesGit(m.old, vpath.Root)
}

// pointersHold walks a directory and reports whether the relative paths that git
// reads below it lead to what the view shows from its new place, to. It gives
// up, with false, after left entries.
func (s *Server) pointersHold(d backing.Dir, to vpath.Path, g *gitMove, left *int) bool {
	entries, err := d.ReadDir()
	if err != nil {
		return false
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return false
		}
		if gitguard.NameOf(e.Name).Guarded() && e.Type != syscall.DT_DIR && !s.pointerHolds(d, e.Name, to, g) {
			return false
		}
		if e.Type != syscall.DT_DIR && e.Type != syscall.DT_UNKNOWN {
			continue
		}
		sub, err := d.DirAt(e.Name)
		switch err {
		case nil:
		case syscall.ENOTDIR, syscall.ELOOP, syscall.ENOENT:
			continue
		default:
			return false
		}
		hold := s.pointersHold(sub, to.Join(e.Name), g, left)
		sub.Close()
		if !hold {
			return false
		}
	}
	return true
}

// pointerHolds is pointersHold for one file.
func (s *Server) pointerHolds(d backing.Dir, name string, to vpath.Path, g *gitMove) bool {
	_, text, errno := readGit(d, name)
	if errno != 0 {
		return errno == syscall.ENXIO || errno == syscall.EFBIG // a directory or a link, or what git will not take
	}
	kind := gitguard.NameOf(name)
	if kind.Configures() {
		targets, ok := gitguard.Worktrees(text)
		for _, target := range targets {
			ok = ok && (strings.HasPrefix(target, "/") || s.worktreeMoves(to, target, g) || s.worktreeStays(to, target, g))
		}
		return ok
	}
	target, ok := gitguard.Target(kind, text)
	return !ok || strings.HasPrefix(target, "/") || s.gitStays(to, target)
}
