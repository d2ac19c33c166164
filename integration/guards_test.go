package integration

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// gitIdentity keeps the machine's own git configuration out of the tests.
var gitIdentity = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
	"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	"GIT_AUTHOR_DATE=2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2024-01-01T00:00:00Z", "GIT_CONFIG_COUNT=2",
	"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=init.defaultBranch", "GIT_CONFIG_VALUE_1=main",
}

// git runs git in dir, with an identity of its own and a fixed clock.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return command{dir: dir, env: gitIdentity}.run(t, append([]string{"git"}, args...)...)
}

// hookNames are hooks that exist in a fresh repository under no name.
var hookNames = []string{"pre-commit", "post-checkout", "pre-push", "reference-transaction", "post-index-change"}

// TestGitGuard has no way lead to a hook, of a repository or of a bare one,
// existing or not, under a policy that allows everything. X-09.
func TestGitGuard(t *testing.T) {
	w := newWorld(t)
	git(t, w.path("root"), "init", "-q", "repo")
	git(t, w.path("root"), "init", "-q", "--bare", "bare.git")
	w.write("root/repo/.git/hooks/update", "#!/bin/sh\n")
	w.write("root/evil", "#!/bin/sh\ntouch /tmp/owned\n")
	w.write("root/plant/hooks/pre-commit", "#!/bin/sh\n")
	m := w.mount(w.profile("root: ./root\n"))
	before := snapshot(t, m.Backing, everything)
	evil := m.Path + "/evil"
	for _, hooks := range []string{"/repo/.git/hooks/", "/bare.git/hooks/"} {
		for _, name := range hookNames {
			p := m.Path + hooks + name
			wantErrno(t, "create "+hooks+name, open(unix.O_WRONLY|unix.O_CREAT)(p), unix.EACCES)
			wantErrno(t, "rename onto "+hooks+name, unix.Rename(evil, p), unix.EACCES)
			wantErrno(t, "link onto "+hooks+name, unix.Link(evil, p), unix.EACCES)
			wantErrno(t, "symlink "+hooks+name, unix.Symlink("../../../evil", p), unix.EACCES)
			wantErrno(t, "mkdir "+hooks+name, unix.Mkdir(p, 0o755), unix.EACCES)
		}
		m.wantEvent("create", hooks+"pre-commit", "builtin:guard:git")
	}
	update := m.Path + "/repo/.git/hooks/update"
	wantErrno(t, "write an existing hook", open(unix.O_WRONLY)(update), unix.EACCES)
	wantErrno(t, "chmod an existing hook", unix.Chmod(update, 0o755), unix.EACCES)
	wantErrno(t, "truncate an existing hook", unix.Truncate(update, 0), unix.EACCES)
	sample := m.Path + "/repo/.git/hooks/pre-commit.sample"
	wantErrno(t, "rename of a sample to a hook", unix.Rename(sample, strings.TrimSuffix(sample, ".sample")), unix.EACCES)
	wantErrno(t, "rename of the hooks directory", unix.Rename(m.Path+"/repo/.git/hooks", m.Path+"/repo/.git/h"), unix.EXDEV)
	wantErrno(t, "rename of .git", unix.Rename(m.Path+"/repo/.git", m.Path+"/repo/git"), unix.EXDEV)
	wantErrno(t, "rename of a directory to .git", unix.Rename(m.Path+"/plant", m.Path+"/.git"), unix.EXDEV)
	wantSame(t, "backing", snapshot(t, m.Backing, everything), before)
}

// TestGitWorksUnderGuard has git's own work go on under the guard, and leave
// no file that the user did not ask for.
func TestGitWorksUnderGuard(t *testing.T) {
	w := newWorld(t)
	git(t, w.Dir, "init", "-q", "--bare", "upstream.git")
	m := w.mount(w.profile("root: ./root\n"))
	git(t, m.Path, "init", "-q", "made")
	git(t, m.Path, "init", "-q", "--bare", "bare.git")
	git(t, m.Path, "clone", "-q", w.path("upstream.git"), "cloned")
	for _, repo := range []string{"made", "cloned"} {
		dir := filepath.Join(m.Path, repo)
		must(t, os.WriteFile(dir+"/f", []byte("one\n"), 0o644))
		git(t, dir, "add", "f")
		git(t, dir, "commit", "-q", "-m", "one")
		git(t, dir, "worktree", "add", "-q", "../"+repo+"-tree", "-b", "side")
		tree := filepath.Join(m.Path, repo+"-tree")
		must(t, os.WriteFile(tree+"/g", []byte("two\n"), 0o644))
		git(t, tree, "add", "g")
		git(t, tree, "commit", "-q", "-m", "two")
		if got := git(t, dir, "log", "--format=%s", "side"); got != "two\none\n" {
			t.Errorf("log of side in %s = %q, want two and one", repo, got)
		}
		git(t, dir, "fsck", "--strict")
	}
	if got := git(t, m.Path+"/made", "status", "--porcelain"); got != "" {
		t.Errorf("status = %q, want nothing", got)
	}
	err := filepath.WalkDir(m.Backing, func(path string, e fs.DirEntry, err error) error {
		if err == nil && filepath.Base(filepath.Dir(path)) == "hooks" && !strings.HasSuffix(path, ".sample") {
			t.Errorf("%s appeared on the host", path)
		}
		return err
	})
	must(t, err)
}

// TestGuardsOff has an empty list turn the packs off.
func TestGuardsOff(t *testing.T) {
	w := newWorld(t)
	git(t, w.path("root"), "init", "-q")
	m := w.mount(w.profile("root: ./root\nguards: []\n"))
	wantErrno(t, "create .git/hooks/pre-commit", open(unix.O_WRONLY|unix.O_CREAT)(m.Path+"/.git/hooks/pre-commit"), 0)
}
