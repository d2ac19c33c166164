package configs_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/configs"
	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// compiled returns the file as a policy, which must be without a flaw.
func compiled(t testing.TB, f *policy.File) []*policy.Policy {
	t.Helper()
	for _, w := range f.Warnings() {
		t.Errorf("warning: %v", w)
	}
	if f.Description == "" {
		t.Errorf("%s has no description", f.Path)
	}
	p, problems := f.Compile(policy.Vars{Mount: "/"})
	if problems != nil {
		t.Fatal(problems)
	}
	return []*policy.Policy{p}
}

// check decides each line "op[,op] path[ path]: decision[ rule]".
func check(t *testing.T, layers []*policy.Policy, lines string) {
	t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		request, want, _ := strings.Cut(strings.TrimSpace(line), ": ")
		ops, paths, _ := strings.Cut(request, " ")
		for name := range strings.SplitSeq(ops, ",") {
			op, ok := policy.ParseOp(name)
			if !ok {
				t.Fatalf("%q: unknown operation %q", line, name)
			}
			for path := range strings.SplitSeq(paths, " ") {
				v := policy.Decide(layers, vpath.Path(path), op)
				if got := v.Decision.String() + " " + v.Rule.Name; got != want && v.Decision.String() != want {
					t.Errorf("Decide(%s, %s) = %s, want %s", op, path, got, want)
				}
			}
		}
	}
}

func library(t *testing.T) *policy.Library {
	t.Helper()
	lib, problems := policy.LoadLibrary(nil, configs.Policies)
	if problems != nil {
		t.Fatal(problems)
	}
	return lib
}

func TestPolicies(t *testing.T) {
	const nothingChanges = `
		read,open,stat,list,readlink,getxattr,lock,exec / /usr/bin/env /dev/urandom: allow
		write,truncate,chmod,chown,utimes,setxattr /usr/bin/env /x /dev/urandom: deny no-changes
		create,mkdir,symlink,link,mknod,delete,unlink,rmdir,rename /x /dev/null: deny no-changes`
	const sinks = `
		open,read,stat,write,truncate /dev/null /dev/zero: allow
		chmod,chown,utimes,setxattr /dev/null: deny device-attributes`
	const all = `
		read,exec,write,chmod,create,mknod,delete,rename /x /.git/config: allow`
	want := map[string]string{
		"allow-all":       all,
		"default":         all,
		"workspace-rw":    all,
		"config-readonly": nothingChanges,
		"system-readonly": nothingChanges + sinks,
		"minimal":         nothingChanges + sinks,
	}
	lib := library(t)
	for _, name := range lib.Names() {
		t.Run(name, func(t *testing.T) {
			f, _ := lib.File(name)
			if want[name] == "" {
				t.Fatal("nobody says what this policy does")
			}
			check(t, compiled(t, f), want[name])
		})
	}
	if len(lib.Names()) != len(want) {
		t.Errorf("the policies are %v", lib.Names())
	}
}

