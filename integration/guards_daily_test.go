package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// dailyWork is what the default guards must not be in the way of. Each row
// stands in the table of docs/policy.md. A script runs beside the mount and on
// it, and has to print the same.
var dailyWork = []struct{ what, needs, script string }{
	{"git: init, add, mv, rm, commit, amend, tag, notes", "", `
git init -q repo && cd repo
echo one > a && echo two > b && git add . && git commit -q -m one
git mv a c && git rm -q b && git commit -q -m two
echo three > c && git commit -q -a --amend -m three && git tag v1 && git notes add -m noted
git log --format='%s %N' && git status --porcelain && git show --stat --format=%H v1`},
	{"git: clone, fetch, pull, push, remote, branch --track", "", `
git init -q --bare up.git && git clone -q up.git one 2>/dev/null && git clone -q up.git two 2>/dev/null
cd one && echo a > a && git add a && git commit -q -m a && git push -q origin HEAD && cd ../two
git pull -q --ff-only origin main && git fetch -q --all && git branch -q --track there origin/main
git remote add second ../one && git fetch -q second && git remote rename second third && git remote remove third
git log --format=%s there && git clone -q --depth 1 "file://$PWD/../up.git" ../shallow && git -C ../shallow log --oneline`},
	{"git: switch, merge, rebase, cherry-pick, revert, reset, restore, stash, bisect, clean", "", `
git init -q work && cd work
for i in 1 2 3 4; do echo $i > f$i && git add . && git commit -q -m $i; done
git switch -q -c side HEAD~2 && echo s > s && git add s && git commit -q -m s && git rebase -q main
git switch -q -c pick main~1 && echo p > p && git add p && git commit -q -m p
git switch -q main && git merge -q --no-ff --no-edit side && git cherry-pick pick >/dev/null && git revert --no-edit HEAD >/dev/null
git reset -q --hard HEAD~1 && echo x > f1 && git stash -q && git stash pop -q && git restore f1
git bisect start -q HEAD HEAD~3 >/dev/null && git bisect reset -q && touch junk && git clean -qf
git log --format='%s' && git status --porcelain`},
	{"git: worktree, submodule, sparse-checkout, gc, maintenance, fsck", "", `
git init -q lib && (cd lib && echo l > l && git add l && git commit -q -m l)
git init -q top && cd top && mkdir d && echo d > d/d && git add d && git commit -q -m d
git -c protocol.file.allow=always submodule add -q "$PWD/../lib" sub && git commit -q -m sub
git -c protocol.file.allow=always submodule update -q --init && git submodule sync -q
git worktree add -q ../tree -b tree && (cd ../tree && echo t > t && git add t && git commit -q -m t) && git worktree remove ../tree
git sparse-checkout set d && ls && git sparse-checkout disable && git gc -q && git maintenance run && git fsck --strict
git log --all --format=%s`},
	{"git: format-patch, am, apply, archive, bundle, blame, grep", "", `
git init -q from && cd from && echo 1 > f && git add f && git commit -q -m 1 && echo 2 > f && git commit -q -a -m 2
git format-patch -q -1 -o .. && git diff HEAD~1 > ../diff && git reset -q --hard HEAD~1 && git am -q ../0001-2.patch
git reset -q --hard HEAD~1 && git apply ../diff && git commit -q -a -m 3 && git archive HEAD | tar -tf -
git bundle create -q ../b HEAD && git clone -q ../b ../again && git blame -s f && git grep -n 2`},
	{"npm: init, install with scripts, a package that brings dotfiles, run, ci", "npm", `
view=$PWD && mkdir ../dep && cd ../dep && echo '{"name": "dep", "version": "1.0.0", "scripts": {"install": "node build.js"}}' > package.json && mkdir .vscode .claude && echo '{}' | tee .vscode/settings.json .claude/settings.json .mcp.json >/dev/null
echo : > .envrc && echo 'require("fs").writeFileSync("built", "yes")' > build.js && npm pack --silent --pack-destination "$view"
rm -r ../dep && mkdir "$view/app" && cd "$view/app" && npm init -y >/dev/null && npm install --silent ../dep-1.0.0.tgz is-odd@3.0.1 >/dev/null
node -p 'require("is-odd")(3)' && cat node_modules/dep/built && (cd node_modules/dep && find . -name '.[a-z]*' | sort)
npm pkg set scripts.hi="echo hi" && npm run --silent hi && npm ci --silent >/dev/null && npm ls --parseable | wc -l`},
	{"go: mod init, get, mod tidy, mod vendor, build, test", "goproxy", `
mkdir mod && cd mod && go mod init example.com/mod 2>/dev/null
printf 'package main\n\nimport "rsc.io/quote"\n\nfunc main() { println(len(quote.Hello())) }\n' > main.go
printf 'package main\n\nimport "testing"\n\nfunc TestMain1(t *testing.T) {}\n' > main_test.go
go get rsc.io/quote@v1.5.2 2>/dev/null && go mod tidy 2>/dev/null && go mod vendor && go build -o prog . && ./prog 2>&1
go test ./... | cut -f1,2 && go vet . && ls vendor/rsc.io`},
	{"pip: venv, install of a wheel, uninstall", "", `
python3 -m venv --without-pip env
python3 - <<'END'
import zipfile
with zipfile.ZipFile("hello-1.0-py3-none-any.whl", "w") as z:
    z.writestr("hello/__init__.py", "def main(): print('hello')\n")
    z.writestr("hello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n")
    z.writestr("hello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("hello-1.0.dist-info/entry_points.txt", "[console_scripts]\nhello = hello:main\n")
    z.writestr("hello-1.0.dist-info/RECORD", "")
END
python3 -m pip --python env/bin/python install -q --no-index --disable-pip-version-check ./hello-1.0-py3-none-any.whl && env/bin/hello
python3 -m pip --python env/bin/python uninstall -q -y hello && ls env/bin`},
	{"an editor's save: vim with each backupcopy, sed -i, rename of a new file", "vim", `
echo one > file && chmod 640 file && ln file twin
for how in yes no auto; do vim -es -u NONE -N -c "set backupcopy=$how backup writebackup" -c "normal Gosaved by $how" -c wq file </dev/null; done
sed -i s/one/two/ file && cat file && stat -c %a file
python3 -c 'import os; f = open(".file.tmp", "w"); f.write("new\n"); f.flush(); os.fsync(f.fileno()); os.replace(".file.tmp", "file")'
cat file twin && ls -A`},
	{"dotfiles that nobody runs: .gitignore, .env, .npmrc, .editorconfig, .github/workflows, .nvmrc", "", `
mkdir -p .github/workflows .claude
for f in .gitignore .gitattributes .env .npmrc .editorconfig .nvmrc .python-version .prettierrc .dockerignore .github/workflows/ci.yml CLAUDE.md AGENTS.md .claude/notes.md; do
	echo a > "$f" && echo b >> "$f" && mv "$f" "$f.old" && mv "$f.old" "$f" && chmod 600 "$f" && cat "$f"
done`},
}

