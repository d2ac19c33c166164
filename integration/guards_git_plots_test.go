package integration

import (
	"os"
	"path/filepath"
	"testing"
)

// leadingAway builds in w a repository whose working tree is w/hooks, from which
// a branch checks out a hook.
const leadingAway = `
git init -q r; git -C r commit -q --allow-empty -m x
mkdir -p w/hooks sub; git init -q --bare w/b; rm -r w/b/hooks; git -C w/b config core.bare false; git -C w/b config core.worktree ../hooks
echo "gitdir: ../w/b" > sub/.git; git -C sub commit -q --allow-empty -m x; git -C sub checkout -q -b evil
cp "$EVIL" w/hooks/post-index-change; git -C sub add -A; git -C sub commit -q -m evil; git -C sub checkout -q main; rmdir w/hooks
`

// fetchByOldAddress is what the host does where an attack leaves an address that
// is in no configuration. It lets git take any.
const fetchByOldAddress = `
for dir in r x; do
	[ ! -d $dir ] || git -C $dir -c protocol.ext.allow=always fetch
done >/dev/null 2>&1
true
`

// checkoutHook is a checkout of that branch on the host, and its work.
const checkoutHook = "(cd sub; git checkout -q evil)\n" + hostWork

// hostCommit is a commit on the host with an editor, and what follows it.
const hostCommit = "(cd sub; GIT_EDITOR=true git commit -q --allow-empty)\n" + hostWork

// writing builds a repository where the host's next commit has a configuration
// for its message.
const writing = `git init -q up; git init -q --separate-git-dir=d sub; echo "gitdir: ../d" > sub/.git; git -C sub commit -q --allow-empty -m x; rm d/COMMIT_EDITMSG; printf "$FSMONITOR" > d/MERGE_MSG; `

// gitPlots are attacks that want something else of the host than hostWork, or of
// which the pieces come from several directions.
var gitPlots = []struct{ name, script, host string }{
	{"an address in remotes", `git init -q r; mkdir -p r/.git/remotes; echo "URL: ext::$EVIL" > r/.git/remotes/origin`, fetchByOldAddress},
	{"an address in branches", `git init -q r; mkdir -p r/.git/branches; echo "ext::$EVIL" > r/.git/branches/origin`, fetchByOldAddress},
	{"an address by the name of a sample", `git init -q r; mkdir -p r/.git/remotes; echo "URL: ext::$EVIL" > r/.git/remotes/x.sample; git -C r config branch.main.remote x.sample`, fetchByOldAddress},
	{"an address in a directory renamed", `git init -q r; mkdir h; echo "URL: ext::$EVIL" > h/origin; mv h r/.git/remotes`, fetchByOldAddress},
	{"an address before the repository", `mkdir -p x/remotes x/objects; echo "URL: ext::$EVIL" > x/remotes/origin; mkdir x/refs; echo ref: refs/heads/main > x/HEAD`, fetchByOldAddress},
	{"an address behind a link", `git init -q r; mkdir h; echo "URL: ext::$EVIL" > h/origin; ln -s ../../h r/.git/remotes`, fetchByOldAddress},
	{"a working tree moved into .git", leadingAway + `mv w/b r/.git/b; echo "gitdir: ../r/.git/b" > sub/.git`, checkoutHook},
	{"a working tree renamed to one of git", leadingAway + `rm -r r; mv w w.git; echo "gitdir: ../w.git/b" > sub/.git; git init -q --bare w.git`,
		`(cd sub; git checkout -q evil); cd w.git && git --git-dir=. --work-tree=.. read-tree --empty; true`},
	{"a working tree that becomes a link to hooks", leadingAway + `ln -s ../r/.git/hooks w/hooks`, checkoutHook},
	{"a working tree behind a link to a directory of git", leadingAway + `git config -f w/b/config core.worktree ../l/hooks; ln -s ../r/.git w/l`, checkoutHook},
	{"a working tree behind a link that is renamed", leadingAway + `ln -s ../r/.git/hooks w/b/x; mv w/b/x w/hooks`, checkoutHook},
	{"a working tree behind two links", leadingAway + `ln -s r/.git l; ln -s ../l/hooks w/hooks`, checkoutHook},
	{"a working tree upwards from a link", leadingAway + `git config -f w/b/config core.worktree ../l/../hooks; mkdir r/.git/d; ln -s ../r/.git/d w/l`, checkoutHook},
	{"a link from the message to the config", writing + `ln -s config d/COMMIT_EDITMSG`, hostCommit},
	{"a link from the message to the config, renamed", writing + `ln -s config l; mv l d/COMMIT_EDITMSG`, hostCommit},
	{"a link from the message to the config, linked", writing + `ln -s config l; ln -P l d/COMMIT_EDITMSG`, hostCommit},
	{"a link from the message to the config, first", writing + `mv d/objects o; mv d/refs r; ln -s config d/COMMIT_EDITMSG; mv r d/refs; mv o d/objects`, hostCommit},
	{"a pointer emptied, moved up and written anew", `mkdir -p deep/er; echo "gitdir: ../../out/.git" > deep/er/.git; exec 9> deep/er/.git; mv deep/er sub; echo "gitdir: ../../out/.git" >&9`, hostWork},
}

// TestGitPlots tries them as TestGitAttacks does..
func TestGitPlots(t *testing.T) {
	for _, plot := range gitPlots {
		t.Run(plot.name, func(t *testing.T) {
			newSides(t).fails(t, plot.script, plot.host, false)
		})
	}
}

// TestGitWorkingTreeStaysInside: where links stay inside, a working tree that
// becomes one leads no checkout of the host out of the view..
func TestGitWorkingTreeStaysInside(t *testing.T) {
	w := newWorld(t)
	w.policy("agent", allowAll)
	m := w.mount(w.profile("root: ./root\nsymlinks: inside\npolicy: agent\npolicies: [./policies]\n"))
	s := &sides{w, m, w.mkdir("beside"), m.Path}
	for _, link := range []string{`ln -s "$OUT" w/hooks`, `git config -f w/b/config core.worktree ../l/../out; ln -s .. w/l`} {
		for _, at := range [][2]string{{s.beside, s.beside}, {s.view, s.m.Backing}} {
			s.attack(t, "rm -rf r w sub; "+leadingAway+link, checkoutHook, at[0], at[1])
			_, err := os.Stat(filepath.Join(filepath.Dir(at[1]), "out", "post-index-change"))
			if got, want := err == nil, at[0] == s.beside; got != want {
				t.Errorf("%s: a checkout in %s wrote out of it: %t, want %t", link, at[1], got, want)
			}
		}
	}
}