func TestGuards(t *testing.T) {
	want := map[string]string{
		"git": `
			read,open,exec,list,stat /w/.git/hooks /w/.git/hooks/update: allow
			write,truncate,chmod,create,symlink,link,mkdir,unlink,rename /w/.git/hooks/pre-commit: deny builtin:guard:git
			create /.git/hooks/update /a/b/.git/hooks/update /bare.git/hooks/update: deny builtin:guard:git
			create /w/.git/hooks/sub/x /w/.git/modules/lib/hooks/update /w/.git/modules/a/b/hooks/update: deny builtin:guard:git
			create /w/.git/worktrees/t/hooks/update /w/.git/modules/a/modules/b/hooks/update: deny builtin:guard:git
			create,write,chmod,utimes,unlink,rename /w/.git/hooks/pre-commit.sample /w/.git/modules/a/hooks/x.sample: allow samples
			mkdir,rmdir,rename,chmod /w/.git/hooks /w/.git/modules/a/hooks: allow hooks-directory
			create,symlink,link,mknod,unlink,write /w/.git/hooks: deny builtin:guard:git
			create,write,unlink /w/.git/index.lock /w/.git/refs/heads/hooks/x /w/src/hooks/use.ts /w/.github/hooks/x: allow everything-else
			create,write,rename /u/.gitconfig /u/.gitconfig.local /u/.gitconfig-work /u/.config/git/config /w/.GITCONFIG: deny builtin:guard:git
			create,write,rename /w/.git/lazygit.yml /w/.lazygit.yml /d/lazygit.yml /w/.git/sl/config /u/.config/gh/config.yml /u/.tigrc: deny builtin:guard:git
			symlink /u/.config: deny builtin:guard:git
			create /w/.GIT/hooks/update /w/.git/Hooks/update /w/.git./hooks/update /w/git~1/hooks/update /w/.gıt/hookſ/update: deny builtin:guard:git
			create,link /w/.git/hooks/update:x.sample /w/.git/HOOKS/x.sample: deny builtin:guard:git
			create,write,rename /w/.git/config /w/.git: allow everything-else`,
		"shell": `
			read,open,stat /home/u/.bashrc: allow
			create,write,unlink,rename,symlink /home/u/.bashrc /.profile /w/.envrc /u/.config/fish/config.fish /u/.zshenv: deny builtin:guard:shell
			create,write /u/.zsh/a /u/.config/systemd/user/x.service /u/Library/LaunchAgents/x.plist /u/.ssh/config: deny builtin:guard:shell
			create,write,rename /w/.tool-versions /w/mise.toml /w/.mise.toml /w/mise.local.toml /w/.config/mise.toml /w/.mise/config.toml: deny builtin:guard:shell
			create,write /w/.irbrc /w/.Rprofile /w/.gdbinit: deny builtin:guard:shell
			create,write /w/.ENVRC /w/.envrc. /w/.Bashrc /w/bashrc~1 /NODE_MODULES/.envrc: deny builtin:guard:shell
			create,write /u/.p10k.zsh /u/.zcompdump-host-5.9 /u/.bashrc.local /u/.cargo/env /u/.config/starship.toml /w/.envrc.local: deny builtin:guard:shell
			create,write /w/.hg/hgrc /w/.sl/config /w/.pdbrc /w/.ghci /w/jupyter_server_config.py /w/.prototools: deny builtin:guard:shell
			create,write /w/.envrc.example /w/.hg/dirstate /w/.local/share/x /w/.cargo/config.toml /w/jupyter_notes.py: allow
			create,write /u/.ipython/profile_default/startup/00.py /u/.ipython/profile_x/ipython_config.py /u/.jupyter/custom/custom.js: deny builtin:guard:shell
			create,write /u/.ipython/profile_default/history.sqlite /u/.jupyter/lab/workspaces/x: allow
			symlink /w/.config /w/.hg /u/.SSH: deny builtin:guard:shell
			create,mkdir,link /w/.config /w/.hg: allow everything-else
			create,write /w/.nvmrc /w/.npmrc /w/.python-version /w/.editorconfig /w/.husky/pre-commit /w/mise/x.toml /w/library/x /w/.ssh/known_hosts: allow
			create,write /home/u/.bash_history /w/profile /w/.env /w/node_modules/x/.profile: allow`,
		"editors": `
			read,list,stat /w/.vscode/tasks.json /w/.vscode: allow
			create,write,mkdir,rename /w/.vscode /w/.vscode/tasks.json /w/.idea/workspace.xml /w/x.code-workspace /w/.dir-locals.el: deny builtin:guard:editors
			create,write /w/.VSCode/tasks.json /w/.ıdea/x /w/.idea:x/y /w/vscode~1/tasks.json /w/.Vscode: deny builtin:guard:editors
			create,write /w/.helix/languages.toml /w/.vim/coc-settings.json /w/x.sublime-project /w/_vimrc /u/.config/nvim/init.lua: deny builtin:guard:editors
			create,write /w/x.suo /w/.run/all.run.xml /w/Session.vim /w/.lazy.lua /u/.emacs.desktop /u/.vscode-server/x /u/.doom.d/init.el: deny builtin:guard:editors
			create,write /w/.run/notes.md /w/.vscode-test/x /w/.vscodeignore /w/vscode/x /w/node_modules/x/.vscode/settings.json: allow`,
		"agents": `
			read,list,stat /w/.claude /w/.mcp.json: allow
			create,write,rename,link /w/.mcp.json /w/.claude/settings.local.json /w/.claude/hooks/x.sh /w/.cursor/mcp.json /w/.codex/config.toml: deny builtin:guard:agents
			create,write,rename /w/.gemini/settings.json /w/.gemini/.env /w/.gemini/commands/a.toml /w/.github/hooks/a.json /w/.windsurf/hooks.json: deny builtin:guard:agents
			create,write,rename /w/.clinerules/hooks/x /w/.roo/mcp.json /w/.continue/config.yaml /w/.aider.conf.yml /w/opencode.json: deny builtin:guard:agents
			create,write,rename /w/.opencode/plugin/x.ts /w/.opencode/node_modules/p/index.js /w/.amp/settings.json /w/.goose/x /w/crush.json: deny builtin:guard:agents
			create,write,rename /w/.MCP.json /w/.Claude/settings.json /w/.cursor./mcp.json /w/.claude/Settings.local.json: deny builtin:guard:agents
			create,write,rename /w/.claude/launch.json /w/.codex/environments/e.toml /w/.github/extensions/x.mjs /w/.github/lsp.json: deny builtin:guard:agents
			create,write,rename /w/.grok/settings.json /w/.crush/commands/a.md /w/conductor.json /w/kilo.jsonc /w/.devin/config.json: deny builtin:guard:agents
			symlink /w/.claude /w/.Codex /w/.github /w/.codeium/x: deny builtin:guard:agents
			create,write /w/.crush/crush.db /w/.claude/worktrees/a/main.go /w/.github/workflows/x.yml /w/.github/copilot-instructions.md /w/.clinerules /w/.gemini/tmp/x /w/.codex/sessions/x /w/.aider.chat.history.md: allow
			create,write,mkdir /w/.claude /w/.claude/todos/x /w/CLAUDE.md /w/AGENTS.md /w/node_modules/x/.mcp.json: allow`,
	}
	for _, pack := range configs.Packs {
		t.Run(pack, func(t *testing.T) { check(t, compiled(t, configs.Guard(pack)), want[pack]) })
	}
}

