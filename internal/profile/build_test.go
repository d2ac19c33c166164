package profile

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
	"golang.org/x/sys/unix"
)

const workPolicy = `version: 1
name: work
file_rules:
  - name: no-dotenv
    paths: ["/**/.env", "${MOUNT}/secrets/**"]
    operations: ["*"]
    decision: deny
  - name: all
    paths: ["/**"]
    operations: ["*"]
    decision: allow
`

// loadText loads text as the file profile.yaml of dir.
func loadText(t *testing.T, dir, text string) *Profile {
	t.Helper()
	if err := os.WriteFile(dir+"/profile.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, problems := Load(dir + "/profile.yaml")
	if len(problems) > 0 {
		t.Fatalf("Load: %v", problems)
	}
	return p
}

// buildView builds the view of p and expects no problem.
func buildView(t *testing.T, p *Profile, files ...string) (*overlay.View, []Remark) {
	t.Helper()
	library, problems := p.Library()
	if len(problems) > 0 {
		t.Fatalf("Library: %v", problems)
	}
	view, remarks, problems := p.Build(library, files...)
	if len(problems) > 0 {
		t.Fatalf("Build: %v", problems)
	}
	return view, remarks
}

// verdict is a verdict that a test expects.
type verdict struct {
	op       policy.Op
	path     vpath.Path
	decision policy.Decision
	rule     string
}

func expectVerdicts(t *testing.T, view *overlay.View, tests []verdict) {
	t.Helper()
	for _, tt := range tests {
		got := view.Decide(tt.path, tt.op)
		if got.Decision != tt.decision || got.Rule.Name != tt.rule {
			t.Errorf("Decide(%s, %s) = %v by %s, want %v by %s", tt.path, tt.op, got.Decision, got.Rule.Name, tt.decision, tt.rule)
		}
	}
}

func TestLayers(t *testing.T) {
	dir := tree(t, map[string]string{
		"proj/": "", "cache/": "", "drafts/": "", "pol/work.yaml": workPolicy,
	})
	p := loadText(t, dir, `
root: proj
policy: work
base_policy: default
mounts:
  - {source: cache, target: /cache, policy: work, readonly: true}
zones:
  drafts: {path: drafts, mode: rw, approval: {write: preApproved, delete: blocked}}
policies: [pol]
`)
	view, _ := buildView(t, p)
	want := map[vpath.Path][]string{
		"/":       {"mount work", "base default", "guard git", "guard shell", "guard editors", "guard agents"},
		"/cache":  {"mount work", "base default", "guard git", "guard shell", "guard editors", "guard agents"},
		"/drafts": {"mount approvals", "base default", "guard git", "guard shell", "guard editors", "guard agents"},
	}
	for _, row := range view.Effective() {
		if !slices.Equal(row.Layers, want[row.Target]) {
			t.Errorf("layers of %s = %q, want %q", row.Target, row.Layers, want[row.Target])
		}
	}
	expectVerdicts(t, view, []verdict{
		{policy.Write, "/main.go", policy.Allow, "all"},
		{policy.Read, "/.env", policy.Deny, "no-dotenv"},
		{policy.Read, "/secrets/x", policy.Deny, "no-dotenv"},
		{policy.Read, "/cache/secrets/x", policy.Deny, "no-dotenv"},
		{policy.Write, "/cache/x", policy.Deny, "builtin:readonly-mount"},
		{policy.Create, "/.git/hooks/pre-commit", policy.Deny, "builtin:guard:git"},
		{policy.Create, "/drafts/x", policy.Allow, "builtin:approval-write"},
		{policy.Unlink, "/drafts/x", policy.Deny, "builtin:approval-delete"},
	})
}

func TestNoPolicy(t *testing.T) {
	dir := tree(t, map[string]string{"proj/": ""})
	view, remarks := buildView(t, loadText(t, dir, "root: proj\nguards: []\n"))
	expectVerdicts(t, view, []verdict{{policy.Write, "/x", policy.Allow, "everything"}})
	want := dir + "/profile.yaml:1:7: mount / has no policy: everything is allowed there but what guards and readonly forbid"
	if len(remarks) != 1 || remarks[0].Error() != want || remarks[0].Warning {
		t.Errorf("remarks %v, want the note %s", remarks, want)
	}
}

func TestMissingPolicies(t *testing.T) {
	dir := tree(t, map[string]string{"proj/": "", "cache/": "", "pol/broken.yaml": "version: 1\nfile_rules: []\n", "pol/work.yaml": workPolicy})
	p := loadText(t, dir, `root: proj
policy: wrok
base_policy: nowhere
mounts:
  - {source: cache, target: /cache, policy: broken}
policies: [pol]
`)
	library, problems := p.Library()
	view, _, more := p.Build(library)
	if view != nil {
		t.Errorf("Build made a view in spite of problems")
	}
	got := strings.ReplaceAll(strings.Join(messages(append(problems, more...).Sorted()), "\n"), dir, "%DIR%")
	want := strings.Join([]string{
		"%DIR%/pol/broken.yaml:2:13: a policy needs at least one rule below file_rules: what no rule allows is denied",
		`%DIR%/profile.yaml:2:9: there is no policy "wrok" (did you mean work?)`,
		`%DIR%/profile.yaml:3:14: there is no policy "nowhere"; name the directory that holds it in policies`,
	}, "\n")
	if got != want {
		t.Errorf("problems:\n%s\nwant:\n%s", got, want)
	}
}

// S1-05: without a root the system is there, readonly and under the base
// policy too.
func TestSystemMounts(t *testing.T) {
	dir := tree(t, map[string]string{"proj/": ""})
	for _, base := range []string{"default", "minimal"} {
		view, _ := buildView(t, loadText(t, dir, "mounts: [{source: proj, target: /proj}]\nbase_policy: "+base+"\n"))
		if m := view.Resolve("/usr/bin/env").Mount; m == nil || !m.System {
			t.Fatalf("base %s: no system mount governs /usr/bin/env", base)
		}
		expectVerdicts(t, view, []verdict{
			{policy.Exec, "/usr/bin/env", policy.Allow, "readable"},
			{policy.Write, "/usr/bin/env", policy.Deny, "builtin:readonly-mount"},
			{policy.Read, "/etc/shadow", policy.Deny, "builtin:unmounted"},
		})
	}
	view, _ := buildView(t, loadText(t, dir, "root: proj\n"))
	if m := view.Resolve("/usr/bin/env").Mount; m.System {
		t.Errorf("with a root, a system mount governs /usr/bin/env")
	}
}

// what the view is made of is not in it, and no absent name of it either.
func TestOwnFilesAreHidden(t *testing.T) {
	dir := tree(t, map[string]string{
		"policies/work.yaml": workPolicy, "policies/linked.yaml": "->../deep/er/other.yaml",
		"deep/er/other.yaml": strings.ReplaceAll(workPolicy, "work", "linked"),
		"src/cache/x":        "x", "alias": "->src/cache",
	})
	p := loadText(t, dir, `
root: .
policy: work
mounts:
  - {source: ./alias, target: /cache, policy: work}
  - {source: ./deep, target: /again, policy: work}
policies: [./policies]
`)
	view, _ := buildView(t, p, dir+"/log/audit.json", "/nowhere/near")
	expectVerdicts(t, view, []verdict{
		{policy.Stat, "/profile.yaml", policy.Hide, "builtin:self"},
		{policy.Create, "/profile.yaml", policy.Hide, "builtin:self"},
		{policy.List, "/policies", policy.Hide, "builtin:self"},
		{policy.Create, "/policies/absent.yaml", policy.Hide, "builtin:self"},
		{policy.Write, "/deep/er/other.yaml", policy.Hide, "builtin:self"},
		{policy.Read, "/again/er/other.yaml", policy.Hide, "builtin:self"},
		{policy.Create, "/log/audit.json", policy.Hide, "builtin:self"},
		{policy.Create, "/log/other", policy.Allow, "all"},

		{policy.Rename, "/deep", policy.Deny, "builtin:self"},
		{policy.Rename, "/deep/er", policy.Deny, "builtin:self"},
		{policy.Rename, "/again/er", policy.Deny, "builtin:self"},
		{policy.Unlink, "/alias", policy.Deny, "builtin:self"},
		{policy.Write, "/alias", policy.Deny, "builtin:self"},
		{policy.Rename, "/src", policy.Deny, "builtin:self"},
		{policy.Rename, "/src/cache", policy.Deny, "builtin:self"},
		{policy.Create, "/src/new", policy.Allow, "all"},
		{policy.Chmod, "/src", policy.Allow, "all"},
		{policy.Unlink, "/src/cache/x", policy.Allow, "all"},
		{policy.Read, "/cache/x", policy.Allow, "all"},
	})
}

// Where it cannot be told which views are below a source, as without a
// descriptor left, none of them is shown for that.
func TestUnknownViews(t *testing.T) {
	p := loadText(t, tree(t, map[string]string{"proj/": ""}), "root: proj\n")
	library, problems := p.Library()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	none, was := unix.Rlimit{}, unix.Rlimit{}
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		t.Fatal(err)
	}
	none.Max = was.Max
	if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &none, nil); err != nil {
		t.Fatal(err)
	}
	_, err := p.Views()
	view, _, problems := p.Build(library)
	if restored := unix.Prlimit(0, unix.RLIMIT_NOFILE, &was, nil); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("Views() without a descriptor = %v, want EMFILE", err)
	}
	if view != nil || len(problems) != 1 || !strings.Contains(problems.Error(), "table of mounts") {
		t.Errorf("Build() without a descriptor: a view is %t, problems %v; want none, and that the table of mounts cannot be read", view != nil, problems)
	}
}

