package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// localGit lets git clone by path, as submodules of the tests do.
var localGit = append(gitIdentity[:len(gitIdentity):len(gitIdentity)],
	"GIT_CONFIG_COUNT=4", "GIT_CONFIG_KEY_2=protocol.file.allow", "GIT_CONFIG_VALUE_2=always", "GIT_CONFIG_KEY_3=advice.detachedHead", "GIT_CONFIG_VALUE_3=false")

// hostRepository makes a repository whose configuration runs programs: a hook in
// the way of husky, a filter, an alias.
const hostRepository = `
git init -q up
cd up
echo one > f; mkdir dir; echo two > dir/g
git add .; git commit -q -m one
cd ..
git clone -q up work
cd work
mkdir .husky; printf '#!/bin/sh\necho hook ran\n' > .husky/pre-commit; chmod +x .husky/pre-commit
git config core.hooksPath .husky
git config filter.upper.clean 'tr a-z A-Z'
git config alias.st status
git config include.path ../.gitconfig
echo '*.txt filter=upper' > .gitattributes
git add .; git commit -q -m husky
`

// daily are the verbs of a day, in an existing repository or in a new one.
const daily = `
git config user.name Somebody; git config user.name; git config --unset user.name
git remote add other ../up; git remote rename other another; git remote set-url another ../up; git remote remove another
git branch -q --track topic origin/main; git checkout -q topic; echo 3 > h.txt; git add h.txt; git commit -q -m three
git show HEAD:h.txt
git checkout -q main; echo 4 > i; git add i; git commit -q -m four; git rebase -q topic; git log --format=%s
echo 5 >> f; git stash -q; git stash pop -q; git checkout -q f; git status --porcelain
git push -q -f origin main:refs/heads/pushed; git fetch -q; git branch -r
git worktree add -q ../tree -b side; git -C ../tree commit -q --allow-empty -m side; git worktree move ../tree ../tree2
git -C ../tree2 status --porcelain; git worktree lock ../tree2; git worktree unlock ../tree2; git worktree repair; git worktree list; git worktree remove ../tree2; git worktree prune
git submodule --quiet add ../up sub; git submodule --quiet sync; git submodule --quiet update --init; git submodule foreach --quiet 'git config --local --list'
git commit -q -m sub; git submodule --quiet deinit -f sub; git submodule --quiet update --init; cat sub/.git; git -C sub status --porcelain
git mv sub moved; git commit -q -m moved; git -C moved status --porcelain; cat moved/.git
git sparse-checkout set --cone dir; ls; git worktree add -q ../sparse -b sparse; ls ../sparse; cat .git/worktrees/sparse/config.worktree; git worktree remove ../sparse; git branch -q -D sparse; git sparse-checkout disable
git config maintenance.auto false; git config maintenance.strategy incremental; git gc -q --prune=now; git maintenance run --task=commit-graph --quiet; git fsck --strict; git pull -q --rebase origin main; git branch -m topic renamed; git branch -D -q side
git config --list --local | sort; git log --all --format='%H %s' | sort; git status --porcelain
`

// TestGitVerbsUnderGuard does a day's work with git on the view and beside it,
// in a repository that the host has made and in those made there; what comes out
// is the same. S0-08, X-09.
func TestGitVerbsUnderGuard(t *testing.T) {
	s := newSides(t)
	for _, dir := range []string{s.beside, s.m.Backing} {
		command{dir: dir, env: localGit}.run(t, "bash", "-ec", hostRepository)
		command{dir: dir, env: localGit}.run(t, "git", "-C", "work", "remote", "set-url", "origin", "../up")
	}
	s.same(localGit, "cd work\n"+daily)
	s.same(localGit, `
git init -q new; git init -q --bare bare; git init -q --bare named.git; git init -q --separate-git-dir=apart separate; cat separate/.git
for how in "" --bare "--local" "--depth=1 --no-local" --mirror "--no-hardlinks" "--shared" "--filter=blob:none --no-local"; do
	git clone -q $how up "clone$how"
done
git clone -q --recurse-submodules -b main up again
cat */.git/config */config | sed 's/filemode.*//' | sort | uniq -c
cd again
`+daily)
	if events := s.m.events(); len(events) > 0 {
		t.Errorf("a day's work is refused: %+v", events[0])
	}
	err := filepath.WalkDir(s.m.Backing, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".sandboxfs") {
			t.Errorf("%s is left behind", path)
		}
		return err
	})
	must(t, err)
}

