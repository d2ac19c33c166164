package fs

import (
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"
)

const module = ".git/modules/s"

// worktreeConfig is a configuration with a working tree.
func worktreeConfig(target string) string { return "[core]\n\tworktree = " + target + "\n" }

// withModule are the names of a repository in the root with one submodule, s.
func withModule(more ...string) []string {
	names := append(repository(".git"), ".git/modules/")
	return append(append(names, repository(module)...), more...)
}

// TestGitWorkingTreeIsOfASubmodule: core.worktree is set where git sets it for
// submodules, to a place below the repository that they belong to..
func TestGitWorkingTreeIsOfASubmodule(t *testing.T) {
	for _, c := range []struct {
		dir, target string
		want        syscall.Errno
	}{
		{module, "../../../s", 0},
		{module, "../../../a/b/c/", 0},
		{module, "../../../../s", syscall.EACCES},
		{module, "../../..", syscall.EACCES},
		{module, "../../s", syscall.EACCES},
		{module, "../../../link/s", syscall.EACCES},
		{module, "../../../link", syscall.EACCES},
		{module, "../../../LINK", syscall.EACCES},
		{module, "../../../later/../s", syscall.EACCES},
		{module, "../../../.git/modules/s/hooks", syscall.EACCES},
		{module, "/mnt/view/s", syscall.EACCES},
		{module, "", syscall.EACCES},
		{module + "/modules/t", "../../../../../s/t", 0},
		{module + "/objects/t", "../../../../../s/t", syscall.EACCES},
		{module + "/worktrees/w/modules/t", "../../../../../../../w/t", 0},
		{module + "/worktrees/w", "../../../../../w", syscall.EACCES},
		{".git/modules/a/b/c", "../../../../../s", 0},
		{".git/modules", "../../s", syscall.EACCES},
		{".git/Modules/s", "../../../s", syscall.EACCES},
		{".git", "../s", syscall.EACCES},
		{"bare", "../s", syscall.EACCES},
		{"x.git/modules/s", "../../../s", syscall.EACCES},
		{"x/.git/modules/s", "../../../s", 0},
		{"x/.git/modules/s", "../../../../s", syscall.EACCES},
		{"x/.git/modules/s", "../../../../x/s", syscall.EACCES},
		{"x/.git/worktrees/w/modules/s", "../../../../../../w/s", 0},
		{"x/.git/worktrees/w/modules/s", "../../../../../../v/s", syscall.EACCES},
		{"x/.git/worktrees/w/modules/s", "../../../../../../w", syscall.EACCES},
		{"x/.git/worktrees/in/modules/s", "../../../../../in/s", 0},
		{"x/.git/worktrees/in/modules/s", "../../../../../../x/in/s", syscall.EACCES},
		{"x/.git/worktrees/none/modules/s", "../../../../../../w/s", syscall.EACCES},
		{"x/y/.git/worktrees/w/modules/s", "../../../../../../../w/s", syscall.EACCES},
	} {
		for _, name := range []string{"config", "config.worktree"} {
			w := gitWorld(t, withModule("link>/tmp", "x/", "w/", "v/")...)
			w.fillUp(t, c.dir)
			for linked, text := range map[string]string{"w": "/mnt/view/w/.git", "in": "/mnt/view/x/in/.git"} {
				w.fillUp(t, "x/.git/worktrees/"+linked, "x/y/.git/worktrees/"+linked)
				w.put(t, "x/.git/worktrees/"+linked+"/gitdir", text)
				w.put(t, "x/y/.git/worktrees/"+linked+"/gitdir", text)
			}
			_, errno := w.bear(t, "/"+c.dir+"/"+name+".lock", worktreeConfig(c.target))
			want(t, errno, 0, "create")
			if got := w.move(t, "rename", "/"+c.dir+"/"+name+".lock", "/"+c.dir+"/"+name); got != c.want {
				t.Errorf("core.worktree = %q in %s/%s = %v, want %v", c.target, c.dir, name, got, c.want)
			}
		}
	}
}

// fillUp makes directories of git in the backing, with what is above them.
func (w *world) fillUp(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		for i := range dir + "/" {
			if (dir + "/")[i] == '/' && !w.has(t, dir[:i]) {
				w.fill(t, dir[:i]+"/")
			}
		}
		for _, name := range repository(dir)[1:] {
			if !w.has(t, strings.TrimSuffix(name, "/")) {
				w.fill(t, name)
			}
		}
	}
}

