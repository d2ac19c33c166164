package integration

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// submodule makes in r a submodule of that path, with a branch evil that holds
// a file, and in sub a pointer to its directory of git; it ends in r.
func submodule(path string) string {
	return strings.ReplaceAll(`
git init -q up; git -C up commit -q --allow-empty -m x; git init -q r; cd r; git submodule --quiet add ../up PATH; git commit -q -m s
git -C PATH checkout -q -b evil; cp "$EVIL" PATH/planted; git -C PATH add -A; git -C PATH commit -q -m evil; git -C PATH checkout -q main
mkdir ../sub; echo "gitdir: ../r/.git/modules/PATH" > ../sub/.git
`, "PATH", path)
}

// linkedSubmodule does the same for one of a linked worktree, t.
const linkedSubmodule = `
git init -q up; git -C up commit -q --allow-empty -m x; git init -q r; cd r; git submodule --quiet add ../up s; git commit -q -m s
git worktree add -q ../t; cd ../t; git submodule --quiet update --init
git -C s checkout -q -b evil; cp "$EVIL" s/planted; git -C s add -A; git -C s commit -q -m evil; git -C s checkout -q --detach HEAD~
mkdir ../sub; echo "gitdir: ../r/.git/worktrees/t/modules/s" > ../sub/.git; cd ..
`

