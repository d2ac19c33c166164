package policy

import (
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// rules returns a policy file with the given flow mappings as rules.
func rules(lines ...string) string {
	return "version: 1\nfile_rules:\n  - " + strings.Join(lines, "\n  - ") + "\n"
}

const everything = `{name: all, paths: ["/**"], operations: ["*"], decision: allow}`

// TestParseReportsEveryProblem has one file with seventeen mistakes named one by
// one, each at its place. S1-08.
func TestParseReportsEveryProblem(t *testing.T) {
	const text = `version: 2
name: other
file_rules:
  - name: first
    path: ["/a"]
    operations: [red, write]
    decision: permit
  - name: first
    paths: ["a/**", "/[a", "/ok"]
    operations: []
    decision: deny
    timeout: 5m
  - name: builtin:mine
    paths: []
    operations: ["*"]
    decision: ask
    timeout: soon
  - paths: ["~/x"]
    operations: [read]
    decision: approve
    timeout: -1s
`
	want := []string{
		`p.yaml:1:10: version 2 is not known; this program reads version 1`,
		`p.yaml:2:7: the name "other" differs from the file's name; policies are found by it, so write "p" or rename the file`,
		`p.yaml:4:5: the rule has no paths; for all of them write paths: ["/**"]`,
		`p.yaml:5:5: unknown key "path" (did you mean "paths"?)`,
		`p.yaml:6:18: unknown operation "red" (did you mean "read"?)`,
		`p.yaml:7:15: unknown decision "permit" (known are deny, hide, ask, audit, allow, approve)`,
		`p.yaml:8:11: there is a rule "first" already, in line 4`,
		`p.yaml:9:13: glob "a/**": a glob begins with "/": it covers virtual paths, all of them absolute`,
		`p.yaml:9:21: glob "/[a": a bracket or brace is not closed, a class is empty, or a backslash stands at the end; write \ before a character that is meant as it is`,
		`p.yaml:10:17: a rule without an operation covers nothing; for all of them write operations: ["*"]`,
		`p.yaml:12:14: a timeout belongs to the decision ask alone`,
		`p.yaml:13:11: names that begin with "builtin:" are those of built-in rules`,
		`p.yaml:14:12: a rule without a path covers nothing; for all of them write paths: ["/**"]`,
		`p.yaml:17:14: timeout: expects a duration such as 30s, 5m or 2h, got "soon"`,
		`p.yaml:18:5: the rule has no name; refusals, events and metrics tell it by its name`,
		`p.yaml:18:13: glob "~/x": "~" is not expanded in a glob; write ${HOME}`,
		`p.yaml:21:14: a timeout is longer than nothing, such as 30s or 5m`,
	}
	f, problems := Parse("p.yaml", []byte(text))
	if f != nil {
		t.Error("Parse returned a file in spite of problems")
	}
	got := strings.Split(problems.Error(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("problem %d differs; Parse returned\n%s\nwant\n%s", i, problems.Error(), strings.Join(want, "\n"))
		}
	}
}

func TestParseProblem(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty file", "", `p.yaml:1:1: version is missing`},
		{"no rules", "version: 1\n", `p.yaml:1:1: a policy needs at least one rule`},
		{"empty rules", "version: 1\nfile_rules: []\n", `p.yaml:2:13: a policy needs at least one rule`},
		{"rules of the wrong kind", "version: 1\nfile_rules: all\n", `p.yaml:2:13: file_rules: expects a list, got "all"`},
		{"rule of the wrong kind", rules("all"), `p.yaml:3:5: file_rules: expects keys with values, got "all"`},
		{"broken YAML", "version: 1\nfile_rules: [\n", `p.yaml:2:1: not valid YAML`},
		{"unquoted star", "version: 1\nfile_rules:\n  - name: x\n    operations: [*]\n", `needs quotes, as in "*"`},
		{"empty name", rules(`{name: " ", paths: ["/x"], operations: [read], decision: deny}`), `p.yaml:3:12: the rule's name is empty`},
		{"unprintable name", rules(`{name: "a\nb", paths: ["/x"], operations: [read], decision: deny}`), `p.yaml:3:12: the rule's name "a\nb" holds`},
		{"no operations", rules(`{name: x, paths: ["/x"], decision: deny}`), `p.yaml:3:5: the rule has no operations`},
		{"no decision", rules(`{name: x, paths: ["/x"], operations: [read]}`), `p.yaml:3:5: the rule has no decision`},
		{"bad variable", rules(`{name: x, paths: ["/${1}"], operations: [read], decision: deny}`), `${1} is not a variable`},
		{"one path", rules(`{name: x, paths: /x, operations: [read], decision: deny}`), `p.yaml:3:22: paths: expects a list, got "/x"`},
		{"unknown operation", rules(`{name: x, paths: [/x], operations: [everything], decision: deny}`), `unknown operation "everything" (known are *, read,`},
	} {
		_, problems := Parse("p.yaml", []byte(tt.text))
		if len(problems) == 0 || !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("%s: Parse = %v, want %s", tt.name, problems, tt.want)
		}
		if strings.Contains(tt.want, "expects") && len(problems) != 1 {
			t.Errorf("%s: Parse = %v, want one problem only", tt.name, problems)
		}
	}
}

