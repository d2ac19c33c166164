package policy

import (
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

func TestExplain(t *testing.T) {
	p := mustCompile(t, `
file_rules:
  - {name: writes, paths: ["/w/**"], operations: [write], decision: deny}
  - {name: stats, paths: ["/w/s/**"], operations: [stat], decision: allow}
  - {name: secret, paths: ["/w/s/**", "/w/k"], operations: ["*"], decision: hide}
  - {name: deep, paths: ["/d/e/f"], operations: [read], decision: allow}
  - {name: texts, paths: ["${MOUNT}/**/*.txt"], operations: [read], decision: audit}
`)
	for _, tt := range []struct {
		op    Op
		path  vpath.Path
		want  string
		steps []string
	}{
		{Write, "/w/x", "deny writes", []string{"writes: decides: covered by /w/**"}},
		{Read, "/w/a/b.txt", "audit texts", []string{
			"writes: other operations", "stats: other paths", "stats way: other paths", "secret: other paths", "deep: other paths", "deep way: other paths",
			"texts: decides: covered by /w/**/*.txt"}},
		{Read, "/w/s/x", "deny secret", []string{"writes: other operations", "stats: decides stat only", "stats way: other operations", "secret: decides: covered by /w/s/**"}},
		{Write, "/w/k", "hide secret", []string{"writes: decides write only", "stats: other paths", "stats way: other paths", "secret: decides: covered by /w/k"}},
		{Stat, "/d/e", "allow builtin:traverse", []string{"writes: other operations", "stats: other paths", "stats way: other paths", "secret: other paths", "deep: other paths", "deep way: decides: the path leads to /d/e/f"}},
		{List, "/d/e", "deny builtin:default-deny", []string{
			"writes: other operations", "stats: other paths", "stats way: other paths", "secret: other paths", "deep: other paths", "deep way: decides stat only",
			"texts: other paths", "builtin:default-deny: decides: no rule of the policy allows it"}},
	} {
		v, steps := Explain(p, tt.path, tt.op)
		if got := v.Decision.String() + " " + v.Rule.Name; got != tt.want {
			t.Errorf("Explain(%s, %s) = %s, want %s", tt.op, tt.path, got, tt.want)
		}
		var lines []string
		for _, s := range steps {
			name := s.Rule.Name
			if s.Traverse {
				name += " way"
			}
			lines = append(lines, name+": "+s.Outcome())
		}
		if got, want := strings.Join(lines, "\n"), strings.Join(tt.steps, "\n"); got != want {
			t.Errorf("Explain(%s, %s) took the steps\n%s\nwant\n%s", tt.op, tt.path, got, want)
		}
	}
}
