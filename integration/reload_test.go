package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPin has a pinned view keep the policy that it started with. S1-09.
func TestPin(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	w.policy("agent", allowAll)
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\nreload: pin\nguards: []\n"))
	a := hold(t, m.Path+"/f")
	w.policy("agent", rule("revoked", "deny", `"*"`, "/f"))
	time.Sleep(3 * time.Second) // longer than a live view may take
	if err := a.all("ok", "ok"); err != nil {
		t.Errorf("pinned, after an edit: %v", err)
	}
}

// TestBrokenPolicy has a file that does not load change nothing, count as an
// error and be named on one line. S1-09.
func TestBrokenPolicy(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(rule("no-g", "deny", "create", "/g"), allowAll)
	a := hold(t, m.Path+"/f")
	for i, text := range []string{
		"version: 1\nname: agent\nfile_rules:\n  - {name: a, paths: [\"/**\"], operations: [reed], decision: allow}\n",
		"version: 1\nname: agent\nfile_rules:\n  - {name: [\n",
		"version: 1\nname: agent\nfile_rulez: []\n",
	} {
		failed := m.metric("sandboxfs_policy_reloads_total", `result="error"`)
		named := func() int { return len(m.output.lines(`err="` + w.path("policies/agent.yaml:"))) }
		before := named()
		w.write("policies/agent.yaml", text)
		eventually(t, "reload of a broken policy counts", func() error {
			if m.metric("sandboxfs_policy_reloads_total", `result="error"`) <= failed {
				return fmt.Errorf(`sandboxfs_policy_reloads_total{result="error"} is still %v`, failed)
			}
			return nil
		})
		if now := named(); now != before+1 {
			t.Errorf("broken policy %d: %d lines name file and line, want 1 more than %d\n%s", i, now, before, m.output.text())
		}
		if err := a.all("ok", "ok"); err != nil {
			t.Errorf("with a broken policy: %v", err)
		}
		wantErrno(t, "create /g under the last good policy", open(unix.O_WRONLY|unix.O_CREAT)(m.Path+"/g"), unix.EACCES)
	}
	w.policy("agent", allowAll)
	eventually(t, "a good policy loads again", func() error { return open(unix.O_WRONLY | unix.O_CREAT)(m.Path + "/g") })
}

// TestReloadByEditors has every way of changing a policy file be heard: in
// place, by rename, by the swap of a symbolic link as mounted config maps do,
// and one that was removed and made anew. S1-09.
func TestReloadByEditors(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	text := func(decision string) string {
		return policyText("agent", []string{rule("f", decision, "read", "/f"), allowAll})
	}
	w.write("store/v1/agent.yaml", text("allow"))
	w.mkdir("policies")
	must(t, os.Symlink("../store/v1", w.path("policies/..data")))
	must(t, os.Symlink("..data/agent.yaml", w.path("policies/agent.yaml")))
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\nguards: []\n"))
	file := w.path("policies/agent.yaml")
	for _, tc := range []struct {
		how  string
		want syscall.Errno
		edit func()
	}{
		{"symlink swap", unix.EACCES, func() {
			w.write("store/v2/agent.yaml", text("deny"))
			must(t, os.Symlink("../store/v2", w.path("policies/..tmp")))
			must(t, os.Rename(w.path("policies/..tmp"), w.path("policies/..data")))
		}},
		{"rename over the link", 0, func() { w.policy("agent", rule("f", "allow", "read", "/f"), allowAll) }},
		{"in place", unix.EACCES, func() { w.write("policies/agent.yaml", text("deny")) }},
		{"backup and new file, as vim", 0, func() {
			must(t, os.Rename(file, file+"~"))
			w.write("policies/agent.yaml", text("allow"))
			must(t, os.Remove(file+"~"))
		}},
		{"removed, and made anew later", unix.EACCES, func() {
			must(t, os.Remove(file))
			time.Sleep(time.Second)
			wantErrno(t, "open(/f) while the policy is away", open(unix.O_RDONLY)(m.Path+"/f"), 0)
			w.write("policies/agent.yaml", text("deny"))
		}},
		{"a burst", 0, func() {
			for i := range 50 {
				w.write("policies/agent.yaml", text([]string{"deny", "allow"}[i%2]))
			}
		}},
	} {
		tc.edit()
		eventually(t, "after "+tc.how, func() error {
			if got := errno(open(unix.O_RDONLY)(m.Path + "/f")); got != errnoName(tc.want) {
				return fmt.Errorf("open(/f) = %s, want %s", got, errnoName(tc.want))
			}
			return nil
		})
	}
}

// TestReloadOfProfile has an edit of the profile's own policy key be obeyed. S1-09.
func TestReloadOfProfile(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	w.policy("strict", rule("look", "allow", "stat", "/**"))
	w.policy("agent", allowAll)
	profile := "root: ./root\npolicy: %s\npolicies: [./policies]\nguards: []\n"
	m := w.mount(w.profile(fmt.Sprintf(profile, "agent")))
	wantErrno(t, "open(/f)", open(unix.O_RDONLY)(m.Path+"/f"), 0)
	w.profile(fmt.Sprintf(profile, "strict"))
	eventually(t, "the profile names another policy", func() error {
		if got := errno(open(unix.O_RDONLY)(m.Path + "/f")); got != "EACCES" {
			return fmt.Errorf("open(/f) = %s, want EACCES", got)
		}
		return nil
	})
	if text := m.output.text(); strings.Contains(text, "panic") {
		t.Error(text)
	}
}

// TestReloadsInARow has the last of several edits be the one in force, however
// close they follow each other, and when it restores what was there before. S1-09.
func TestReloadsInARow(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	rounds := 30
	if soak {
		rounds = 1000
	}
	for round := range rounds {
		edits := 1 + rand.IntN(4)
		for i := range edits {
			decision := []string{"allow", "deny"}[(round+i)%2]
			w.policy("agent", rule("f", decision, "read", "/f"), allowAll)
			time.Sleep(rand.N(90 * time.Millisecond))
		}
		want := []string{"ok", "EACCES"}[(round+edits-1)%2]
		eventually(t, fmt.Sprintf("round %d, after %d edits", round, edits), func() error {
			return wanted(open(unix.O_RDONLY)(m.Path+"/f"), want)
		})
	}
}

// TestEditRightAfterReady has an edit that falls into the daemon's first look
// at its files, and one that takes it back, both be obeyed. S1-09.
func TestEditRightAfterReady(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	for round := range 15 {
		m := w.view(rule("f", "allow", "read", "/f"), allowAll)
		for _, edit := range []struct{ decision, want string }{{"deny", "EACCES"}, {"allow", "ok"}} {
			w.policy("agent", rule("f", edit.decision, "read", "/f"), allowAll)
			eventually(t, fmt.Sprintf("round %d, after the edit to %s", round, edit.decision), func() error {
				return wanted(open(unix.O_RDONLY)(m.Path+"/f"), edit.want)
			})
		}
		m.stop()
	}
}