func TestCompileVariables(t *testing.T) {
	env := map[string]string{"HOME": "/home/u/", "ODD": "/o{d,d}*", "USER": "u", "RELATIVE": "a//b", "TOP": "/"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for _, tt := range []struct {
		glob  string
		mount vpath.Path
		want  string
	}{
		{"${MOUNT}/x/**", "/w", "/w/x/**"},
		{"${MOUNT}/x/**", "/", "/x/**"},
		{"${MOUNT}", "/", "/"},
		{"${MOUNT}/**", "/w*[1]", `/w\*\[1\]/**`},
		{"${HOME}/x", "/w", "/home/u/x"},
		{"${TOP}/x", "/w", "/x"},
		{"/home/${USER}/x", "/w", "/home/u/x"},
		{"${ODD}/x", "/w", `/o\{d,d\}\*/x`},
		{"${NONE:-/fall/*}/x", "/w", "/fall/*/x"},
	} {
		f, problems := Parse("p.yaml", []byte(rules(`{name: r, paths: ['`+tt.glob+`'], operations: [read], decision: deny}`)))
		if problems != nil {
			t.Fatalf("Parse(%s): %v", tt.glob, problems)
		}
		p, problems := f.Compile(Vars{Mount: tt.mount, Env: lookup})
		if problems != nil || p.Rules[0].Paths[0] != tt.want {
			t.Errorf("Compile of %s for %s = %v, %v, want %s", tt.glob, tt.mount, p, problems, tt.want)
		}
	}
	for _, tt := range []struct{ glob, want string }{
		{"/${NONE}/x", `p.yaml:3:24: glob "/${NONE}/x": the variable NONE is not set`},
		{"${USER}/x", `a glob begins with "/"`},
		{"/${RELATIVE}", "empty component"},
	} {
		f, _ := Parse("p.yaml", []byte(rules(`{name: r, paths: [ '`+tt.glob+`'], operations: [read], decision: deny}`)))
		if p, problems := f.Compile(Vars{Mount: "/w", Env: lookup}); p != nil || !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("Compile of %s = %v, %v, want %s", tt.glob, p, problems, tt.want)
		}
	}
	f, _ := Parse("p.yaml", []byte(rules(`{name: r, paths: ["${MOUNT}/x"], operations: [read], decision: deny}`)))
	if p, problems := f.Compile(Vars{}); p != nil || problems == nil {
		t.Errorf("Compile without a mount = %v, %v, want a problem", p, problems)
	}
}