// gitAttacks are scripts that make git run $EVIL on the host for whoever works
// there in one of the directories r, x and sub. $OUT is a repository beside the
// view that does it. One whose name begins with a star meets no refusal: what it
// does reaches a file that git does not read any more.
var gitAttacks = []struct{ name, script string }{
	{"write of the config", `git init -q r; printf "$FSMONITOR" >> r/.git/config`},
	{"truncation of the config", `git init -q r; printf "$FSMONITOR" > r/.git/config`},
	{"git config", `git init -q r; git -C r config core.fsmonitor "$EVIL"`},
	{"git config of an include", `git init -q r; printf "$FSMONITOR" > r/inc; git -C r config include.path ../inc`},
	{"a lock file", `git init -q r; printf "$FSMONITOR" > r/.git/config.lock; mv -f r/.git/config.lock r/.git/config`},
	{"another file renamed", `git init -q r; printf "$FSMONITOR" > plain; mv -f plain r/.git/config`},
	{"a hard link", `git init -q r; printf "$FSMONITOR" > plain; rm r/.git/config; ln plain r/.git/config`},
	{"a symbolic link", `git init -q r; printf "$FSMONITOR" > plain; rm r/.git/config; ln -s ../../plain r/.git/config`},
	{"a config that is gone", `git init -q r; rm r/.git/config; printf "$FSMONITOR" > r/.git/config`},
	{"*a hard link of the lock file", `git init -q r; cp r/.git/config r/.git/config.lock; ln r/.git/config.lock alias; mv -f r/.git/config.lock r/.git/config; printf "$FSMONITOR" >> alias`},
	{"*a descriptor of the lock file", `git init -q r; cp r/.git/config r/.git/config.lock; exec 9>> r/.git/config.lock; mv -f r/.git/config.lock r/.git/config; printf "$FSMONITOR" >&9`},
	{"*a mapping of the lock file", `git init -q r; python3 - <<'PY'
import mmap, os
text = open("r/.git/config").read()
evil = os.environ["FSMONITOR"].replace("\\n", "\n").replace("\\t", "\t")
f = open("r/.git/config.lock", "w+"); f.write(text + "#" * len(evil)); f.flush()
m = mmap.mmap(f.fileno(), 0)
os.rename("r/.git/config.lock", "r/.git/config")
m[len(text):] = evil.encode(); m.flush()
PY`},
	{"*a descriptor from before the rename of the config", `git init -q r; mv r/.git/config free; exec 9>> free; mv free r/.git/config; printf "$FSMONITOR" >&9`},
	{"config.worktree", `git init -q r; git -C r config extensions.worktreeConfig true; printf "$FSMONITOR" > r/.git/config.worktree`},
	{"a repository without the name, config first", `mkdir x; printf "$BARE" > x/config; mkdir x/objects x/refs; echo ref: refs/heads/main > x/HEAD`},
	{"a repository without the name, config last", `mkdir x; mkdir x/objects x/refs; echo ref: refs/heads/main > x/HEAD; printf "$BARE" > x/config`},
	{"a repository without the name, parts renamed", `mkdir y x; printf "$BARE" > y/config; mkdir y/o y/refs; echo ref: refs/heads/main > y/H; mv y/config x/config; mv y/o x/objects; mv y/refs x/refs; mv y/H x/HEAD`},
	{"a repository without the name, parts linked", `mkdir y x; printf "$BARE" > y/config; echo ref: refs/heads/main > y/H; mkdir x/objects x/refs; ln y/H x/HEAD; ln y/config x/config`},
	{"*a repository without the name, a descriptor from before", `mkdir x; printf '[core]\n\tbare = false\n' > x/config; exec 9>> x/config; mkdir x/objects x/refs; echo ref: refs/heads/main > x/HEAD; printf "$BARE" >&9`},
	{"*a repository without the name, another name from before", `mkdir x; printf '[core]\n\tbare = false\n' > x/config; ln x/config alias; mkdir x/objects x/refs; echo ref: refs/heads/main > x/HEAD; printf "$BARE" >> alias`},
	{"a repository without the name, HEAD a link", `mkdir x; printf "$BARE" > x/config; mkdir x/objects x/refs; ln -s refs/heads/main x/HEAD`},
	{"a repository without the name, away and back", `git init -q --bare x; mv x/HEAD x/H; printf "$BARE" > x/config; mv x/H x/HEAD`},
	{"a directory renamed to .git", `mkdir r r/y; printf "$FSMONITOR" > r/y/config; mkdir r/y/objects r/y/refs; mv r/y r/.git; echo ref: refs/heads/main > r/.git/HEAD`},
	{"a .git that the host completes", `mkdir -p r/y; printf "$FSMONITOR" > r/y/config; mv r/y r/.git; mkdir -p r/.git; printf "$FSMONITOR" > r/.git/config`},
	{"a common directory without HEAD", `mkdir -p t/objects t/refs d sub; printf "$FSMONITOR" > t/config; echo ref: refs/heads/main > d/HEAD; echo ../t > d/commondir; echo "gitdir: ../d" > sub/.git; echo x > d/gitdir`},
	{"a common directory outside", `mkdir d sub; echo ref: refs/heads/main > d/HEAD; echo "$OUT/.git" > d/commondir; echo "gitdir: ../d" > sub/.git`},
	{"a pointer to outside", `mkdir sub; echo "gitdir: $OUT/.git" > sub/.git`},
	{"a pointer to outside, renamed", `mkdir sub; echo "gitdir: $OUT/.git" > plain; mv plain sub/.git`},
	{"a pointer to outside, linked", `mkdir sub; echo "gitdir: $OUT/.git" > plain; ln plain sub/.git`},
	{"*a pointer to outside, by a descriptor", `mkdir sub; exec 9> plain; mv plain sub/.git; echo "gitdir: $OUT/.git" >&9`},
	{"a pointer to outside, in pieces", `mkdir sub; printf "gitdir: " > sub/.git; printf "$OUT/.git" >> sub/.git`},
	{"a pointer to outside, moved up", `mkdir -p deep/er; echo "gitdir: ../../out/.git" > deep/er/.git; mv deep/er sub`},
	{"a pointer through a link", `mkdir sub; ln -s "$OUT" way; echo "gitdir: ../way/.git" > sub/.git`},
	{".git a link to outside", `mkdir sub; ln -s "$OUT/.git" sub/.git`},
	{".git a link to outside, renamed", `mkdir sub; ln -s "$OUT/.git" plain; mv plain sub/.git`},
	{"config of a submodule", `git init -q up; git -C up commit -q --allow-empty -m x; git init -q r; cd r; git submodule --quiet add ../up s; printf "$FSMONITOR" >> .git/modules/s/config`},
	{"common directory of a worktree", `git init -q up; git -C up commit -q --allow-empty -m x; git -C up worktree add -q ../sub; echo "$OUT/.git" > up/.git/worktrees/sub/commondir`},
	{"hooks of a repository without the name", `git init -q --bare x; cp "$EVIL" x/hooks/post-index-change; git init -q up; printf '[core]\n\tbare = false\n\tworktree = ..\n\trepositoryformatversion = 0\n' > x/config; cp "$EVIL" x/hooks/fsmonitor-watchman; git -C x config core.bare false; git -C x config core.worktree ../up; chmod +x x/hooks/*`},
	{"hooks renamed into a repository without the name", `git init -q --bare x; git init -q up; mkdir h; cp "$EVIL" h/post-index-change; rm -r x/hooks; mv h x/hooks; git -C x config core.bare false; git -C x config core.worktree ../up`},
	{"a sample renamed to a hook", `git init -q --bare x; git init -q up; cp "$EVIL" x/hooks/post-index-change.sample; mv x/hooks/post-index-change.sample x/hooks/post-index-change; git -C x config core.bare false; git -C x config core.worktree ../up`},
}

