package main

import (
	"strings"
	"testing"
)

const testPolicy = `version: 1
name: work
file_rules:
  - name: no-dotenv
    paths: ["/**/.env"]
    operations: [read, write]
    decision: deny
    message: secrets stay out of the view
  - name: releases
    paths: ["/release/**"]
    operations: [write]
    decision: ask
  - name: all
    paths: ["/**"]
    operations: [read, write, create]
    decision: allow
`

func testProfile(t *testing.T) string {
	t.Helper()
	return tree(t, map[string]string{
		"p.yaml": `root: proj
policy: work
policies: [pol]
guards: [git]
mounts:
  - {source: cache, target: /cache, readonly: true, policy: work}
`,
		"pol/work.yaml": testPolicy, "proj/": "", "cache/": "",
		"strict.yaml": "root: proj\nsymlinks: reject\nmounts: [{source: cache, target: /cache, policy: config-readonly}]\n" +
			"zones: {drafts: {path: drafts, mode: rw, approval: {delete: blocked}}}\n",
		"drafts/":    "",
		"twice.yaml": "mounts: [{source: cache, target: /rw}, {source: cache, target: /ro, readonly: true}]\nsystem_mounts: off\n",
		"ungit.yaml": "root: proj\npolicy: work\npolicies: [pol]\nguards: [shell]\n",
		"deep.yaml":  "mounts: [{source: cache, target: /cache}]\nsystem_mounts: off\n",
	})
}

// explain prints the verdict, every rule tried, and an arrow at the one that
// decides.
func TestExplain(t *testing.T) {
	dir := testProfile(t)
	code, stdout, stderr := cli("explain", dir+"/p.yaml", "write", "/src/.env")
	want := `deny  write /src/.env  rule no-dotenv (pol/work.yaml:4)
  secrets stay out of the view
  on the host %DIR%/proj/src/.env, in a sandbox MOUNTPOINT/src/.env

/src/.env on mount / (%DIR%/proj)
  mount policy work: deny
→     deny   no-dotenv (pol/work.yaml:4)  decides: covered by /**/.env
`
	got := strings.ReplaceAll(stdout, dir, "%DIR%")
	if code != exitDenied || stderr != "" || !strings.HasPrefix(got, want) {
		t.Errorf("explain write /src/.env = %d\n%s%s\nwant %d\n%s", code, got, stderr, exitDenied, want)
	}
	if n := strings.Count(got, "→"); n != 1 {
		t.Errorf("explain write /src/.env: %d arrows, want one", n)
	}
}

func TestExplainVerdicts(t *testing.T) {
	dir := testProfile(t)
	tests := []struct {
		profile, op, path string
		code              int
		first             string // what the first line begins with
		cure              string // what the last line begins with, without "to allow it: "
	}{
		{"p.yaml", "write", "/main.go", exitOK, "allow  write /main.go  rule all (", ""},
		{"p.yaml", "unlink", "/main.go", exitDenied, "deny  unlink /main.go  rule builtin:default-deny", "add a rule with operations: [unlink] and decision: allow to the policy work"},
		{"p.yaml", "write", "/cache/x", exitDenied, "deny  write /cache/x  rule builtin:readonly-mount", "take readonly away from the mount /cache"},
		{"p.yaml", "create", "/.git/hooks/pre-commit", exitDenied, "deny  create /.git/hooks/pre-commit  rule builtin:guard:git (", `leave "git" out of guards in the profile`},
		{"p.yaml", "write", "/release/x", exitDenied, "ask  write /release/x  rule releases (", "change the rule releases ("},
		{"p.yaml", "read", "/.env", exitDenied, "deny  read /.env  rule no-dotenv (", "change the rule no-dotenv ("},
		{"deep.yaml", "read", "/other", exitDenied, "deny  read /other  rule builtin:unmounted", "add a mount with the target /other or one above it"},
		{"deep.yaml", "list", "/", exitOK, "allow  list /  rule builtin:synthesised", ""},
		{"deep.yaml", "mkdir", "/", exitDenied, "deny  mkdir /  rule builtin:unmounted", ""},
		{"p.yaml", "read", "//src/../a", exitOK, "allow  read /a  rule all (", ""},
		{"p.yaml", "rename", "/cache", exitDenied, "deny  rename /cache  rule builtin:readonly-mount", "take readonly away from the mount /cache"},
		{"deep.yaml", "rmdir", "/cache", exitDenied, "deny  rmdir /cache  rule builtin:mountpoint", "take the mount out of the profile"},
		{"strict.yaml", "symlink", "/l", exitDenied, "deny  symlink /l  rule builtin:symlink", "set symlinks: follow or inside in the profile"},
		{"strict.yaml", "write", "/cache/x", exitDenied, "deny  write /cache/x  rule no-changes (builtin/", "name another policy than config-readonly in the profile"},
		{"strict.yaml", "unlink", "/drafts/x", exitDenied, "deny  unlink /drafts/x  rule builtin:approval-delete", "give the zone /drafts mode: rw and approval: {delete: preApproved}"},
		{"twice.yaml", "write", "/rw/x", exitDenied, "deny  write /rw/x  rule builtin:readonly-mount", "take readonly away from the mount /ro"},
		{"proj", "create", "/.envrc", exitDenied, "deny  create /.envrc  rule builtin:guard:shell (", "write a profile with root: " + dir + "/proj and policy: workspace-rw, then leave \"shell\" out of guards in the profile"},
	}
	for _, tt := range tests {
		code, stdout, stderr := cli("explain", dir+"/"+tt.profile, tt.op, tt.path)
		lines := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")
		last := strings.TrimPrefix(lines[len(lines)-1], "to allow it: ")
		if code != tt.code || !strings.HasPrefix(stdout, tt.first) || !strings.HasPrefix(last, tt.cure) {
			t.Errorf("explain %s %s = %d\n%s%s\nwant %d, first %q, last %q", tt.op, tt.path, code, stdout, stderr, tt.code, tt.first, tt.cure)
		}
	}
}