func TestSourceInsidePolicies(t *testing.T) {
	dir := tree(t, map[string]string{"pol/work.yaml": workPolicy, "pol/sub/": ""})
	p := loadText(t, dir, "root: pol/sub\npolicy: work\npolicies: [pol]\n")
	library, _ := p.Library()
	_, _, problems := p.Build(library)
	if len(problems) != 1 || problems[0].Pos.Line != 3 || !strings.Contains(problems[0].Message, "keep policies in a directory of their own") {
		t.Errorf("root inside the policies: %v, want one problem in line 3", problems)
	}
	_, remarks := buildView(t, loadText(t, dir, "mounts: [{source: pol/sub, target: /x, policy: work}]\npolicies: [pol]\n"))
	if len(remarks) != 1 || !remarks[0].Warning {
		t.Errorf("mount inside the policies: %v, want one warning", remarks)
	}
}

// S0-04: shadowing and overlap are legal, and said.
func TestNotes(t *testing.T) {
	dir := tree(t, map[string]string{"proj/cache/": "", "pol/work.yaml": workPolicy + `  - name: late
    paths: ["/x"]
    operations: [read]
    decision: deny
`})
	_, remarks := buildView(t, loadText(t, dir, `root: proj
policy: work
mounts:
  - {source: proj/cache, target: /kept, policy: work}
policies: [pol]
`))
	var got []string
	for _, r := range remarks {
		got = append(got, strings.ReplaceAll(r.Error(), dir, "%DIR%"))
	}
	want := []string{
		`%DIR%/pol/work.yaml:12:5: rule "late" can never be reached: its paths and operations are decided before, by "all"`,
		"%DIR%/profile.yaml:4:5: mount /kept shadows what mount / has there",
		"%DIR%/profile.yaml:4:5: mounts /kept and / show the same files; the stricter verdict of both holds",
	}
	if !slices.Equal(got, want) {
		t.Errorf("remarks:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReread(t *testing.T) {
	dir := tree(t, map[string]string{"proj/": "", "other/": "", "pol/work.yaml": workPolicy})
	before := loadText(t, dir, "root: proj\npolicy: work\npolicies: [pol]\n")
	if got, want := before.WatchPaths(), []string{dir + "/profile.yaml", dir + "/pol"}; !slices.Equal(got, want) {
		t.Errorf("WatchPaths() = %q, want %q", got, want)
	}
	tests := []struct {
		text string
		same bool
	}{
		{"root: proj\nguards: []\nreload: pin\npolicy: allow-all\n", true},
		{"root: other\n", false},
		{"root: proj\nreadonly: true\n", false},
		{"root: proj\nmounts: [{source: other, target: /o}]\n", false},
		{"root: proj\nsymlinks: reject\n", false},
		{"root: proj\nsystem_mounts: on\n", false},
		{"root: proj\nowner: {uid: 1, gid: 1}\n", false},
	}
	for _, tt := range tests {
		loadText(t, dir, tt.text)
		after, problems := before.Reread()
		if len(problems) > 0 || after.SameMounts(before) != tt.same {
			t.Errorf("SameMounts after a change to %q = %v, problems %v, want %v, none", tt.text, !tt.same, problems, tt.same)
		}
	}
}
