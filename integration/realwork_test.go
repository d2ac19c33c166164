package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sides is a directory beside the mount and one on it, in which the same
// commands have to give the same results.
type sides struct {
	*world
	m            *mount
	beside, view string
}

// newSides mounts a world under a policy that allows everything, and guards.
func newSides(t *testing.T) *sides {
	t.Helper()
	w := newWorld(t)
	w.policy("agent", allowAll)
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"))
	return &sides{w, m, w.mkdir("beside"), m.Path}
}

// same runs a script on both sides and compares what it prints. The side's
// directory, which it may print, becomes SIDE.
func (s *sides) same(env []string, script string, args ...string) string {
	s.t.Helper()
	results := map[string]string{}
	for _, dir := range []string{s.beside, s.view} {
		out := command{dir: dir, env: env}.run(s.t, append([]string{"bash", "-ec", script, "bash"}, args...)...)
		results[dir] = strings.ReplaceAll(out, dir, "SIDE")
	}
	if results[s.view] != results[s.beside] {
		s.t.Errorf("%.60s…: on the view\n%s\nbeside it\n%s", script, tail(results[s.view]), tail(results[s.beside]))
	}
	return results[s.view]
}

// sameTrees compares what lies in dir on both sides, and on the backing.
func (s *sides) sameTrees(dir string, with facet) {
	s.t.Helper()
	want := snapshot(s.t, filepath.Join(s.beside, dir), with)
	wantSame(s.t, dir+" on the view", snapshot(s.t, filepath.Join(s.view, dir), with), want)
	wantSame(s.t, dir+" on the backing", snapshot(s.t, filepath.Join(s.m.Backing, dir), with), want)
}

// history writes a stream for git fast-import: count commits over 40 files, a
// branch and a merge every ten.
func history(count int) string {
	var b strings.Builder
	mark := 0
	commit := func(branch, file, text string, merge int) {
		mark++
		message := fmt.Sprintf("commit %d on %s", mark, branch)
		fmt.Fprintf(&b, "commit refs/heads/%s\nmark :%d\ncommitter A <a@example.com> %d +0000\ndata %d\n%s\n", branch, mark, 1700000000+mark, len(message), message)
		if merge > 0 {
			fmt.Fprintf(&b, "merge :%d\n", merge)
		}
		fmt.Fprintf(&b, "M 644 inline %s\ndata %d\n%s\n", file, len(text), text)
	}
	for i := range count {
		text := strings.Repeat(fmt.Sprintf("line of version %d\n", i), 20+i%50)
		commit("main", fmt.Sprintf("dir%d/file%d.txt", i%7, i%40), text, 0)
		if i%10 == 9 {
			fmt.Fprintf(&b, "reset refs/heads/topic%d\nfrom :%d\n\n", i, mark-3)
			commit(fmt.Sprintf("topic%d", i), fmt.Sprintf("topic/%d.txt", i), text, 0)
			commit("main", fmt.Sprintf("topic/%d.txt", i), text, mark)
		}
	}
	return b.String()
}

// TestGit does a developer's day on a repository with history, by the paths that
// everything else on the view has. S0-08.
func TestGit(t *testing.T) {
	s := newSides(t)
	commits := 300
	if soak {
		commits = 5000
	}
	git(t, s.Dir, "init", "-q", "--bare", "history.git")
	command{dir: s.path("history.git"), env: gitIdentity, stdin: history(commits)}.run(t, "git", "fast-import", "--quiet")
	s.same(gitIdentity, `
git clone -q "file://$1" repo
cd repo
git fsck --strict
git status --porcelain
git checkout -q -b work
for i in 1 2 3; do
	echo "change $i" >> dir1/file1.txt; echo new > "new $i"; rm -f dir2/file2.txt
	git add -A; git commit -q -m "change $i"
done
git status --porcelain
git worktree add -q ../tree -b side
(cd ../tree && echo side > side.txt && git add side.txt && git commit -q -m side && git status --porcelain)
git merge -q --no-edit side
git rebase -q --onto work~2 work~1 work
echo stashed > dir1/file1.txt; git stash -q; git stash pop -q; git checkout -q .
git gc -q --prune=now
git fsck --strict
git worktree list --porcelain
git worktree remove ../tree
git log --all --format='%H %T %P %s'
git ls-files -s
git diff --stat HEAD~3
git count-objects -v | grep -v size
git clone -q . ../local && git -C ../local rev-parse HEAD
`, s.path("history.git"))
	s.sameTrees("local/dir1", owners)
	for _, dir := range []string{s.beside, s.view} {
		must(t, os.RemoveAll(filepath.Join(dir, "repo/.git")))
	}
	s.sameTrees("repo", owners)
}

// TestGoModule builds and tests this module's own pure packages; with soak, all
// of it, with the build cache on the mount.
func TestGoModule(t *testing.T) {
	s := newSides(t)
	module, err := filepath.Abs("..")
	must(t, err)
	for _, dir := range []string{s.beside, s.view} {
		command{dir: module}.run(t, "rsync", "-a", "--exclude=.git", "--exclude=/bin", "--exclude=/integration", "--exclude=/bench", module+"/", dir+"/module/")
	}
	s.sameTrees("module", owners|times)
	s.same([]string{"GOFLAGS=-mod=mod"}, `
cd module
go build -o ../vpath.a ./internal/vpath
go vet ./internal/vpath ./internal/strictyaml ./policy 2>&1 || true
go test -count=1 ./internal/vpath ./internal/strictyaml ./policy 2>&1 | sed 's/[0-9.]*s$//'
go list -deps ./policy
`)
	if soak {
		s.same([]string{"GOFLAGS=-mod=mod"}, `
export GOCACHE=$PWD/gocache
cd module
CGO_ENABLED=0 go build -trimpath -o ../bin/ ./cmd/...
sha256sum ../bin/*
`)
	}
}