// TestGitLinkOnTheWay: no link comes to stand where it leads a working tree away,
// that of a submodule or one that the host has set..
func TestGitLinkOnTheWay(t *testing.T) {
	for _, c := range []struct {
		config, text, at string
		want             syscall.Errno
	}{
		{module, worktreeConfig("../../../a/b"), "/a/b", syscall.EACCES},
		{module, worktreeConfig("../../../a/b"), "/a", syscall.EACCES},
		{module, worktreeConfig("../../../a/b"), "/A", syscall.EACCES},
		{module, worktreeConfig("../../../a/b"), "/b", 0},
		{module, worktreeConfig("../../../a/b"), "/c/l", 0},
		{module, worktreeConfig("../../../c/d"), "/c/d", syscall.EACCES},
		{module, worktreeConfig("../../../c/d"), "/c/e", 0},
		{module + "/config.worktree", worktreeConfig("../../../a"), "/a", syscall.EACCES},
		{module + "/modules/t", worktreeConfig("../../../../../a"), "/a", syscall.EACCES},
		{module + "/worktrees/w/modules/t", worktreeConfig("../../../../../../../a"), "/a", syscall.EACCES},
		{".git", worktreeConfig("../a"), "/a", syscall.EACCES},
		{".git", worktreeConfig("/mnt/view/a"), "/a", syscall.EACCES},
		{".git", worktreeConfig("/memory/a"), "/a", syscall.EACCES},
		{".git", worktreeConfig("/elsewhere"), "/a", 0},
		{".git", "[core] worktree = a\n", "/a", syscall.EACCES},
		{".git", "[core] bare = false\n[extensions] worktreeConfig = true\n", "/a", 0},
		{".git/worktrees/w/config.worktree", worktreeConfig("../../../a"), "/a", syscall.EACCES},
		{"x/.git/worktrees/w/modules/s", worktreeConfig("../../../../../../a/s"), "/a/s", syscall.EACCES},
		{"x/.git/worktrees/w/modules/s", worktreeConfig("../../../../../../a/s"), "/a", syscall.EACCES},
		{"x/.git/modules/s", worktreeConfig("../../../a"), "/x/a", syscall.EACCES},
		{"x/.git/modules/s", worktreeConfig("../../../a"), "/a", 0},
	} {
		for _, way := range []string{"symlink", "rename", "link"} {
			w := gitWorld(t, withModule("c/", "x/", "l>/tmp")...)
			if dir := path.Dir(c.at); dir != "/" && !w.has(t, dir[1:]) {
				w.fill(t, dir[1:]+"/")
			}
			w.configure(t, c.config, c.text)
			var got syscall.Errno
			if way != "symlink" {
				got = w.move(t, way, "/l", c.at)
			} else {
				got = w.Symlink(caller(), w.at(t, path.Dir(c.at)), path.Base(c.at), "/tmp", new(Entry))
			}
			if got != c.want {
				t.Errorf("%s of a link to %s with %q in %s = %v, want %v", way, c.at, c.text, c.config, got, c.want)
			}
		}
	}
}

// configure makes a configuration in the backing: config in that directory, or
// the config.worktree that is named.
func (w *world) configure(t *testing.T, at, text string) {
	t.Helper()
	dir, ok := strings.CutSuffix(at, "/config.worktree")
	if !ok {
		at += "/config"
	}
	w.fillUp(t, dir)
	w.put(t, at, text)
}

// TestGitLinkInADirectoryOnTheWay: nor does one that is in a directory which
// comes to stand there..
func TestGitLinkInADirectoryOnTheWay(t *testing.T) {
	for _, c := range []struct {
		config, target, from, to string
		want                     syscall.Errno
	}{
		{module, "../../../a/l", "/d", "/a", syscall.EACCES},
		{module, "../../../A/l", "/d", "/a", syscall.EACCES},
		{module, "../../../a/L", "/d", "/a", syscall.EACCES},
		{module, "../../../a/l/b", "/d", "/a", syscall.EACCES},
		{module, "../../../a/e/l", "/d", "/a", syscall.EACCES},
		{module, "../../../a/e", "/d", "/a", 0},
		{module, "../../../a", "/d", "/a", 0},
		{module, "../../../a/none/l", "/d", "/a", 0},
		{module, "../../../b/l", "/d", "/a", 0},
		{"x/.git/worktrees/w/modules/s", "../../../../../../a/l", "/d", "/a", syscall.EACCES},
		{"x/.git/worktrees/w/modules/s", "../../../../../../a/l", "/x", "/y", 0},
		{"x/.git/worktrees/w/modules/s", "../../../../../../a/l", "/x", "/d/x", syscall.EXDEV},
		{"x/.git/worktrees/w/modules/s", "../../../../../in/l", "/x", "/d/x", 0},
		{"x/.git/modules/s", "../../../s", "/x", "/d/x", 0},
		{"x/.git/modules/s", "../../../s", "/x", "/d/x.git", syscall.EXDEV},
		{"x/.git/modules/s", "../../../s", "/x/.git", "/.git", 0},
		{"x/.git/modules/s", "../../../l", "/x/.git", "/d/.git", syscall.EXDEV},
		{"x/.git/modules/s", "../../../s", "/x/.git", "/x/g", syscall.EXDEV},
		{"x/.git/modules/s", "../../../s", "/x/.git/modules", "/x/.git/m", syscall.EXDEV},
		{"x/.git/modules/s", "../../../s", "/x/.git/modules/s", "/x/.git/modules/t", 0},
		{"x/.git/modules/s", "../../../s", "/x/.git/modules/s", "/x/.git/modules/t/s", syscall.EXDEV},
		{"x/.git/modules/p/s", "../../../../s", "/x/.git/modules/p", "/x/.git/modules/p.git", syscall.EXDEV},
		{"d/x/.git/modules/s", "../../../s", "/d/x", "/x", 0},
	} {
		w := gitWorld(t, "d/", "d/l>/tmp", "d/e/", "d/e/l>/tmp", "w/", "x/", "x/in/")
		if c.config == module {
			w.fillUp(t, ".git")
		} else if c.from == "/d/x" {
			w = gitWorld(t, "d/")
		}
		w.configure(t, c.config, worktreeConfig(c.target))
		if strings.HasPrefix(c.config, "x/.git/worktrees/w") {
			w.put(t, "x/.git/worktrees/w/gitdir", map[bool]string{false: "/mnt/view/a/.git", true: "/mnt/view/x/in/.git"}[strings.Contains(c.target, "in/")])
		}
		if dir := path.Dir(c.to); dir != "/" && !w.has(t, dir[1:]) {
			w.fill(t, dir[1:]+"/")
		}
		if got := w.move(t, "rename", c.from, c.to); got != c.want {
			t.Errorf("rename(%s, %s) with %q in %s = %v, want %v", c.from, c.to, c.target, c.config, got, c.want)
		}
	}
}