func TestExplainJSON(t *testing.T) {
	dir := testProfile(t)
	code, stdout, _ := cli("explain", "--json", dir+"/p.yaml", "write", "/src/.env")
	var got explanation
	expectJSON(t, stdout, &got)
	if code != exitDenied || got.Allowed || got.Decision != "deny" || got.Rule != "no-dotenv" || got.Policy != "work" ||
		got.Host != dir+"/proj/src/.env" || got.Sandbox != "MOUNTPOINT/src/.env" || got.At != "pol/work.yaml:4" || got.Mount == nil || *got.Mount != "/" || got.Cure == "" {
		t.Errorf("explain --json = %d, %+v", code, got)
	}
	if l := got.Layers[0]; l.Kind != "mount" || !l.Decides || !l.Rules[len(l.Rules)-1].Decides {
		t.Errorf("explain --json: first layer %+v, want the one that decides", l)
	}
}

// S4-05: what a path of the view is called on the host and in a sandbox.
func TestExplainNames(t *testing.T) {
	dir := tree(t, map[string]string{
		"proj/": "", "skills/": "", "root.yaml": "root: proj\nskills: skills\n",
		"bare.yaml": "mounts: [{source: proj, target: /work}]\nskills: skills\n",
	})
	for _, tt := range []struct{ profile, path, want string }{
		{"root.yaml", "/src/a", dir + "/proj/src/a, in a sandbox MOUNTPOINT/src/a\n"},
		{"root.yaml", "/", dir + "/proj, in a sandbox MOUNTPOINT\n"},
		{"root.yaml", "/shared/skills/a", dir + "/skills/a, in a sandbox /shared/skills/a\n"},
		{"bare.yaml", "/work/a", dir + "/proj/a, in a sandbox /work/a\n"},
		{"bare.yaml", "/shared/skills", dir + "/skills, in a sandbox /shared/skills\n"},
	} {
		_, stdout, _ := cli("explain", dir+"/"+tt.profile, "read", tt.path)
		if !strings.Contains(stdout, "\n  on the host "+tt.want) {
			t.Errorf("explain %s %s:\n%s\nwant %q", tt.profile, tt.path, stdout, tt.want)
		}
	}
}

