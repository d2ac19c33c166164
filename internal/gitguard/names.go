package gitguard

import (
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// Name says what a name means in a directory of git.
type Name uint8

// The meanings. All but Gitfile are those of a name in a directory of git.
const (
	Other          Name = iota
	Config              // config
	ConfigWorktree      // config.worktree
	Gitfile             // .git, where it is no directory: leads to one of git
	Backlink            // gitdir: leads from a worktree's directory of git back to it
	CommonDir           // commondir: leads to where the config and the hooks are
	Head                // HEAD
	Objects             // objects
	Refs                // refs
	Hooks               // hooks
	Remotes             // remotes, branches: addresses as git kept them before it had a config
	Store               // modules, worktrees: hold further directories of git
)

var names = map[string]Name{
	"config": Config, "config.worktree": ConfigWorktree, ".git": Gitfile, "gitdir": Backlink, "commondir": CommonDir,
	"head": Head, "objects": Objects, "refs": Refs, "hooks": Hooks, "remotes": Remotes, "branches": Remotes, "modules": Store, "worktrees": Store,
}

// NameOf returns what name means, in every spelling that some backing takes for
// the same: git finds it there.
func NameOf(name string) Name { return names[vpath.Fold(name)] }

// MarkNames are the names of which git wants some in a directory of its own.
var MarkNames = []string{"HEAD", "objects", "refs", "commondir"}

// Marks reports whether the arrival of the name can turn a directory into one of
// git.
func (n Name) Marks() bool { return n == Head || n == Objects || n == Refs || n == CommonDir }

// Pointer reports whether the name is that of a pointer.
func (n Name) Pointer() bool { return n == Gitfile || n == Backlink || n == CommonDir }

// Configures reports whether the name is that of a configuration.
func (n Name) Configures() bool { return n == Config || n == ConfigWorktree }

// Guarded reports whether a file of that name can be one whose content is
// checked.
func (n Name) Guarded() bool { return n.Configures() || n.Pointer() }

// Closed reports whether git reads as instructions what is in a directory of
// that name, so that nothing is made there.
func (n Name) Closed() bool { return n == Hooks || n == Remotes }

// Locks reports whether name is that of the lock file which git renames onto a
// guarded one.
func Locks(name string) bool {
	base, ok := strings.CutSuffix(name, ".lock")
	return ok && NameOf(base).Guarded()
}

// NamesGitDir reports whether a directory is one of git by its name alone,
// before anything is in it: somebody may run git init there.
func NamesGitDir(base string) bool { return strings.HasSuffix(vpath.Fold(base), ".git") }

// LinksToGit reports whether a component of a symbolic link's target is the name
// of a directory of git. Git makes no such link, and it would be a way into that
// directory for what is checked by its path, a working tree above all.
func LinksToGit(target string) bool {
	for name := range strings.SplitSeq(target, "/") {
		if NamesGitDir(name) {
			return true
		}
	}
	return false
}

// HoldsGit reports whether git takes a directory for one of its own, or for what
// a commondir leads to, by the names that are in it.
func HoldsGit(has map[Name]bool) bool {
	return has[Objects] && (has[Refs] || has[Head]) || has[Head] && has[CommonDir]
}

// Ignores reports whether a file in a closed directory is one that git leaves
// alone there, a sample of a hook, whatever the backing takes its name for.
func (n Name) Ignores(name string) bool {
	return n == Hooks && strings.HasSuffix(name, ".sample") && strings.HasSuffix(vpath.Fold(name), ".sample")
}