// TestGitLinkRaces sets core.worktree while a link is made on the way: one of
// the two is refused..
func TestGitLinkRaces(t *testing.T) {
	for range 300 {
		w := gitWorld(t, withModule("l>/tmp")...)
		_, errno := w.bear(t, "/"+module+"/config.lock", worktreeConfig("../../../a"))
		want(t, errno, 0, "create")
		var made [3]syscall.Errno
		var all sync.WaitGroup
		for i, act := range []func() syscall.Errno{
			func() syscall.Errno { return w.move(t, "rename", "/"+module+"/config.lock", "/"+module+"/config") },
			func() syscall.Errno { return w.Symlink(caller(), w.at(t, "/"), "a", "/tmp", new(Entry)) },
			func() syscall.Errno { return w.move(t, "rename", "/l", "/a") },
		} {
			all.Add(1)
			go func() {
				defer all.Done()
				made[i] = act()
			}()
		}
		all.Wait()
		if w.has(t, "a") == (made[0] == 0) {
			t.Fatalf("a working tree: %v; a link to it: %v, %v", made[0], made[1], made[2])
		}
	}
}

// TestGitModuleIsNotHidden: what becomes a directory of git leaves none below it
// that the search for working trees would pass by..
func TestGitModuleIsNotHidden(t *testing.T) {
	for _, c := range []struct {
		sub  string
		want syscall.Errno
	}{
		{"s", syscall.EACCES}, {"objects/s", syscall.EACCES}, {"a/b/s", syscall.EACCES}, {"worktrees/a/s", syscall.EACCES}, {"modules/s", 0},
	} {
		w := gitWorld(t, "x/")
		w.fillUp(t, ".git")
		at := ".git/modules/p/" + c.sub
		w.configure(t, at, worktreeConfig(strings.Repeat("../", strings.Count(at, "/")+1)+"s"))
		var got syscall.Errno
		for _, name := range []string{"objects", "refs"} {
			if !w.has(t, ".git/modules/p/"+name) {
				got = w.Mkdir(caller(), w.at(t, "/.git/modules/p"), name, 0o755, new(Entry))
			}
		}
		if got != c.want {
			t.Errorf("the last mkdir that makes one of git's around %s = %v, want %v", c.sub, got, c.want)
		}
	}
	w := gitWorld(t, "from/")
	w.fillUp(t, ".git", ".git/modules", "from/t")
	w.fill(t, ".git/modules/p/", ".git/modules/p/HEAD")
	w.put(t, "from/t/config", worktreeConfig("../../../../../s"))
	want(t, w.move(t, "rename", "/from", "/.git/modules/p/objects"), syscall.EXDEV, "rename of objects with a repository inside")
}

// TestGitLinkedWorktreesAreFoundAtOnce: what the view changes is not hidden by
// what was found before. X-05.
func TestGitLinkedWorktreesAreFoundAtOnce(t *testing.T) {
	w := gitWorld(t, "w/")
	w.fillUp(t, "x/.git")
	link := func(at string) syscall.Errno {
		return w.Symlink(caller(), w.at(t, path.Dir(at)), path.Base(at), "/tmp", new(Entry))
	}
	want(t, link("/before"), 0, "symlink")
	const dir = "x/.git/worktrees/w/modules/s"
	w.fillUp(t, "x/.git/worktrees/w", dir)
	w.put(t, "x/.git/worktrees/w/gitdir", "/mnt/view/w/.git")
	_, errno := w.bear(t, "/"+dir+"/config.lock", worktreeConfig("../../../../../../w/s"))
	want(t, errno, 0, "create")
	want(t, w.move(t, "rename", "/"+dir+"/config.lock", "/"+dir+"/config"), 0, "rename of the config")
	want(t, link("/w/s"), syscall.EACCES, "symlink on the way")
	want(t, w.move(t, "rename", "/x", "/y"), 0, "rename of the repository")
	want(t, link("/w/s"), syscall.EACCES, "symlink on the way, after the rename")
	want(t, link("/w/t"), 0, "symlink beside it")
}
