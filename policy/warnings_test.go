package policy

import (
	"strings"
	"testing"
)

func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rules []string
		want  string // "" means no warning
	}{
		{"all before", []string{everything, `{name: late, paths: ["/x/y"], operations: [read], decision: deny}`}, `p.yaml:4:5: rule "late" can never be reached: its paths and operations are decided before, by "all"`},
		{"the same glob", []string{`{name: a, paths: ["/*/x"], operations: [write], decision: deny}`, `{name: b, paths: ["/*/x"], operations: [chmod], decision: allow}`}, `"b" can never be reached`},
		{"an alternative of it", []string{`{name: a, paths: ["/{x,y*}"], operations: [write], decision: deny}`, `{name: b, paths: ["/y*"], operations: [chmod], decision: allow}`}, `"b" can never be reached`},
		{"a literal path under a wildcard", []string{`{name: a, paths: ["/**/.env"], operations: ["*"], decision: deny}`, `{name: b, paths: ["/w/.env"], operations: [read], decision: allow}`}, `"b" can never be reached`},
		{"a directory in a directory", []string{`{name: a, paths: ["/w/**"], operations: ["*"], decision: deny}`, `{name: b, paths: ["/w/x/**"], operations: [read], decision: allow}`}, `"b" can never be reached`},
		{"two rules together", []string{`{name: a, paths: ["/x/**"], operations: [write], decision: deny}`, `{name: b, paths: ["/**"], operations: [read], decision: deny}`, `{name: c, paths: ["/x/y"], operations: [read, write], decision: allow}`}, `"c" can never be reached: its paths and operations are decided before, by "a", "b"`},
		{"the same variable", []string{`{name: a, paths: ["${MOUNT}/**"], operations: ["*"], decision: deny}`, `{name: b, paths: ["${MOUNT}/x"], operations: [read], decision: allow}`}, `"b" can never be reached`},
		{"hide without stat", []string{`{name: a, paths: ["/x"], operations: [write], decision: hide}`}, `rule "a" hides no name and counts as deny: add`},
		{"hide after stat is decided", []string{`{name: a, paths: ["/**"], operations: [stat], decision: allow}`, `{name: b, paths: ["/x"], operations: ["*"], decision: hide}`}, `rule "b" hides no name and counts as deny: stat of its paths is decided before, by "a"`},
		{"stars in a name", []string{`{name: a, paths: ["/src/**.go"], operations: [read], decision: allow}`}, `p.yaml:3:23: glob "/src/**.go": the "**" in "**.go" means no more than "*"`},

		{"in order", []string{`{name: a, paths: ["/w/x"], operations: [read], decision: deny}`, everything}, ""},
		{"another operation", []string{`{name: a, paths: ["/**"], operations: [read], decision: deny}`, `{name: b, paths: ["/x"], operations: [read, write], decision: allow}`}, ""},
		{"one path of two", []string{`{name: a, paths: ["/x/**"], operations: ["*"], decision: deny}`, `{name: b, paths: ["/x/y", "/z"], operations: [read], decision: allow}`}, ""},
		{"a name that only begins so", []string{`{name: a, paths: ["/x/**"], operations: ["*"], decision: deny}`, `{name: b, paths: ["/xy"], operations: [read], decision: allow}`}, ""},
		{"another variable", []string{`{name: a, paths: ["${MOUNT}/**"], operations: ["*"], decision: deny}`, `{name: b, paths: ["${HOME}/x"], operations: [read], decision: allow}`}, ""},
		{"hide with read", []string{`{name: a, paths: ["/x"], operations: [read], decision: hide}`}, ""},
	} {
		f, problems := Parse("p.yaml", []byte(rules(tt.rules...)))
		if problems != nil {
			t.Fatalf("%s: Parse: %v", tt.name, problems)
		}
		got := f.Warnings()
		switch {
		case tt.want == "" && len(got) > 0, tt.want != "" && (len(got) != 1 || !strings.Contains(got.Error(), tt.want)):
			t.Errorf("%s: Warnings() = %v, want %q", tt.name, got, tt.want)
		}
	}
}
