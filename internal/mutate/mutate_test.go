package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

func gatesOf(t *testing.T) []gate {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	gates, err := find(root, rooms)
	if err != nil {
		t.Fatal(err)
	}
	return gates
}

// TestGatesAreFound looks for some that must be among those of fs. C-06.
func TestGatesAreFound(t *testing.T) {
	var found []string
	for _, g := range gatesOf(t) {
		found = append(found, g.in+": "+g.what)
	}
	for _, want := range []string{
		"Getattr: s.gateStat(c, n)",
		"Rename: s.gateRename(c, &m)",
		"gateRename: if mayGain(view, m.old, m.new)",
		"remove: s.gateEntry(c, dir, n, a)",
		"Link: policy.Write in [...]policy.Op{policy.Read, policy.Write}",
		"setattrOps: ops = append(ops, policy.Chown)",
		"decide: view.Decide(paths[0], op)",
		"invalidate: s.notify.data(k.node.num)",
		"(file): refusal {\"ioctl\", syscall.ENOSYS}",
		"New: fuse.DefaultPermissions()",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("not found: %s", want)
		}
	}
}

// TestAMutantIsOneChange: each gate is another text of its file, and no two are alike.
func TestAMutantIsOneChange(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]string)
	for _, g := range gatesOf(t) {
		whole, err := os.ReadFile(root + "/" + g.file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(whole, g.text) {
			t.Errorf("%s is taken away without a change", g)
		}
		if other, ok := seen[g.file+string(g.text)]; ok {
			t.Errorf("%s and %s are one change", g, other)
		}
		seen[g.file+string(g.text)] = g.String()
	}
}

// TestASampleIsKilled takes a few gates away that the quickest tests notice. C-06.
func TestASampleIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("runs go test for each gate that it takes away")
	}
	var few []gate
	for _, want := range []string{"Read: s.gateData(c, h, op)", "gateRename: mayGain(", "changeXattr: s.gate(c, n, policy.Setxattr)"} {
		for _, g := range gatesOf(t) {
			if strings.Contains(g.String(), want) {
				few = append(few, g)
			}
		}
	}
	if len(few) != 3 {
		t.Fatalf("%d gates, want 3", len(few))
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	tr := &trial{root: root, suites: suitesOf(false)[:1], out: &out}
	if err := tr.all(context.Background(), few, 2); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// TestASurvivorIsReported takes away what no test of the suite looks at.
func TestASurvivorIsReported(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	tr := &trial{root: root, suites: []suite{{args: []string{"-run=^TestPutEntry$", "./fs/bazil"}, limit: suitesOf(false)[0].limit}}, out: &out}
	gates := gatesOf(t)
	err = tr.all(context.Background(), gates[:1], 1)
	if err == nil || !strings.Contains(out.String(), "SURVIVED") || !strings.Contains(out.String(), gates[0].file) {
		t.Errorf("all() = %v\n%s", err, &out)
	}
}

func TestFailedIn(t *testing.T) {
	for _, c := range []struct{ out, want string }{
		{"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n        x_test.go:1: no\nFAIL\n", "TestA/b"},
		{"--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n", "TestA"},
		{"panic: test timed out after 1m0s\nrunning tests:\n\tTestA/b (1m0s)\n", "TestA/b (it does not end)"},
		{"panic: no map\n", "the run: panic: no map"},
	} {
		if got := failedIn([]byte(c.out)); got != c.want {
			t.Errorf("failedIn(%q) = %q, want %q", c.out, got, c.want)
		}
	}
}

func TestConnections(t *testing.T) {
	text := "30 1 0:52 / /mnt rw - fuse.sandboxfs test rw\n31 1 0:53 / /other rw - fuse.sshfs x rw\n32 1 8:1 / / rw - ext4 /dev/sda rw\n"
	if got := connections([]byte(text)); !slices.Equal(got, []string{"52"}) {
		t.Errorf("connections = %q", got)
	}
}
