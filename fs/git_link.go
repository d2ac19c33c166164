package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// Git writes messages, logs and refs to files of its directory whatever they are:
// a link there from COMMIT_EDITMSG to config makes a configuration of the message
// of the host's next commit. Git itself makes no link that stays.

// linkProbe is the target of the link by which git init tries whether there are
// links. Where it leads to is in no list.
const linkProbe = "testing"

// inGit reports whether path is in a directory of git, however deep, by any name
// that the view has for it, or makes one of git's of the directory that it is in.
func (s *Server) inGit(path vpath.Path) bool {
	view := s.View()
	for _, at := range append(view.Aliases(path), path) {
		holder := at.Dir()
		found := s.descend(at, view.Resolve(at).Mount, func(d backing.Dir, dir vpath.Path) string {
			arriving := gitguard.Other
			if dir == holder {
				arriving = gitguard.NameOf(at.Base())
			}
			if s.isGitPlace(d, dir, arriving) {
				return "in it"
			}
			return ""
		})
		if found != "" {
			return true
		}
	}
	return false
}

// isGitPlace reports whether git takes d, at path, for its own, as if arriving
// were there too. It does without the listing where it can: links are made by the
// thousand below large directories.
func (s *Server) isGitPlace(d backing.Dir, path vpath.Path, arriving gitguard.Name) bool {
	if gitguard.NamesGitDir(path.Base()) {
		return true
	}
	if d.Folds() {
		entries, err := d.ReadDir()
		return listsGit(entries, arriving) || s.unlessForeign(d, err) != nil
	}
	has := map[gitguard.Name]bool{arriving: true}
	for _, name := range gitguard.MarkNames {
		if _, err := d.StatAt(name); errnoOf(err) != syscall.ENOENT {
			has[gitguard.NameOf(name)] = true
		}
	}
	return gitguard.HoldsGit(has)
}

// linkBelow returns the path of a symbolic link below d, which is, or comes to be,
// at path; "" if there is none. What cannot be looked at, or is too much, counts
// as one.
func linkBelow(d backing.Dir, path vpath.Path) vpath.Path {
	left := subtreeLimit
	return firstLink(d, path, &left)
}

func firstLink(d backing.Dir, path vpath.Path, left *int) vpath.Path {
	entries, err := d.ReadDir()
	if *left -= len(entries); err != nil || *left < 0 {
		return path
	}
	for _, e := range entries {
		if e.Type == syscall.DT_LNK {
			return path.Join(e.Name)
		}
		if e.Type != syscall.DT_DIR && e.Type != syscall.DT_UNKNOWN {
			continue
		}
		sub, err := d.DirAt(e.Name)
		if err == syscall.ENOTDIR || err == syscall.ENOENT {
			continue
		}
		if err != nil {
			return path.Join(e.Name)
		}
		link := firstLink(sub, path.Join(e.Name), left)
		sub.Close()
		if link != "" {
			return link
		}
	}
	return ""
}
