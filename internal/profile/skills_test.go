package profile

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/policy"
)

// S4-06: skills are read and executed and nothing else, also by the name that
// they have below a root, and under either built-in base policy.
func TestSkills(t *testing.T) {
	dir := tree(t, map[string]string{"proj/skills/s/run.sh": "x"})
	for _, text := range []string{"root: proj\n", "root: proj\nbase_policy: default\n", "root: proj\nbase_policy: minimal\n"} {
		view, remarks := buildView(t, loadText(t, dir, text+"guards: []\nskills: proj/skills\n"))
		expectVerdicts(t, view, []verdict{
			{policy.Read, "/shared/skills/s/run.sh", policy.Allow, "readable"},
			{policy.Exec, "/shared/skills/s/run.sh", policy.Allow, "readable"},
			{policy.List, "/shared/skills", policy.Allow, "readable"},
			{policy.Write, "/shared/skills/s/run.sh", policy.Deny, "builtin:readonly-mount"},
			{policy.Create, "/shared/skills/s/new", policy.Deny, "builtin:readonly-mount"},
			{policy.Chmod, "/shared/skills/s/run.sh", policy.Deny, "builtin:readonly-mount"},
			{policy.Write, "/skills/s/run.sh", policy.Deny, "builtin:readonly-mount"},
		})
		for _, r := range remarks {
			if r.Warning {
				t.Errorf("%q: %v", text, r)
			}
		}
	}
}