// gitDetours are ways to have a checkout of the host in sub write into $OUT.
var gitDetours = []struct{ name, script string }{
	{"a link", submodule("s") + `rm -r s; ln -s "$OUT" s`},
	{"a link renamed", submodule("s") + `rm -r s; ln -s "$OUT" l; mv l s`},
	{"a link renamed over another", submodule("s") + `rm -r s; echo > s; ln -s "$OUT" l; mv -f l s`},
	{"a further name of a link", submodule("s") + `rm -r s; ln -s "$OUT" ../l; ln -P ../l s`},
	{"a chain of links", submodule("s") + `rm -r s; ln -s "$OUT" ../l; ln -s ../l s`},
	{"a link before it", submodule("a/b/s") + `mkdir -p "$OUT/b/s"; mv a z; ln -s "$OUT" a`},
	{"a link in a directory renamed", submodule("a/b/s") + `rm -r a/b; mkdir z; ln -s "$OUT" z/s; mv z a/b`},
	{"a link deep in a directory renamed", submodule("a/b/s") + `rm -r a; mkdir -p z/b; ln -s "$OUT" z/b/s; mv z a`},
	{"the link first", submodule("s") + `git config -f .git/modules/s/config --unset core.worktree; rm -r s; ln -s "$OUT" s; git config -f .git/modules/s/config core.worktree ../../../s`},
	{"the link first, upwards from it", submodule("s") + `mkdir "$OUT/d"; ln -s "$OUT/d" l; git config -f .git/modules/s/config core.worktree ../../../l/..`},
	{"a link while it is no repository", submodule("s") + `mv .git/modules/s/objects o; rm -r s; ln -s "$OUT" s; mv o .git/modules/s/objects`},
	{"a configuration of one worktree", submodule("s") + `cd s; git sparse-checkout set x; git sparse-checkout disable; cd ..; rm -r s; ln -s "$OUT" s`},
	{"a repository without the name", submodule("s") + `git config -f .git/modules/s/config --unset core.worktree; mv .git/modules/s ../b; rm -r s; git config -f ../b/config core.worktree ../r/s; ln -s "$OUT" s; echo "gitdir: ../b" > ../sub/.git`},
	{"a repository moved out of its place", submodule("s") + `mv .git/modules/s ../b; mkdir -p ../x/y; mv ../b ../x/y/b; mkdir -p ../x; ln -s "$OUT" ../../s; ln -s "$OUT" ../s; echo "gitdir: ../x/y/b" > ../sub/.git`},
	{"a .git moved to a link", submodule("s") + `cd ..; mkdir q; ln -s "$OUT" q/s; mv r/.git q/.git; echo "gitdir: ../q/.git/modules/s" > sub/.git`},
	{"modules under another name", submodule("s") + `mv .git/modules .git/m; rm -r s; ln -s "$OUT" s; echo "gitdir: ../r/.git/m/s" > ../sub/.git`},
	{".git under another name", submodule("s") + `mv .git g; rm -r s; ln -s "$OUT" s; echo "gitdir: ../r/g/modules/s" > ../sub/.git`},
	{"a way by the name of the working tree", submodule("s") + `git config -f .git/modules/s/config core.worktree ../../../../r/s; cd ..; mv r r2; mkdir r; ln -s "$OUT" r/s; echo "gitdir: ../r2/.git/modules/s" > sub/.git`},
	{"a way to beside the repository", submodule("s") + `git config -f .git/modules/s/config core.worktree ../../../../l; ln -s "$OUT" ../l`},
	{"a repository among objects", submodule("s") + `cd ..; git clone -q --bare r/.git/modules/s e; git -C e config core.bare false; mv e r/.git/modules/s/objects/e; git config -f r/.git/modules/s/objects/e/config core.worktree ../../../../../l; ln -s "$OUT" r/l; echo "gitdir: ../r/.git/modules/s/objects/e" > sub/.git`},
	{"a repository that another one hides", submodule("p/s") + `cd .git/modules/p; mkdir objects refs; echo ref: refs/heads/main > HEAD; cd ../../..; rm -r p; mkdir p; ln -s "$OUT" p/s`},
	{"a repository hidden by a name", submodule("p/s") + `mv .git/modules/p .git/modules/p.git; echo "gitdir: ../r/.git/modules/p.git/s" > ../sub/.git; rm -r p/s; ln -s "$OUT" p/s`},
	{"a submodule in a submodule", submodule("s") + `cd ..; git -C up submodule --quiet add ../r/s in; git -C up commit -q -m in; cd r/s; git fetch -q; git merge -q origin/main; git submodule --quiet update --init
git -C in checkout -q -B evil origin/evil; git -C in checkout -q main; echo "gitdir: ../r/.git/modules/s/modules/in" > ../../sub/.git; rm -r in; ln -s "$OUT" in`},
	{"a linked worktree", linkedSubmodule + `rm -r t/s; ln -s "$OUT" t/s`},
	{"a linked worktree without .git", linkedSubmodule + `rm -r t; mkdir t; ln -s "$OUT" t/s`},
	{"a linked worktree moved away", linkedSubmodule + `mv t t2; ln -s "$OUT" t2/l; mkdir t; mv t2/l t/s`},
	{"a linked worktree whose repository moves", linkedSubmodule + `mkdir -p d/t; ln -s "$OUT" d/t/s; mv r d/r; echo "gitdir: ../d/r/.git/worktrees/t/modules/s" > sub/.git`},
	{"a linked worktree whose repository moves among others", linkedSubmodule + `mv r r2; rm -r t/s; ln -s "$OUT" t/s; echo "gitdir: ../r2/.git/worktrees/t/modules/s" > sub/.git`},
	{"a linked worktree of a repository deep down", `mkdir d; cd d; ` + linkedSubmodule + `mv sub ..; echo "gitdir: ../d/r/.git/worktrees/t/modules/s" > ../sub/.git; rm -r t/s; ln -s "$OUT" t/s; cd ..`},
}

// TestGitCheckoutStaysInside: no link comes to be on the way to the working tree
// of a repository made in the view, whatever comes first..
func TestGitCheckoutStaysInside(t *testing.T) {
	const checkout = "(cd sub && git checkout -q evil) 2>/dev/null; true"
	for _, detour := range gitDetours {
		t.Run(detour.name, func(t *testing.T) {
			s := newSides(t)
			for _, at := range [][2]string{{s.beside, s.beside}, {s.view, s.m.Backing}} {
				s.attack(t, detour.script, checkout, at[0], at[1])
				found := command{dir: filepath.Join(filepath.Dir(at[1]), "out")}.run(t, "find", ".", "-name", "planted")
				if got, want := found != "", at[0] == s.beside; got != want {
					t.Errorf("a checkout in %s wrote out of it: %t, want %t", at[1], got, want)
				}
			}
			if !s.refused() {
				t.Error("nothing was refused")
			}
		})
	}
}

