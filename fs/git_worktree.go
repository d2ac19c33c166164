package fs

import (
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// core.worktree says where a repository has its files. Whoever checks out there
// on the host follows a symbolic link that has come to be on the way, out of the
// view. So it is set for submodules alone, as git does: below the ".git" of the
// repository that they belong to, and to a place from which that one is found
// again when a link is made (git_way.go).

// worktreeStays reports whether core.worktree, in the configuration of the
// directory of git dir, may be set to target. Where a directory is being moved,
// it answers for the time after the move g.
func (s *Server) worktreeStays(dir vpath.Path, target string, g *gitMove) bool {
	tree, bound, ok := s.worktreeOf(dir, g)
	if !ok || strings.HasPrefix(target, "/") {
		return false
	}
	path, ok := s.gitTarget(dir, target)
	return ok && s.passesIn(dir, target, bound) && path != tree && path.Within(tree) && !namesGit(path, vpath.Root)
}

// passesIn reports whether all places that target comes by from dir are in bound.
func (s *Server) passesIn(dir vpath.Path, target string, bound vpath.Path) bool {
	w, ok := s.startOf(dir, target)
	return ok && !slices.ContainsFunc(w.passes(), func(p vpath.Path) bool { return !p.Within(bound) })
}

// worktreeMoves reports whether target leads to a place of the directory that g
// moves, and so to the same one as before.
func (s *Server) worktreeMoves(dir vpath.Path, target string, g *gitMove) bool {
	path, ok := s.gitTarget(dir, target)
	return ok && s.passesIn(dir, target, g.access.to) && !namesGit(path, vpath.Root) && (!dir.Within(path) || namesGit(dir, path))
}

// worktreeOf returns the working tree below which a submodule whose directory
// of git is dir has its files, and the bound that the way there must not leave:
// the repository that they belong to moves as a whole, and what is around it
// does not move along. Linked worktrees lie around it where it is at the top of
// its mount, and so found from everywhere. It is false where dir is none of a
// submodule. What it takes for one wayWalk must find: names are compared as they
// are.
func (s *Server) worktreeOf(dir vpath.Path, g *gitMove) (tree, bound vpath.Path, ok bool) {
	top, names := splitGit(dir)
	if !s.inStore(top.Join(".git"), names, g) {
		return "", "", false
	}
	if names[0] == "modules" {
		return top, top, true
	}
	s.forgetLinked()
	tree, ok = s.linkedTree(top.Join(".git").Join("worktrees").Join(names[1]), g)
	m := s.View().Resolve(dir).Mount
	switch {
	case !ok || m == nil:
		return "", "", false
	case tree.Within(top):
		return tree, top, true
	}
	return tree, m.Target, s.atTop(m, top, g)
}

// splitGit returns the directory that holds the uppermost ".git" of dir, and the
// names below that; none where the uppermost directory of git has another name.
func splitGit(dir vpath.Path) (top vpath.Path, names []string) {
	all := strings.Split(string(dir[1:]), "/")
	i := slices.IndexFunc(all, gitguard.NamesGitDir)
	if i < 0 || all[i] != ".git" {
		return vpath.Root, nil
	}
	return vpath.Path("/" + strings.Join(all[:i], "/")), all[i+1:]
}

// inStore reports whether names lead from the directory of git at to a place
// for a submodule: in modules, or modules of a linked worktree, and in no other
// part of what is one of git's already.
func (s *Server) inStore(at vpath.Path, names []string, g *gitMove) bool {
	const (
		ofGit = iota
		store
		worktrees
	)
	in := ofGit
	for _, name := range names[:max(len(names)-1, 0)] {
		at = at.Join(name)
		switch {
		case in == store && !s.isGitAt(at, g):
		case in != ofGit:
			in = ofGit
		case name == "modules":
			in = store
		case name == "worktrees":
			in = worktrees
		default:
			return false
		}
	}
	return in == store
}

// isGitAt reports whether git takes the directory at path for one of its own.
func (s *Server) isGitAt(path vpath.Path, g *gitMove) bool {
	d, err := s.dirAt(g.before(path))
	if err != nil || gitguard.NamesGitDir(path.Base()) {
		return true
	}
	defer d.Close()
	if g != nil && path == g.access.to.Dir() {
		return holdsGit(d, g.kind)
	}
	return holdsGit(d, gitguard.Other)
}

// before returns where what will be at path is now.
func (g *gitMove) before(path vpath.Path) vpath.Path {
	if g == nil || !path.Within(g.access.to) {
		return path
	}
	return path.Rebase(g.access.to, g.access.path)
}
