package fs

import (
	"fmt"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// The guard pack "git" by content: what git reads as instructions is changed as
// git changes it, and checked. Which files those are depends on what stands
// beside them, so it is asked where a name comes to be (this file, git_move.go)
// and where data is changed (git_data.go). The pack's rules by name (package
// configs) hold besides.

// gitOn reports whether the guard is laid over path.
func (s *Server) gitOn(path vpath.Path) bool {
	m := s.View().Resolve(path).Mount
	return m != nil && m.Guarded(gitguard.Pack)
}

// refuseGit settles an operation that the guard refuses.
func (s *Server) refuseGit(c *Caller, a access, format string, args ...any) syscall.Errno {
	a.detail = fmt.Sprintf(format, args...) + " (guard pack git; to switch it off, list the other packs in the profile: guards: [...])"
	return s.refuse(c, a, policy.GitContent)
}

// hold keeps names as they are while name is made in a directory, all of them if
// the name can make that directory one of git's. It returns what lets them go.
func (s *Server) hold(name string) (release func()) {
	if gitguard.NameOf(name).Marks() {
		s.moves.Lock()
		return s.moves.Unlock
	}
	s.moves.RLock()
	return s.moves.RUnlock
}

// isGitDir reports whether git takes d, which stands at path, for a directory of
// its own. What cannot be looked at counts as there.
func isGitDir(d backing.Dir, path vpath.Path) bool {
	return gitguard.NamesGitDir(path.Base()) || holdsGit(d, gitguard.Other)
}

// holdsGit reports the same by what is in d, as if arriving were there too. It
// goes by the listing, for git may find a name that is listed in another spelling.
func holdsGit(d backing.Dir, arriving gitguard.Name) bool {
	entries, err := d.ReadDir()
	if err != nil {
		return true
	}
	return listsGit(entries, arriving)
}

func listsGit(entries []backing.Dirent, arriving gitguard.Name) bool {
	names := map[gitguard.Name]bool{arriving: true}
	for _, e := range entries {
		names[gitguard.NameOf(e.Name)] = true
	}
	return gitguard.HoldsGit(names)
}

// isWorktree reports whether git has made d for a linked worktree.
func isWorktree(d backing.Dir) bool {
	_, err := d.StatAt("commondir")
	return err == nil
}

// guardMake decides whether a.op may make name in the directory n, which d is in
// the backing. Names are held still.
func (s *Server) guardMake(c *Caller, n *node, d *dirRef, name string, a access) syscall.Errno {
	path := s.pathOf(n)
	kind := gitguard.NameOf(name)
	if a.op == policy.Symlink {
		if errno := s.guardLink(c, a, a.path); errno != 0 {
			return errno
		}
	}
	if kind == gitguard.Other && !gitguard.NameOf(path.Base()).Closed() || !s.gitOn(path) {
		return 0
	}
	if closed := s.closes(n, name); closed.Closed() {
		return s.refuseGit(c, a, "%s", messages[closed])
	}
	if errno := s.guardArrival(c, n, d.Dir, path, kind, a); errno != 0 {
		return errno
	}
	if kind != gitguard.Gitfile && !isGitDir(d, path) && !holdsGit(d, kind) {
		return 0
	}
	linked := a.op == policy.Symlink || a.op == policy.Link
	switch {
	case a.op == policy.Mkdir:
	case kind == gitguard.ConfigWorktree && a.op == policy.Create && isWorktree(d):
		// git worktree add copies it; what is written is checked.
	case kind.Configures():
		return s.refuseGit(c, a, configMessage)
	case linked && (kind.Pointer() || kind.Closed() || kind == gitguard.Store):
		return s.refuseGit(c, a, "%s is no link where git looks for it", path.Join(name))
	}
	return 0
}

// messages say why nothing is made in a closed directory.
var messages = map[gitguard.Name]string{
	gitguard.Hooks:   "git would run this hook on the host",
	gitguard.Remotes: "git would take an address from this file that nobody has checked; use git remote",
}

const (
	linkMessage   = "git on the host would write through the link %s in its own directory"
	emptyMessage  = "%s holds what git would take instructions from on the host"
	configMessage = "git's configuration is written in no other way than git's own, a lock file renamed onto it; use git config"
)

// namedClosed reports whether git could read instructions in a directory, by its
// name.
func (s *Server) namedClosed(n *node) bool {
	return gitguard.NameOf(s.pathOf(n).Base()).Closed()
}

// closes returns which closed directory n is to git, if it would read a file of
// that name in it; else Other.
func (s *Server) closes(n *node, name string) gitguard.Name {
	s.mu.RLock()
	var above *node
	var kind gitguard.Name
	if len(n.names) > 0 {
		above, kind = n.names[0].dir, gitguard.NameOf(n.names[0].name)
	}
	s.mu.RUnlock()
	if above == nil || above.kind != kindDir || !kind.Closed() || kind.Ignores(name) {
		return gitguard.Other
	}
	d, errno := s.openDir(above)
	if errno != 0 {
		return kind
	}
	defer d.release()
	if !isGitDir(d, s.pathOf(above)) {
		return gitguard.Other
	}
	return kind
}

// guardArrival checks what a directory holds that becomes one of git's by a name
// that is made in it: from then on git takes all of it for its own. It makes
// sure that nobody has open what has been checked.
func (s *Server) guardArrival(c *Caller, n *node, d backing.Dir, path vpath.Path, arriving gitguard.Name, a access) syscall.Errno {
	if !arriving.Marks() || isGitDir(d, path) || !holdsGit(d, arriving) {
		return 0
	}
	if hidden := s.hiddenTree(d, path); hidden != "" {
		return s.refuseGit(c, a, "%s", hidden)
	}
	c.Thread.Yield()
	if link := linkBelow(d, path); link != "" {
		return s.refuseGit(c, a, linkMessage, link)
	}
	return s.guardContents(c, n, d, path, a)
}

// guardContents checks the configurations, pointers and hooks in d, which git
// did not look into before. The node of d may not be known.
func (s *Server) guardContents(c *Caller, n *node, d backing.Dir, path vpath.Path, a access) syscall.Errno {
	entries, err := d.ReadDir()
	if err != nil {
		return errnoOf(err)
	}
	for _, e := range entries {
		kind := gitguard.NameOf(e.Name)
		switch {
		case kind.Closed():
			if !empty(d, e.Name, kind) {
				return s.refuseGit(c, a, emptyMessage, path.Join(e.Name))
			}
		case kind == gitguard.Store:
			if st, err := d.StatAt(e.Name); err != nil || !st.IsDir() {
				return s.refuseGit(c, a, "%s is no directory", path.Join(e.Name))
			}
		case kind.Guarded() && kind != gitguard.Gitfile:
			if errno := s.guardPresent(c, n, d, e.Name, path, a); errno != 0 {
				return errno
			}
		}
	}
	return 0
}

// empty reports whether the directory name holds nothing that git reads where it
// is, or comes to be, one of that kind.
func empty(d backing.Dir, name string, kind gitguard.Name) bool {
	closed, err := d.DirAt(name)
	if err != nil {
		return false
	}
	defer closed.Close()
	entries, err := closed.ReadDir()
	for _, e := range entries {
		if !kind.Ignores(e.Name) {
			return false
		}
	}
	return err == nil
}

// guardPresent checks the file name of a directory that becomes one of git's, and
// replaces it by a fresh one with the bytes that were checked: it may be open, by
// a name that is gone or in another view, or have names that nobody looked up.
func (s *Server) guardPresent(c *Caller, n *node, d backing.Dir, name string, path vpath.Path, a access) syscall.Errno {
	st, text, errno := readGit(d, name)
	if errno != 0 {
		return s.refuseGit(c, a, "%s is no file that can be checked", path.Join(name))
	}
	if r := s.judge(gitguard.NameOf(name), path, nil, text); r != nil {
		return s.refuseGit(c, a, "%s:%v", path.Join(name), r)
	}
	var known *node
	if n != nil {
		_, known = s.child(n, name)
	}
	held, errno := s.replaceFresh(d, name, &st, text, known)
	if errno != 0 || n == nil {
		held.close()
		return errno
	}
	s.replacedFresh(dentry{n, name}, held)
	return 0
}

// judge checks a text that is to take the place of present in the directory of
// git at path.
func (s *Server) judge(kind gitguard.Name, path vpath.Path, present, text []byte) *gitguard.Refusal {
	if kind.Configures() {
		return gitguard.Check(present, text, func(target string) bool { return s.worktreeStays(path, target, nil) })
	}
	return gitguard.CheckPointer(kind, present, text, func(target string) bool { return s.gitStays(path, target) })
}
