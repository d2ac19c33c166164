package fs

import (
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// TestGitLinkInside: no link comes to be in a directory of git, by which git on
// the host would write to another file..
func TestGitLinkInside(t *testing.T) {
	for _, c := range []struct {
		call, from, to string
		want           syscall.Errno
	}{
		{"symlink", "config", "/.git/COMMIT_EDITMSG", syscall.EACCES},
		{"symlink", "/tmp/x", "/.git/logs/HEAD", syscall.EACCES},
		{"symlink", "x", "/y.git/deep/l", syscall.EACCES},
		{"symlink", "config", "/bare/COMMIT_EDITMSG", syscall.EACCES},
		{"symlink", "../config", "/bare/logs/HEAD", syscall.EACCES},
		{"symlink", "config", "/plain/COMMIT_EDITMSG", 0},
		{"symlink", "testing", "/.git/tXXXXXX", 0},
		{"symlink", "testing", "/bare/logs/t", 0},
		{"symlink", "./testing", "/.git/tXXXXXX", syscall.EACCES},
		{"rename", "/l", "/.git/COMMIT_EDITMSG", syscall.EACCES},
		{"rename", "/l", "/bare/logs/HEAD", syscall.EACCES},
		{"rename", "/l", "/plain/l", 0},
		{"link", "/l", "/.git/COMMIT_EDITMSG", syscall.EACCES},
		{"link", "/l", "/bare/logs/HEAD", syscall.EACCES},
		{"link", "/l", "/plain/l", 0},
		{"rename", "/d", "/.git/d", syscall.EXDEV},
		{"rename", "/d", "/bare/logs/d", syscall.EXDEV},
		{"rename", "/d", "/d.git", syscall.EXDEV},
		{"rename", "/d", "/plain/d", 0},
		{"rename", "/plain", "/bare/plain", 0},
		{"rename", "/half/o", "/half/objects", syscall.EACCES},
		{"mkdir", "", "/half/objects", syscall.EACCES},
		{"symlink", "/tmp", "/part/objects", syscall.EACCES},
		{"rename", "/l", "/part/objects", syscall.EACCES},
		{"link", "/l", "/part/objects", syscall.EACCES},
		{"symlink", "/tmp", "/part/commondir", syscall.EACCES},
		{"symlink", "/tmp", "/part/refs", 0},
		{"mkdir", "", "/half/other", 0},
	} {
		w := gitWorld(t, "l>config", "d/", "d/e/", "d/e/l>x", "plain/", "y.git/", "y.git/deep/", "part/", "part/HEAD", "half/", "half/HEAD", "half/o/", "half/logs/", "half/logs/HEAD>../config")
		w.fillUp(t, ".git", "bare")
		w.fill(t, ".git/logs/", "bare/logs/")
		if got := w.come(t, c.call, c.from, c.to); got != c.want {
			t.Errorf("%s of %q to %s = %v, want %v", c.call, c.from, c.to, got, c.want)
		}
	}
}

// come brings a link, or a directory, to a name.
func (w *world) come(t *testing.T, call, from, to string) syscall.Errno {
	t.Helper()
	switch dir := w.at(t, path.Dir(to)); call {
	case "symlink":
		return w.Symlink(caller(), dir, path.Base(to), from, new(Entry))
	case "mkdir":
		return w.Mkdir(caller(), dir, path.Base(to), 0o755, new(Entry))
	}
	return w.move(t, call, from, to)
}

// TestGitLinkWhereNobodyCanLook: what cannot be looked at counts as one of git's.
func TestGitLinkWhereNobodyCanLook(t *testing.T) {
	tree := backing.NewMemory()
	w := gitWorldOn(t, tree)
	w.fill(t, "d/")
	tree.Fail = func(op, name string) error {
		if op == "StatAt" && gitguard.NameOf(path.Base(name)).Marks() {
			return syscall.EIO
		}
		return nil
	}
	want(t, w.come(t, "symlink", "x", "/d/l"), syscall.EACCES, "symlink")
}

// TestGitLinkInsideByAnotherMount: nor by another mount that shows a place in it.
func TestGitLinkInsideByAnotherMount(t *testing.T) {
	guard := policy.Builtin("git", policy.BuiltinRule{Name: "all", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Allow})
	guarded := append(layers(t, allowAll), overlay.Layer{Kind: "guard", Policy: guard})
	tree := backing.NewMemory()
	view := viewWith(t, overlay.Mount{Target: "/", Source: "/memory", Layers: guarded}, overlay.Mount{Target: "/logs", Source: "/memory/.git/logs", Layers: guarded})
	w := serve(t, Config{View: view, Trees: []backing.Tree{tree, tree}})
	w.fill(t, ".git/", ".git/logs/")
	if got := w.come(t, "symlink", "../config", "/logs/HEAD"); got != syscall.EACCES {
		t.Errorf("symlink to /logs/HEAD = %v, want EACCES", got)
	}
}

// TestGitLinkInsideOfAnotherSpelling: where names fold, git finds what is listed
// in another spelling. X-12.
func TestGitLinkInsideOfAnotherSpelling(t *testing.T) {
	for _, folds := range []bool{false, true} {
		w := gitWorld(t, "b/", "b/Head", "b/OBJECTS/", "b/Refs/")
		s := w.Server
		s.mounts["/"].tree = foldingTree{s.mounts["/"].tree, folds}
		if got := s.inGit("/b/logs/HEAD"); got != folds {
			t.Errorf("where names fold, %t: a place below another spelling is in a directory of git = %t", folds, got)
		}
	}
}

// foldingTree says of its directories whether they fold names.
type foldingTree struct {
	backing.Tree
	folds bool
}

func (f foldingTree) Dir(rel string) (backing.Dir, error) {
	d, err := f.Tree.Dir(rel)
	return foldingDir{d, f.folds}, err
}

type foldingDir struct {
	backing.Dir
	folds bool
}

func (f foldingDir) Folds() bool { return f.folds }

func (f foldingDir) DirAt(name string) (backing.Dir, error) {
	d, err := f.Dir.DirAt(name)
	return foldingDir{d, f.folds}, err
}

// TestGitLinkDeepDown: a link costs a look at each directory above it, and not
// one at each for each of them.
func TestGitLinkDeepDown(t *testing.T) {
	const depth = 200
	tree := backing.NewMemory()
	w := gitWorldOn(t, tree)
	path := strings.Repeat("/d", depth)
	for i := 2; i <= len(path); i += 2 {
		w.fill(t, path[1:i]+"/")
	}
	dir := w.at(t, path)
	steps := 0
	tree.Fail = func(op, name string) error {
		if op == "Dir" || op == "DirAt" {
			steps += strings.Count(name, "/") + 1
		}
		return nil
	}
	want(t, w.Symlink(caller(), dir, "l", "x", new(Entry)), 0, "symlink")
	if steps > 10*depth {
		t.Errorf("a link below %d directories takes %d steps down", depth, steps)
	}
}

// TestLongTargetsFarDown: a target is not walked for longer than anybody means
// it: what waits for the walk is every name that is made meanwhile.
func TestLongTargetsFarDown(t *testing.T) {
	const names = 600
	tree := backing.NewMemory()
	w := gitWorldOn(t, tree)
	w.symlinks = SymlinksInside
	path := strings.Repeat("/d", names)
	for i := 2; i <= len(path); i += 2 {
		w.fill(t, path[1:i]+"/")
	}
	dir, target := w.at(t, path[:names]), path[1:names]
	steps := 0
	tree.Fail = func(op, name string) error {
		if op == "Dir" || op == "DirAt" {
			steps += strings.Count(name, "/") + 1
		}
		return nil
	}
	want(t, w.Symlink(caller(), dir, "l", target, new(Entry)), syscall.EACCES, "symlink")
	want(t, w.Symlink(caller(), dir, "l", target[:100], new(Entry)), 0, "symlink of a target that is short")
	_, errno := w.bear(t, path[:names]+"/.git", "gitdir: "+target+"\n")
	want(t, errno, syscall.EACCES, "pointer")
	if steps > 5*maxSteps {
		t.Errorf("it takes %d steps down", steps)
	}
}