// hostWork is what somebody does on the host afterwards, in every directory that
// an attack may have made.
const hostWork = `
for dir in r x sub up .; do
	[ -d $dir ] || continue
	(cd $dir; [ -d .git ] && ! [ -e .git/HEAD ] && git init -q; git status; git add -A .; git commit -q --allow-empty -m host; git status --short; git read-tree --reset HEAD; git update-index --refresh)
done >/dev/null 2>&1
true
`

// TestGitAttacks tries what would make git run a program on the host. Each is
// done beside the mount too, where it has to work: else it shows nothing. X-01,
//
func TestGitAttacks(t *testing.T) {
	for _, attack := range gitAttacks {
		t.Run(strings.TrimPrefix(attack.name, "*"), func(t *testing.T) {
			newSides(t).fails(t, attack.script, hostWork, strings.HasPrefix(attack.name, "*"))
		})
	}
}

// fails tries an attack on both sides, with work on the host after it. Unless it
// is a silent one, something has to be refused.
func (s *sides) fails(t *testing.T, script, work string, silent bool) {
	t.Helper()
	if s.attack(t, script, work, s.beside, s.beside); !s.owned(s.beside) {
		t.Error("beside the mount it does not work either")
	}
	s.attack(t, script, work, s.view, s.m.Backing)
	if s.owned(s.m.Backing) {
		t.Error("git ran it on the host")
	}
	command{dir: s.view, env: localGit}.run(t, "bash", "-c", work)
	if s.owned(s.m.Backing) {
		t.Error("git ran it for the host's user on the view")
	}
	if s.refused() == silent {
		t.Errorf("refused: %t; events %+v", !silent, s.m.events())
	}
}

