package archtest

import (
	"go/ast"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rows are the rooms in the order in which they may import: a package imports
// packages of the rows above its own. What a row is there for is the reason of
// every ban that it makes.
var rows = []struct {
	packages []string
	reason   string
}{
	{[]string{"internal/vpath", "internal/strictyaml", "internal/expand"},
		"words that everything else is written in know of nothing else"},
	{[]string{"policy", "internal/backing", "internal/gitguard"},
		"a decision knows no mount and no file, and a file knows no decision"},
	{[]string{"overlay", "metrics", "configs", "internal/backing/treetest"},
		"the mount table is pure and knows nobody who asks it"},
	{[]string{"sysmounts"},
		"system mounts are rows of the mount table"},
	{[]string{"fs"},
		"the server of a view knows no transport, no profile and no session"},
	{[]string{"fs/bazil", "internal/profile/mountinfo"},
		"a transport knows the server that it calls, and no policy"},
	{[]string{"internal/profile", "internal/audit", "internal/approval", "internal/gitx", "internal/selftest", "runner"},
		"what stands beside the road of data is not known on it"},
	{[]string{"internal/session"}, "a session is put together from rooms that do not know it"},
	{[]string{"internal/service", "internal/reload"}, "the verbs know sessions, and not how they are called"},
	{[]string{"internal/api", "internal/mcp"}, "a transport of the verbs knows no other one"},
	{[]string{"cmd/sandboxfs"}, "everything is wired in one place, which nobody imports"},
}

// alone import nothing of the module and are imported by nothing.
var alone = []string{"integration", "integration/attack", "fs/posixtest", "bench", "internal/archtest", "internal/mutate", "internal/testreport"}

// TestImportsGoOneWay holds the folders of C-05 in their order.
func TestImportsGoOneWay(t *testing.T) {
	row := make(map[string]int)
	for i, r := range rows {
		for _, p := range r.packages {
			row[p] = i
		}
	}
	for _, p := range packages(t) {
		mine, ok := row[p.path]
		if !ok && !slices.Contains(alone, p.path) {
			t.Errorf("%s: package has no row in internal/archtest; give it one, with a reason", p.path)
			continue
		}
		eachImport(p, func(f file, spec *ast.ImportSpec, path string) {
			path, ours := strings.CutPrefix(path, modulePath+"/")
			if !ours || f.test {
				return
			}
			theirs, ok := row[path]
			switch {
			case slices.Contains(alone, p.path) || !ok:
				f.report(t, spec.Pos(), "%s imports %s: %s stand outside and see the program as its users do", p.path, path, strings.Join(alone, ", "))
			case theirs >= mine:
				f.report(t, spec.Pos(), "%s imports %s: %s", p.path, path, rows[mine].reason)
			}
		})
	}
}

// owners are the modules that one package alone imports, so that another
// library, or none, is a change of one room.
var owners = []struct{ module, owner, reason string }{
	{"github.com/docker/docker", "runner", "containers are the runner's"},
	{"github.com/prometheus/", "metrics", "a metric that is not in its one literal is in no dashboard"},
	{"bazil.org/fuse", "fs/bazil", "the server must work over another transport, and without one"},
	{"github.com/fsnotify/fsnotify", "internal/reload", "a second watcher would miss what the first one learnt"},
	{"github.com/bmatcuk/doublestar", "policy", "a glob that is matched elsewhere is a second decision"},
	{"golang.org/x/text", "internal/vpath", "which names are alike is said in one place, by vpath.Fold"},
	{"github.com/spf13/cobra", "cmd/sandboxfs", "nothing but the command line reads flags"},
}

// TestOneOwnerForEachLibrary keeps the given libraries where they belong. C-04.
func TestOneOwnerForEachLibrary(t *testing.T) {
	for _, p := range packages(t) {
		eachImport(p, func(f file, spec *ast.ImportSpec, path string) {
			for _, o := range owners {
				if strings.HasPrefix(path, o.module) && p.path != o.owner {
					f.report(t, spec.Pos(), "%s imports %s, which only %s may: %s", p.path, path, o.owner, o.reason)
				}
			}
		})
	}
}

// pure answer from what they are given, and from nothing else.
var pure = []string{"internal/vpath", "internal/expand", "internal/gitguard", "policy", "overlay"}

// impure is what they have no use for: files, a clock, a log, and locks, which
// an immutable value needs none of.
var impure = []string{"context", "log", "log/slog", "net", "os", "os/exec", "sync", "sync/atomic", "syscall", "time", "golang.org/x/sys/unix"}

// effects are the exceptions, each with its reason.
var effects = map[string]string{
	"policy/library.go os":    "the directories that hold policies are read here",
	"policy/decision.go time": "a duration, of asking",
	"policy/file.go time":     "the same, as it is written",
}

// TestPureStaysPure keeps effects away from what decides: the verdict on an
// operation is the same whenever and wherever it is asked for.
func TestPureStaysPure(t *testing.T) {
	unused := maps.Clone(effects)
	for _, p := range packages(t) {
		if !slices.Contains(pure, p.path) {
			continue
		}
		eachImport(p, func(f file, spec *ast.ImportSpec, path string) {
			if f.test || !slices.Contains(impure, path) {
				return
			}
			delete(unused, f.name+" "+path)
			if effects[f.name+" "+path] == "" {
				f.report(t, spec.Pos(), "%s imports %s: it is pure, and whoever calls it hands over what it needs", p.path, path)
			}
		})
	}
	for what := range unused {
		t.Errorf("%s: an exception that nothing needs any more", what)
	}
}

// TestDependenciesHaveReasons has each module that go.mod asks for stand in the
// decision that says what it is for. C-04.
func TestDependenciesHaveReasons(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	decision, err := os.ReadFile("../../docs/decisions/0001-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range strings.Lines(string(mod)) {
		words := strings.Fields(line)
		if len(words) != 2 || !strings.HasPrefix(words[1], "v") {
			continue // not a module that is asked for directly
		}
		asked++
		if !strings.Contains(string(decision), "`"+words[0]+"`") {
			t.Errorf("go.mod asks for %s, and docs/decisions/0001-dependencies.md does not say what for", words[0])
		}
	}
	if asked == 0 {
		t.Error("go.mod asks for no module")
	}
}

// unsafeOwner makes system calls that the unix package has no call for, or none
// without an allocation.
const unsafeOwner = "internal/backing"

func TestUnsafeStaysWithSystemCalls(t *testing.T) {
	for _, p := range packages(t) {
		eachImport(p, func(f file, spec *ast.ImportSpec, path string) {
			if path == "unsafe" && !f.test && p.path != unsafeOwner {
				f.report(t, spec.Pos(), "%s imports unsafe: memory safety is what the boundary stands on", p.path)
			}
		})
	}
}

func eachImport(p pkg, do func(f file, spec *ast.ImportSpec, path string)) {
	for _, f := range p.files {
		for _, spec := range f.ast.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil {
				do(f, spec, path)
			}
		}
	}
}
