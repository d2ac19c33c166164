package gitguard

import (
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// made is what git init and clone write.
const made = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = false
	logallrefupdates = true
[remote "origin"]
	url = https://example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
`

// husky is made by somebody on the host who runs programs by it.
const husky = made + `[core]
	hooksPath = .husky/_
[filter "lfs"]
	clean = git-lfs clean -- %f
	required = true
[include]
	path = ../.gitconfig
`

func inView(path string) bool { return path == "../../../sub" }

// TestCheckConfig: what git's own verbs write passes, and nothing that could
// make a program of a value. X-09.
func TestCheckConfig(t *testing.T) {
	for _, c := range []struct {
		name, present, candidate string
		line                     int // of the refusal; 0 for none
		says                     string
	}{
		{"fresh", "", made, 0, ""},
		{"nothing", made, "", 0, ""},
		{"unlisted entries stay", husky, husky + "[user]\n\tname = \"A # B\"\n", 0, ""},
		{"unlisted entries move as they are", husky, "[filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f\"\n\trequired = true\n", 0, ""},
		{"unlisted entries go", husky, made, 0, ""},
		{"unlisted entries without a file before", "", husky, 13, "core.hooksPath"},
		{"a comment", made, "# by hand\n; too\n" + made, 0, ""},
		{"a comment behind a value", "", "[core]\n\tbare = false ; by hand # too\n", 0, ""},
		{"a value that changes", husky, strings.Replace(husky, ".husky/_", "/tmp/h", 1), 13, "core.hookspath is not on the list"},
		{"one of several values goes", "[a]\n\tb = 1\n\tb = 2\n", "[a]\n\tb = 1\n", 2, "some values are gone"},
		{"several values change places", "[a]\n\tb = 1\n\tb = 2\n", "[a]\n\tb = 2\n\tb = 1\n", 2, "a.b is not"},
		{"a key without a value comes to have an empty one", "[a]\n\tb\n", "[a]\n\tb =\n", 2, "a.b is not"},
		{"case of a key hides nothing", "", "[CORE]\n\tFsMonitor = x\n", 2, "core.fsmonitor is not on the list of what can be set from inside a view; run it on the host: git config core.fsmonitor"},
		{"present that git wrote otherwise", "[core] fsmonitor = x\n", "[core]\n\tfsmonitor = x\n", 2, "core.fsmonitor"},

		{"alias", "", "[alias]\n\tst = !sh\n", 2, "alias.st"},
		{"include", "", "[include]\n\tpath = x\n", 2, "include.path"},
		{"conditional include", "", "[includeIf \"gitdir:/\"]\n\tpath = x\n", 2, "includeif.gitdir:/.path"},
		{"driver", "", "[merge \"x\"]\n\tdriver = x\n", 2, "merge.x.driver"},
		{"filter", "", "[filter \"x\"]\n\tsmudge = x\n", 2, "filter.x.smudge"},
		{"text converter", "", "[diff \"x\"]\n\ttextconv = x\n", 2, "diff.x.textconv"},
		{"credential helper", "", "[credential]\n\thelper = !x\n", 2, "credential.helper"},
		{"pager", "", "[pager]\n\tstatus = x\n", 2, "pager.status"},
		{"url rewriting", "", "[url \"ext::sh\"]\n\tinsteadOf = https://\n", 2, "url.ext::sh.insteadof"},
		{"protocol", "", "[protocol \"ext\"]\n\tallow = always\n", 2, "protocol.ext.allow"},
		{"upload pack", "", "[remote \"o\"]\n\tuploadpack = x\n", 2, "remote.o.uploadpack"},
		{"helper of a remote", "", "[remote \"o\"]\n\turl = ext::sh -c x\n", 2, "remote.o.url is no address"},
		{"helper by an unknown scheme", "", "[remote \"o\"]\n\tpushurl = foo://x\n", 2, "remote.o.pushurl"},
		{"helper by a remote's name", "", "[remote \"ext::sh\"]\n\tfetch = x\n", 2, "whose name is no plain one"},
		{"helper by a branch's remote", "", "[branch \"main\"]\n\tremote = ext::sh\n", 2, "branch.main.remote"},
		{"an option by a remote's name", "", "[remote \"--upload-pack=x\"]\n\tfetch = x\n", 2, "option"},
		{"a path by a submodule's name", "", "[submodule \"../x\"]\n\tactive = true\n", 2, "a path"},
		{"a submodule's address", "", "[submodule \"a/b\"]\n\turl = ../x.git\n\tactive = true\n", 0, ""},
		{"strategies, of which each names a program", "", "[pull]\n\ttwohead = x\n", 2, "pull.twohead"},
		{"what people set for one repository", "", "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n[http]\n\tpostBuffer = 524288000\n[grep]\n\tlineNumber = true\n", 0, ""},
		{"a certificate that is not looked at", "", "[http]\n\tsslVerify = false\n", 2, "http.sslverify"},
		{"a submodule's update", "", "[submodule \"a\"]\n\tupdate = rebase\n", 0, ""},
		{"a submodule's command", "", "[submodule \"a\"]\n\tupdate = !x\n", 2, "none of checkout"},
		{"a working tree inside", "", "[core]\n\tworktree = ../../../sub\n", 0, ""},
		{"a working tree outside", "", "[core]\n\tworktree = /etc\n", 2, "core.worktree is set for submodules alone"},
		{"a working tree of no value", "", "[core]\n\tworktree\n", 2, "core.worktree"},
		{"a known section's key with a subsection", "", "[color \"x\"]\n\tui = true\n", 2, "color.x.ui"},
		{"colours", "", "[color]\n\tui = always\n[advice]\n\tdetachedHead = false\n", 0, ""},

		{"a continued line", "", "[core]\n\tbare = \\\nfalse\n", 2, "form"},
		{"an entry behind a header", "", "[core] fsmonitor = x\n", 1, "header"},
		{"an entry before a header", "", "bare = false\n", 1, "outside"},
		{"a dotted section", "", "[remote.x]\n\turl = y\n", 1, "header"},
		{"a carriage return", "", "[core]\r\n\tbare = false\r\n", 1, "control"},
		{"a NUL", "", "[core]\n\tbare = fa\x00lse\n", 2, "control"},
		{"a byte order mark", "", "\ufeff[core]\n\tbare = false\n", 1, "outside"},
		{"an open quote", "", "[user]\n\tname = \"a\n", 2, "form"},
		{"an unknown escape", "", "[user]\n\tname = a\\x\n", 2, "form"},
		{"a tab in a value", "", "[user]\n\tname = a\tb\n", 2, "form"},
		{"a backspace in a value", "", "[user]\n\tname = a\\b\n", 2, "form"},
		{"too much", "", strings.Repeat("# x\n", MaxSize/4) + "#\n", 0, "is larger"},
	} {
		r := Check([]byte(c.present), []byte(c.candidate), inView)
		switch {
		case r == nil && c.says != "":
			t.Errorf("%s: Check = nil, want %q in line %d", c.name, c.says, c.line)
		case r != nil && (c.says == "" || r.Line != c.line || !strings.Contains(strings.ToLower(r.Reason), strings.ToLower(c.says))):
			t.Errorf("%s: Check = %v, want %q in line %d", c.name, r, c.says, c.line)
		}
	}
}

func TestGoodURL(t *testing.T) {
	for s, want := range map[string]bool{
		"https://example.com/x": true, "HTTPS://example.com/x": true, "ssh://git@example.com:22/x": true, "git@example.com:x/y.git": true,
		"[::1]:x": true, "ssh://[::1]/x": true, "../x": true, "/x/y": true, "file:///x": true, "origin": true, ".": true, "up/stream": true,
		"a/b:c": true,
		"":      false, "ext::sh -c x": false, "x::y": false, "fd::3": false, "foo://x": false, "-oProxyCommand=x": false, "ssh://-x/y": false,
		"ssh://a@-x/y": false, "-x:y": false, "a@-x:y": false, "[-oX]:y": false, "ssh://[-oX]/y": false, "ssh://a@[-oX]/y": false, "ssh://%2dx/y": false, "https://x\n/y": false, "ext::": false,
	} {
		if got := goodURL(s); got != want {
			t.Errorf("goodURL(%q) = %t, want %t", s, got, want)
		}
	}
}

// TestCheckPointer: a pointer leads inside, or where it led before. X-09.
func TestCheckPointer(t *testing.T) {
	for _, c := range []struct {
		kind               Name
		present, candidate string
		ok                 bool
	}{
		{Gitfile, "", "gitdir: ../../../sub\n", true},
		{Gitfile, "", "gitdir: ../../../sub", true},
		{Gitfile, "", "", true},
		{Gitfile, "", "gitdir: /tmp/x\n", false},
		{Gitfile, "gitdir: /tmp/x\n", "gitdir: /tmp/x", true},
		{Gitfile, "gitdir: /tmp/y\n", "gitdir: /tmp/x\n", false},
		{Gitfile, "", "../../../sub\n", false},
		{Gitfile, "", "gitdir: ../../../sub\n\n", false},
		{Gitfile, "", "gitdir: ../../../sub\r\n", false},
		{Gitfile, "", "gitdir: " + strings.Repeat("x", MaxPointer), false},
		{CommonDir, "", "../../../sub\n", true},
		{CommonDir, "", "gitdir: ../../../sub\n", false},
		{Backlink, "/tmp/x\n", "/tmp/x\n", true},
		{Backlink, "", "\n", false},
	} {
		r := CheckPointer(c.kind, []byte(c.present), []byte(c.candidate), inView)
		if (r == nil) != c.ok {
			t.Errorf("CheckPointer(%d, %q, %.40q) = %v, want ok %t", c.kind, c.present, c.candidate, r, c.ok)
		}
	}
}

// TestNamesAreFolded: a backing may ignore case. X-12.
func TestNamesAreFolded(t *testing.T) {
	for name, want := range map[string]Name{
		"config": Config, "CONFIG": Config, "Config.Worktree": ConfigWorktree, ".GIT": Gitfile, "head": Head, "HEAD": Head,
		"gitdir": Backlink, "CommonDir": CommonDir, "Hooks": Hooks, "git~1": Gitfile, ".g\u200dit": Gitfile, "con\u200cfig." + strings.Repeat("\u200d", 50): Config, "configs": Other, "": Other,
	} {
		if got := NameOf(name); got != want {
			t.Errorf("NameOf(%q) = %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]bool{".git": true, ".GIT": true, "x.Git": true, "git~1": true, "git": false, ".github": false} {
		if got := NamesGitDir(name); got != want {
			t.Errorf("NamesGitDir(%q) = %t, want %t", name, got, want)
		}
	}
}

func TestHoldsGit(t *testing.T) {
	for _, c := range []struct {
		names []Name
		want  bool
	}{
		{nil, false}, {[]Name{Head}, false}, {[]Name{Objects}, false}, {[]Name{Head, Refs}, false}, {[]Name{CommonDir, Objects}, false},
		{[]Name{Head, Objects}, true}, {[]Name{Refs, Objects}, true}, {[]Name{Head, CommonDir}, true},
	} {
		has := map[Name]bool{}
		for _, n := range c.names {
			has[n] = true
		}
		if got := HoldsGit(has); got != c.want {
			t.Errorf("HoldsGit of %v = %t, want %t", c.names, got, c.want)
		}
	}
}

// TestMarkNames: what is looked for one by one is all that marks a directory.
func TestMarkNames(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range MarkNames {
		listed[vpath.Fold(name)] = true
	}
	for name, kind := range names {
		if kind.Marks() != listed[name] {
			t.Errorf("%s marks a directory: %t, is listed: %t", name, kind.Marks(), listed[name])
		}
	}
}

// TestIgnores: samples of hooks are no instructions; a remote can have such a name.
func TestIgnores(t *testing.T) {
	for name, want := range map[string]bool{"pre-commit.sample": true, "pre-commit": false, "pre-commit:.sample": false, "x.SAMPLE": false} {
		if got := Hooks.Ignores(name); got != want {
			t.Errorf("Hooks.Ignores(%q) = %t, want %t", name, got, want)
		}
		if Remotes.Ignores(name) {
			t.Errorf("Remotes.Ignores(%q) = true, want false", name)
		}
	}
}