func TestRulesKeepWhatIsWritten(t *testing.T) {
	f, problems := Parse("dir/p.yaml", []byte(`version: 1
name: p
description: why
file_rules:
  - name: r
    paths: ["/x", "/y/**"]
    operations: [write, mkdir]
    decision: approve
    message: please
    timeout: 90s
`))
	if problems != nil {
		t.Fatal(problems)
	}
	p, _ := f.Compile(Vars{Mount: "/"})
	if p.Name != "p" || p.Description != "why" || len(p.Rules) != 1 {
		t.Fatalf("Compile = %+v", p)
	}
	r := p.Rules[0]
	if r.Name != "r" || r.Policy != "p" || r.Pos.Short("") != "dir/p.yaml:5" || r.Ops != WriteOps|Mkdir.Set() ||
		r.Decision != Ask || r.Message != "please" || r.Timeout.Seconds() != 90 || strings.Join(r.Paths, " ") != "/x /y/**" {
		t.Errorf("rule = %+v", r)
	}
}

func TestGuard(t *testing.T) {
	f, problems := Parse("builtin/guards/git.yaml", []byte(rules(
		`{name: samples, paths: ["/s"], operations: ["*"], decision: allow}`,
		`{name: hooks, paths: ["/h"], operations: [write], decision: deny, message: "no hooks"}`, everything)))
	if problems != nil {
		t.Fatal(problems)
	}
	p, _ := f.Guard("git").Compile(Vars{Mount: "/"})
	v := Decide([]*Policy{p}, "/h", Write)
	if v.Rule.Name != "builtin:guard:git" || !strings.HasPrefix(v.Rule.Message, "no hooks (guard pack git;") || v.Rule.Pos.Line != 4 {
		t.Errorf("Decide(write, /h) = %s by %+v, want builtin:guard:git", v.Decision, v.Rule)
	}
	if v := Decide([]*Policy{p}, "/s", Write); v.Rule.Name != "samples" {
		t.Errorf("Decide(write, /s) = %s by %s, want samples", v.Decision, v.Rule.Name)
	}
	if p, _ := f.Compile(Vars{Mount: "/"}); p.Rules[1].Name != "hooks" {
		t.Errorf("Guard changed the file: rule %q", p.Rules[1].Name)
	}
}

func TestBuiltin(t *testing.T) {
	p := Builtin("self",
		BuiltinRule{Name: "builtin:self", Paths: []string{Literal("/a{b}") + "/**"}, Ops: AllOps, Decision: Hide, Message: "own"},
		BuiltinRule{Name: "builtin:rest", Paths: []string{Literal("/") + "/**"}, Ops: AllOps, Decision: Allow})
	for path, want := range map[vpath.Path]Decision{"/a{b}": Hide, "/a{b}/c": Hide, "/ab": Allow, "/": Allow} {
		if v := Decide([]*Policy{p}, path, Read); v.Decision != want {
			t.Errorf("Decide(read, %s) = %s, want %s", path, v.Decision, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Builtin accepted a glob that is not valid")
		}
	}()
	Builtin("bad", BuiltinRule{Name: "builtin:bad", Paths: []string{"relative"}})
}

func FuzzParse(f *testing.F) {
	f.Add(rules(everything))
	f.Add(rules(`{name: x, paths: ["/{a,b}/[c]/${V:-x}/**"], operations: [read, "*"], decision: approve, timeout: 5m}`))
	f.Fuzz(func(t *testing.T, text string) {
		file, problems := Parse("p.yaml", []byte(text))
		if (file == nil) == (problems == nil) {
			t.Fatalf("Parse = %v, %v, want one of them", file, problems)
		}
		if file == nil {
			return
		}
		file.Warnings()
		if p, problems := file.Compile(Vars{Mount: "/w"}); p != nil {
			Decide([]*Policy{p}, "/w/x", Read)
		} else if problems == nil {
			t.Fatal("Compile returned neither a policy nor a problem")
		}
	})
}