// TestStandardLibrary runs the standard library's own tests of files with their
// temporary directory on each side. TestNonpollableDeadline cannot pass on
// FUSE: it wants a file on which epoll fails.
func TestStandardLibrary(t *testing.T) {
	s := newSides(t)
	goroot := strings.TrimSpace(command{}.run(t, "go", "env", "GOROOT"))
	for _, pkg := range []string{"os", "io/fs", "path/filepath"} {
		program := s.path(strings.ReplaceAll(pkg, "/", "-") + ".test")
		command{dir: tempRoot}.run(t, "go", "test", "-c", "-o", program, pkg)
		failed := map[string][]string{}
		for _, dir := range []string{s.beside, s.view} {
			must(t, os.MkdirAll(dir+"/tmp", 0o777))
			must(t, os.Chmod(dir+"/tmp", 0o777|os.ModeSticky))
			source := filepath.Join(goroot, "src", pkg)
			out, errs, code := command{dir: source, env: []string{"TMPDIR=" + dir + "/tmp"}}.try(program, "-test.v", "-test.short="+fmt.Sprint(!soak))
			failed[dir] = failures(out)
			if code != 0 && len(failed[dir]) == 0 {
				t.Errorf("go test %s with TMPDIR in %s = exit %d\n%s%s", pkg, dir, code, tail(out), tail(errs))
			}
			if !strings.Contains(out, "--- PASS") {
				t.Errorf("go test %s with TMPDIR in %s ran no test\n%s", pkg, dir, tail(out))
			}
		}
		for _, name := range failed[s.view] {
			if !slices.Contains(failed[s.beside], name) && name != "TestNonpollableDeadline" {
				t.Errorf("go test %s: %s fails on the view and not beside it", pkg, name)
			}
		}
	}
}

// failures lists the top-level tests that failed, in the output of go test -v.
func failures(out string) []string {
	var failed []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			failed = append(failed, strings.Fields(rest)[0])
		}
	}
	return failed
}

// TestPythonVenv makes a virtual environment and runs a script from it.
func TestPythonVenv(t *testing.T) {
	s := newSides(t)
	flags := "--without-pip"
	if soak {
		flags = ""
	}
	got := s.same([]string{"PYTHONDONTWRITEBYTECODE=1"}, `
python3 -m venv `+flags+` env
mkdir app && echo 'def hello(): return "hello"' > app/__init__.py
printf '#!%s\nimport sys, app\nprint(app.hello(), sys.prefix)\n' "$PWD/env/bin/python" > run
chmod +x run
PYTHONPATH=. ./run
(cd env && find . | sort)
`)
	if !strings.HasPrefix(got, "hello SIDE/env\n") {
		t.Errorf("script of the environment printed %.60q, want hello SIDE/env", got)
	}
}

// TestNpmInstall installs a package with its dependencies.
func TestNpmInstall(t *testing.T) {
	env := []string{"npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", "npm_config_cache=" + filepath.Join(tempRoot, "npm")}
	if _, _, code := (command{dir: tempRoot, env: append(env, "npm_config_fetch_timeout=15000", "npm_config_fetch_retries=0")}).try("npm", "view", "eslint@9.9.0", "version"); code != 0 {
		t.Skip("no npm registry answers")
	}
	s := newSides(t)
	packages := "eslint@9.9.0"
	if soak {
		packages += " webpack@5.93.0 webpack-cli@5.1.4 typescript@5.5.4 jest@29.7.0"
	}
	s.same(env, `
mkdir project && cd project && npm init -y > init.json
npm install --silent --ignore-scripts `+packages+`
node node_modules/eslint/bin/eslint.js --version
npm ls --all --parseable | wc -l
`)
	for _, dir := range []string{s.beside, s.view} {
		must(t, os.Remove(dir+"/project/init.json")) // npm prints the path
	}
	s.sameTrees("project", owners)
}

// twoWriters inserts from two processes into one SQLite database in WAL mode.
const twoWriters = `
import os, sqlite3, sys
path, count = sys.argv[1], int(sys.argv[2])
def connect(): return sqlite3.connect(path, timeout=120, isolation_level=None)
db = connect()
assert db.execute("pragma journal_mode=wal").fetchone()[0] == "wal"
db.execute("create table t (writer int, n int, body text)")
db.close()
children = []
for writer in range(2):
    pid = os.fork()
    if pid == 0:
        db = connect()
        for n in range(count):
            db.execute("begin immediate")
            db.execute("insert into t values (?, ?, ?)", (writer, n, "x" * (n % 3000)))
            db.execute("commit")
        db.close()
        os._exit(0)
    children.append(pid)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
db = connect()
print(db.execute("select writer, count(*), sum(n), sum(length(body)) from t group by writer").fetchall())
print(db.execute("pragma integrity_check").fetchone()[0])
`

// TestSQLite has two writers share a database in WAL mode.
func TestSQLite(t *testing.T) {
	s := newSides(t)
	count := "300"
	if soak {
		count = "5000"
	}
	s.same(nil, `python3 -c "$1" db "$2"`, twoWriters, count)
	if got := (command{dir: s.m.Backing}).run(t, "sqlite3", "db", "pragma integrity_check; select count(*) from t"); !strings.HasPrefix(got, "ok\n") {
		t.Errorf("integrity_check on the host = %q, want ok", got)
	}
}