// TestGuardsKeepLinksOffTheWay: no directory on the way to what a pack keeps can
// be a link to another one, where the pack keeps nothing..
func TestGuardsKeepLinksOffTheWay(t *testing.T) {
	free := map[string]bool{
		"/w/library": true, // is there in every home of a Mac; elsewhere it is a name like others
	}
	for _, pack := range configs.Packs {
		layers := compiled(t, configs.Guard(pack))
		for _, r := range layers[0].Rules {
			if r.Decision.Permits() {
				continue
			}
			for _, glob := range alternatives(r.Paths) {
				names := strings.Split(strings.TrimPrefix(strings.ReplaceAll(glob, "*", "x"), "/xx/"), "/")
				for i := 1; i < len(names); i++ {
					way := vpath.Path("/w/" + strings.Join(names[:i], "/"))
					if strings.HasSuffix(names[0], ".git") || free[string(way)] {
						continue // in a directory of git, package fs refuses links
					}
					if v := policy.Decide(layers, way, policy.Symlink); v.Decision != policy.Deny {
						t.Errorf("guard %s: for %s, a link at %s is %s by %s", pack, glob, way, v.Decision, v.Rule.Name)
					}
				}
			}
		}
	}
}

// alternatives are globs with their braces expanded.
func alternatives(globs []string) (plain []string) {
	for _, glob := range globs {
		end := strings.IndexByte(glob, '}')
		if end < 0 {
			plain = append(plain, glob)
			continue
		}
		start := strings.LastIndexByte(glob[:end], '{')
		for a := range strings.SplitSeq(glob[start+1:end], ",") {
			plain = append(plain, alternatives([]string{glob[:start] + a + glob[end+1:]})...)
		}
	}
	return plain
}