// TestDailyWorkUnderGuards does the rows of the table with the real tools, under
// all packs. X-09.
func TestDailyWorkUnderGuards(t *testing.T) {
	docs := read(t, "../docs/policy.md")
	cache := filepath.Join(tempRoot, "daily")
	env := append([]string{
		"npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false", "npm_config_cache=" + cache + "/npm",
		"GOFLAGS=-modcacherw", "GOMODCACHE=" + cache + "/mod", "GOTOOLCHAIN=local", "PYTHONDONTWRITEBYTECODE=1",
	}, gitIdentity...)
	for _, work := range dailyWork {
		name, _, _ := strings.Cut(strings.Replace(work.what, ":", "", 1), ",")
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(docs, "| "+strings.Replace(work.what, ": ", " | ", 1)+" |") {
				t.Errorf("docs/policy.md has no row %q", work.what)
			}
			if why := lacks(work.needs, env); why != "" {
				t.Skip(why)
			}
			s := newSides(t)
			s.same(env, work.script)
			for _, e := range s.m.events() {
				if strings.HasPrefix(e.Rule, "builtin:guard:") {
					t.Errorf("%s was refused: %s %s", e.Rule, e.Operation, e.Path)
				}
			}
		})
	}
}

// lacks says why what a row needs is not there, or "".
func lacks(needs string, env []string) string {
	probe := map[string][]string{
		"npm":     {"npm", "view", "is-odd@3.0.1", "version", "--fetch-timeout=15000", "--fetch-retries=0"},
		"goproxy": {"go", "list", "-m", "rsc.io/quote@v1.5.2"},
		"vim":     {"vim", "--version"},
	}[needs]
	if probe == nil {
		return ""
	}
	if _, errs, code := (command{dir: tempRoot, env: env}).try(probe...); code != 0 {
		return strings.Join(probe[:2], " ") + " does not answer: " + tail(errs)
	}
	return ""
}