// TestGitSubmodules does with submodules on the view what is done beside it: by
// paths of several names, in one another, in linked worktrees, sparse, moved,
// removed and added again. S0-08, X-09.
func TestGitSubmodules(t *testing.T) {
	s := newSides(t)
	s.same(localGit, `
state() { find . -name 'config*' -path '*.git/*' | sort | xargs grep -H worktree || true; git submodule status --recursive | sed 's/ (.*//'; git status --porcelain; }
git init -q leaf; git -C leaf commit -q --allow-empty -m leaf
git init -q up; cd up; echo 1 > f; git add f; git submodule --quiet add ../leaf deep/leaf; git commit -q -m up; cd ..
git init -q r; cd r; git submodule --quiet add ../up a/b/sub; git commit -q -m sub; git submodule --quiet update --init --recursive; state
git submodule --quiet sync --recursive; git submodule --quiet deinit -f a/b/sub; state; git submodule --quiet update --init --recursive; state
git mv a/b/sub a/b/moved; git commit -q -m moved; state; mv a/b/moved a/b/x; mv a/b/x a/b/moved
cd a/b/moved; git sparse-checkout set deep; cd ../../..; state; git -C a/b/moved sparse-checkout disable
git worktree add -q ../tree -b side; cd ../tree; git submodule --quiet update --init --recursive; state; cd ../r; state; git worktree remove --force ../tree; state
git worktree add -q in/tree -b inner; cd in/tree; git submodule --quiet update --init --recursive; cd ../..; git worktree remove --force in/tree
git init -q own; git -C own commit -q --allow-empty -m own; git submodule --quiet add ./own own 2>&1; git submodule --quiet absorbgitdirs; git commit -q -m own; state
git rm -q a/b/moved; git commit -q -m gone; rm -r .git/modules/a; ln -s own moved; git add moved; git commit -q -m link; state
mkdir node_modules; ln -s ../own node_modules/own; ln -s own beside; mkdir links; ln -s ../own links/l; mv links more; ls -l more | grep -c l
cd ..; mv r q; cd q; git status --porcelain; git submodule --quiet update; git clone -q --recurse-submodules ../up ../again; cd ../again; state
`)
	if events := s.m.events(); len(events) > 0 {
		t.Errorf("work with submodules is refused: %+v", events[0])
	}
}

// TestGitLinkByAnotherMount: a link that one mount shows on the way to a working
// tree is not made through another one that shows the same place..
func TestGitLinkByAnotherMount(t *testing.T) {
	w := newWorld(t)
	w.policy("agent", allowAll)
	script := strings.ReplaceAll(submodule("v/s"), `cp "$EVIL"`, "echo >")
	command{dir: w.mkdir("root"), env: localGit}.run(t, "bash", "-ec", script+"rm -r v/s")
	m := w.mount(w.profile("root: ./root\nmounts: [{source: ./root/r/v, target: /lib}]\npolicy: agent\npolicies: [./policies]\n"))
	link := m.Path + "/lib/s"
	if err := os.Symlink("/tmp", link); !errors.Is(err, unix.EACCES) {
		t.Errorf("symlink(%s) = %v, want EACCES", link, err)
	}
	m.wantEvent("symlink", "/lib/s", "builtin:guard:git")
	command{dir: m.Path + "/r", env: localGit}.run(t, "git", "config", "-f", ".git/modules/v/s/config", "--unset", "core.worktree")
	must(t, os.Symlink("/tmp", link))
}

// TestGitLinksUnprivileged: what a user's own daemon cannot look into keeps
// nobody from making links, unless it was locked up from the view..
func TestGitLinksUnprivileged(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	root := w.path("root")
	must(t, os.Chown(root, 1000, 1000))
	must(t, os.Mkdir(root+"/foreign", 0o700))
	m := w.mount(w.profile("root: ./root\n"), asUser(1000))
	user := command{dir: m.Path, uid: 1000, env: localGit}
	user.run(t, "bash", "-ec", `
ln -s x free
mkdir -p r; git init -q r; ln -s x r/free
chmod 0 r/.git; ! ln -s x r/l; chmod 755 r/.git; ln -s x r/l
mkdir r/.git/modules; chmod 0 r/.git/modules; ! ln -s x r/m; chmod 311 r/.git/modules; ! ln -s x r/m; chmod 755 r/.git/modules; ln -s x r/m
chmod 0 r/.git/config; ! ln -s x r/n; chmod 644 r/.git/config; ln -s x r/n
mkdir -p c/.git/worktrees; chmod 0 c; sleep 1.1; ! ln -s x l; chmod 755 c; ln -s x l
`)
}