// refused reports whether the guard has refused anything.
func (s *sides) refused() bool {
	for _, e := range s.m.events() {
		if e.Rule == "builtin:guard:git" || e.Rule == "builtin:subtree" {
			return true
		}
	}
	return false
}

// attack runs a script in dir, and then the work in the directory that dir shows.
func (s *sides) attack(t *testing.T, script, work, dir, host string) {
	t.Helper()
	out := filepath.Join(filepath.Dir(host), "out")
	must(t, os.RemoveAll(out))
	evil := filepath.Join(host, "evil")
	must(t, os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+host+"/owned\n"), 0o755))
	fsmonitor := fmt.Sprintf("[core]\n\tfsmonitor = %s\n\tpager = cat\n", evil)
	git(t, filepath.Dir(host), "init", "-q", "out")
	must(t, os.WriteFile(out+"/.git/config", []byte("[core]\n\trepositoryformatversion = 0\n\tbare = false\n"+fsmonitor), 0o644))
	quoted := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace
	env := append(localGit[:len(localGit):len(localGit)], "EVIL="+evil, "OUT="+out, "FSMONITOR="+quoted(fsmonitor),
		"BARE="+quoted("[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n"+fsmonitor))
	command{dir: dir, env: env}.try("bash", "-c", script)
	if s.owned(host) {
		must(t, os.Remove(host+"/owned")) // git has run it inside of the view, where nothing is kept from that
	}
	command{dir: host, env: localGit}.run(t, "bash", "-c", work)
}

func (s *sides) owned(host string) bool {
	_, err := os.Stat(host + "/owned")
	return !errors.Is(err, unix.ENOENT)
}

// TestGitConfigRace rewrites the lock file while it is renamed onto the config:
// what stands there is what was checked..
func TestGitConfigRace(t *testing.T) {
	w := newWorld(t)
	git(t, w.path("root"), "init", "-q")
	m := w.mount(w.profile("root: ./root\n"))
	good := read(t, m.Backing+"/.git/config") + strings.Repeat("# 456789\n", 50)
	evil := strings.Replace(good, strings.Repeat("# 456789\n", 50), "[core]\n\tfsmonitor = x\n"+strings.Repeat("#", 450-22)+"\n", 1)[:len(good)]
	config, lock := m.Path+"/.git/config", m.Path+"/.git/config.lock"
	rounds := 300
	if soak {
		rounds = 10000
	}
	for range rounds {
		f, err := os.Create(lock)
		must(t, err)
		_, err = f.WriteString(good)
		must(t, err)
		done := make(chan bool)
		go func() {
			defer close(done)
			for range 20 {
				f.WriteAt([]byte(evil), 0)
				f.WriteAt([]byte(good), 0)
			}
			f.WriteAt([]byte(evil), 0)
		}()
		err = unix.Rename(lock, config)
		<-done
		f.Close()
		if got := read(t, m.Backing+"/.git/config"); strings.Contains(got, "fsmonitor") {
			t.Fatalf("after a rename (%v) the config holds\n%s", err, got)
		}
		if err != nil {
			must(t, os.Remove(lock))
		}
	}
}

// TestGitGuardUnprivileged: a user's own daemon makes fresh files as well.
func TestGitGuardUnprivileged(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	must(t, os.Chown(w.path("root"), 1000, 1000))
	m := w.mount(w.profile("root: ./root\n"), asUser(1000))
	user := command{dir: m.Path, uid: 1000, env: localGit}
	user.run(t, "bash", "-ec", `
git init -q r; cd r; git config user.name x; git commit -q --allow-empty -m x; git remote add o ../r
git clone -q . ../c; git worktree add -q ../w; git -C ../w status
! git config core.fsmonitor x
`)
	m.wantEvent("rename", "/r/.git/config.lock", "builtin:guard:git")
	st, err := os.Stat(m.Backing + "/r/.git/config")
	must(t, err)
	if got := st.Sys().(*syscall.Stat_t).Uid; got != 1000 || st.Mode() != 0o644 {
		t.Errorf("config belongs to %d with mode %v, want 1000 and 0644", got, st.Mode())
	}
}