// TestGuardsOnlyTakeAway has every pack end in a rule that allows the rest: a
// guard is laid over all mounts.
func TestGuardsOnlyTakeAway(t *testing.T) {
	for _, pack := range configs.Packs {
		layers := compiled(t, configs.Guard(pack))
		for _, path := range []vpath.Path{"/", "/anything", "/any/where/else"} {
			if ops := policy.Allowed(layers, path); ops != policy.AllOps {
				t.Errorf("guard %s: Allowed(%s) = %s, want everything", pack, path, ops)
			}
		}
		for _, r := range layers[0].Rules {
			if !r.Decision.Permits() && (r.Name != "builtin:guard:"+pack || !strings.Contains(r.Message, "guards: [")) {
				t.Errorf("guard %s: rule %s says %q", pack, r.Name, r.Message)
			}
		}
	}
}

// Globs of a guard are compared with folded paths: what is not in that form
// covers nothing. X-12.
func TestX12_GuardsAreWrittenInFoldedForm(t *testing.T) {
	for _, pack := range configs.Packs {
		for _, r := range compiled(t, configs.Guard(pack))[0].Rules {
			for _, glob := range r.Paths {
				plain := strings.NewReplacer("*", "x", "{", "", "}", "", ",", "").Replace(glob)
				if folded := vpath.Path(plain).Fold(); string(folded) != plain {
					t.Errorf("guard %s: rule %s: glob %q folds to %q", pack, r.Name, plain, folded)
				}
			}
		}
	}
}

func TestPacksAreAllThereAre(t *testing.T) {
	entries, err := filepath.Glob("guards/*.yaml")
	if err != nil || len(entries) != len(configs.Packs) {
		t.Errorf("guards holds %v, but Packs is %v", entries, configs.Packs)
	}
	for _, pack := range configs.Packs {
		if !slices.Contains(entries, "guards/"+pack+".yaml") {
			t.Errorf("no file for the pack %s", pack)
		}
	}
}

func TestWorkspace(t *testing.T) {
	dir := t.TempDir()
	p, problems := profile.Workspace(dir)
	if problems != nil {
		t.Fatal(problems)
	}
	build(t, p)
}

// TestExamples has every example serve as it stands, without a warning.
func TestExamples(t *testing.T) {
	for _, key := range []string{"PROJECT", "WORKSPACE", "AGENT_CONFIG", "DRAFTS", "REFERENCE"} {
		t.Setenv(key, t.TempDir())
	}
	files, err := filepath.Glob("examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, problems := profile.Load(file)
			if problems != nil {
				t.Fatal(problems)
			}
			for _, r := range build(t, p) {
				if r.Warning {
					t.Errorf("%s: warning: %s", r.Pos, r.Message)
				}
			}
		})
	}
}

func build(t *testing.T, p *profile.Profile) []profile.Remark {
	t.Helper()
	lib, problems := p.Library()
	if problems != nil {
		t.Fatal(problems)
	}
	_, remarks, problems := p.Build(lib)
	if problems != nil {
		t.Fatal(problems)
	}
	return remarks
}

func TestPoliciesAreNamedByTheirFile(t *testing.T) {
	names, err := fs.Glob(configs.Policies, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, _ := library(t).File(strings.TrimSuffix(name, ".yaml"))
		if want := "builtin/policies/" + name; f == nil || f.Path != want {
			t.Errorf("the policy of %s shows as %v, want %s", name, f, want)
		}
	}
}

// BenchmarkGuards is what a new path costs under all packs.
func BenchmarkGuards(b *testing.B) {
	var layers []*policy.Policy
	for _, pack := range configs.Packs {
		layers = append(layers, compiled(b, configs.Guard(pack))...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if policy.Allowed(layers, "/home/u/project/internal/server/http/testdata/case/input.go") != policy.AllOps {
			b.Fatal("not all allowed")
		}
	}
}
