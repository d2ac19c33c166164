package selftest

import (
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// viewOf returns a view of one root with rules of every kind.
func viewOf(t *testing.T, rules ...policy.BuiltinRule) *overlay.View {
	t.Helper()
	rest := policy.BuiltinRule{Name: "rest", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Allow}
	layer := overlay.Layer{Kind: "mount", Policy: policy.Builtin("test", append(rules, rest)...)}
	view, err := overlay.New([]overlay.Mount{{Target: vpath.Root, Source: "/project", Layers: []overlay.Layer{layer}}})
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func prepare(t *testing.T, view *overlay.View) *Ground {
	t.Helper()
	g, err := Prepare(view, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// run has an agent make the attempts at mountpoint.
func run(t *testing.T, g *Ground, mountpoint string) []Row {
	t.Helper()
	orders, giveOrders := io.Pipe()
	answers, giveAnswers := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Agent(orders, giveAnswers) }()
	rows, err := g.Run(mountpoint, answers, giveOrders, func(*overlay.View) error { return nil })
	giveOrders.Close()
	if err != nil || <-done != nil {
		t.Fatal(err)
	}
	return rows
}

// TestEveryAttemptIsReal makes the attempts where nothing stands in their way:
// each must get through, or it shows nothing on a view.
func TestEveryAttemptIsReal(t *testing.T) {
	for _, a := range attempts {
		t.Run(a.name, func(t *testing.T) {
			if a.aim == toKeep {
				defer func(a []attempt) { attempts = a }(attempts)
			}
			g := prepare(t, viewOf(t, policy.BuiltinRule{
				Name: "hidden", Paths: []string{"/dir/*/*"}, Ops: policy.AllOps, Decision: policy.Hide,
			}))
			defer func(all []attempt) { attempts = all }(attempts)
			attempts = []attempt{a}
			rows := run(t, g, g.View.Mounts()[0].Source)
			if rows[0].Tried != 1 || len(rows[0].Through) != 1 {
				t.Errorf("%+v, want one try that gets through", rows[0])
			}
		})
	}
}

// TestNothingToTry gives a reason for each row without an attempt.
func TestNothingToTry(t *testing.T) {
	nothing := policy.BuiltinRule{Name: "all", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Deny}
	for name, g := range map[string]*Ground{"all is allowed": prepare(t, viewOf(t)), "all is denied": prepare(t, viewOf(t, nothing))} {
		for _, row := range run(t, g, t.TempDir()) {
			if (row.Tried == 0) != (row.Without != "") {
				t.Errorf("%s: %+v", name, row)
			}
		}
	}
}

func TestSample(t *testing.T) {
	for glob, want := range map[string]string{
		"/**":                      "/x",
		"/**/.env":                 "/x/.env",
		"/**/*.git/hooks/**":       "/x/x.git/hooks/x",
		"/**/{.vscode,.idea}/**":   "/x/.vscode/x",
		"/a{,-2}.el":               "/a-2.el",
		"/{a,{b,c}d}/e":            "/a/e",
		`/\*\{/[ab]c`:              "/*{/ac",
		"/dir/?":                   "/dir/x",
		"/[^a]":                    "",
		"/{a":                      "",
		"/unchanged/literal.words": "/unchanged/literal.words",
	} {
		got, ok := sample(glob, "x")
		if string(got) != want || ok != (want != "") {
			t.Errorf("sample(%q) = %q, %v; want %q", glob, got, ok, want)
		}
	}
}

// TestTargets has a file for each wildcard, and a name that is absent.
func TestTargets(t *testing.T) {
	g := prepare(t, viewOf(t, policy.BuiltinRule{
		Name: "keys", Paths: []string{"/**/*.key"}, Ops: policy.Read.Set(), Decision: policy.Deny,
	}))
	var paths []string
	for _, target := range g.Targets {
		paths = append(paths, string(target.Path))
		if there, _ := filepath.Glob(target.source); (there != nil) != target.Exists {
			t.Errorf("%s: exists is %v, and there is %q", target.Path, target.Exists, there)
		}
	}
	if want := []string{"/nothing/nothing.key", "/something/something.key"}; !slices.Equal(paths, want) {
		t.Errorf("targets %q, want %q", paths, want)
	}
}