// What is judged by content is named where it counts: a change of a file that
// can be an instruction of git, in a mount with the guard.
func TestExplainSaysWhereContentCounts(t *testing.T) {
	dir := testProfile(t)
	for _, tt := range []struct {
		profile, op, path string
		want              bool
	}{
		{"p.yaml", "write", "/.git/config", true},
		{"p.yaml", "create", "/sub/.GIT", true},
		{"p.yaml", "read", "/.git/config", false},
		{"p.yaml", "write", "/.git/index", false},
		{"p.yaml", "unlink", "/.git/config", false}, // denied as it is
		{"ungit.yaml", "write", "/.git/config", false},
		{"deep.yaml", "stat", "/config", false},
	} {
		_, stdout, _ := cli("explain", dir+"/"+tt.profile, tt.op, tt.path)
		if got := strings.Contains(stdout, "its content is checked too: builtin:guard:git\n"); got != tt.want {
			t.Errorf("explain %s %s %s: %v, want %v\n%s", tt.profile, tt.op, tt.path, got, tt.want, stdout)
		}
		_, stdout, _ = cli("explain", "--json", dir+"/"+tt.profile, tt.op, tt.path)
		var e explanation
		expectJSON(t, stdout, &e)
		if got := e.Content == "builtin:guard:git"; got != tt.want {
			t.Errorf("explain --json %s %s %s: content %q", tt.profile, tt.op, tt.path, e.Content)
		}
	}
}

func TestExplainBadPath(t *testing.T) {
	dir := testProfile(t)
	for path, want := range map[string]string{
		"/../etc/passwd": "sandboxfs: path \"/../etc/passwd\": outside sandbox\n",
		"src":            "sandboxfs: path \"src\" is not absolute\n",
	} {
		for _, args := range [][]string{{"explain", dir + "/p.yaml", "read", path}, {"resolve", dir + "/p.yaml", path}} {
			if code, _, stderr := cli(args...); code != exitFailed || stderr != want {
				t.Errorf("%q = %d, %q, want %d, %q", args, code, stderr, exitFailed, want)
			}
		}
	}
}

// S0-03: resolve by component, to mount and host path.
func TestResolve(t *testing.T) {
	dir := testProfile(t)
	tests := []struct {
		profile, path string
		code          int
		stdout        string
		stderr        string
	}{
		{"p.yaml", "/src/a", exitOK, dir + "/proj/src/a  mount /  read-write  policy work\n", ""},
		{"p.yaml", "/cache/npm", exitOK, dir + "/cache/npm  mount /cache  readonly  policy work\n", ""},
		{"p.yaml", "/cachex", exitOK, dir + "/proj/cachex  mount /  read-write  policy work\n", ""},
		{"deep.yaml", "/src", exitFailed, "", "sandboxfs: /src: path not covered by any mount\n"},
	}
	for _, tt := range tests {
		code, stdout, stderr := cli("resolve", dir+"/"+tt.profile, tt.path)
		if code != tt.code || stdout != tt.stdout || stderr != tt.stderr {
			t.Errorf("resolve %s = %d, %q, %q, want %d, %q, %q", tt.path, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
	_, stdout, _ := cli("resolve", "--json", dir+"/p.yaml", "/cache/npm")
	var got resolution
	expectJSON(t, stdout, &got)
	if want := (resolution{"/cache/npm", dir + "/cache/npm", "/cache", true, "work"}); got != want {
		t.Errorf("resolve --json = %+v, want %+v", got, want)
	}
}

func TestCheck(t *testing.T) {
	dir := tree(t, map[string]string{
		"good.yaml": "root: .\n", "bad.yaml": "root: nowhere\nx: 1\n", "work.yaml": testPolicy,
	})
	t.Chdir(dir)
	code, stdout, stderr := cli("check", "good.yaml", "bad.yaml", "work.yaml")
	want := `good.yaml:1:7: note: mount / has no policy: everything is allowed there but what guards and readonly forbid
good.yaml: profile is valid
bad.yaml:1:7: root ` + dir + `/nowhere: no such file or directory
bad.yaml:2:1: unknown key "x" (known are `
	if code != exitFailed || stderr != "" || !strings.HasPrefix(stdout, want) || !strings.HasSuffix(stdout, "\nwork.yaml: policy is valid\n") {
		t.Errorf("check = %d\n%s%swant %d\n%s", code, stdout, stderr, exitFailed, want)
	}
	if code, _, _ := cli("check", "good.yaml"); code != exitOK {
		t.Errorf("check good.yaml = %d, want %d", code, exitOK)
	}
	code, stdout, _ = cli("check", "--json", "bad.yaml", "good.yaml")
	var got struct{ Files []checkedFile }
	expectJSON(t, stdout, &got)
	if code != exitFailed || len(got.Files) != 2 || len(got.Files[0].Found) != 2 || got.Files[0].Found[0].Line != 1 ||
		got.Files[0].Found[0].Severity != "error" || got.Files[1].Found[0].Severity != "note" {
		t.Errorf("check --json = %d, %+v", code, got)
	}
}
