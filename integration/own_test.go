package integration

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestProfileBesideItsFiles mounts "root: ." with the profile, the policies and
// the audit file in it: they are hidden and cannot be changed or made. X-08.
func TestProfileBesideItsFiles(t *testing.T) {
	w := newWorld(t)
	w.write("project/src/f", "x")
	w.write("project/policies/agent.yaml", policyText("agent", []string{allowAll}))
	w.write("project/profile.yaml", "version: 1\nroot: .\npolicy: agent\npolicies: [./policies]\nguards: []\n")
	m := w.mount(w.path("project/profile.yaml"), auditTo(w.path("project/audit.jsonl")))
	m.Backing = w.path("project")
	before := projectTree(t, m)
	if got := read(t, m.Path+"/src/f"); got != "x" {
		t.Errorf("read(/src/f) = %q, want x", got)
	}
	for _, name := range []string{"/profile.yaml", "/policies/agent.yaml", "/policies/absent.yaml", "/audit.jsonl"} {
		p := m.Path + name
		for call, err := range map[string]error{
			"stat":        unix.Lstat(p, new(unix.Stat_t)),
			"read":        open(unix.O_RDONLY)(p),
			"write":       open(unix.O_WRONLY)(p),
			"create":      open(unix.O_WRONLY | unix.O_CREAT)(p),
			"unlink":      unix.Unlink(p),
			"link":        unix.Link(p, m.Path+"/copy"),
			"rename":      unix.Rename(p, m.Path+"/copy"),
			"rename onto": unix.Rename(m.Path+"/src/f", p),
			"symlink":     unix.Symlink("x", p),
		} {
			wantErrno(t, call+"("+name+")", err, unix.ENOENT)
		}
	}
	if got := names(t, m.Path); slices.Contains(got, "profile.yaml") {
		t.Errorf("list(/) = %q, want no profile.yaml", got)
	}
	if err := unix.Rename(m.Path+"/policies", m.Path+"/old"); err == nil {
		t.Error("rename(/policies, /old) = ok, want a refusal: the daemon reads its policies there")
	}
	wantSame(t, "project", projectTree(t, m), before)
	must(t, os.WriteFile(m.Path+"/src/f", []byte("y"), 0o644))
}

// projectTree is the backing without the audit file, which grows.
func projectTree(t *testing.T, m *mount) map[string]string {
	t.Helper()
	tree := snapshot(t, m.Backing, owners|times|links)
	delete(tree, "audit.jsonl")
	return tree
}

// TestMountBelowRootIsHidden has a view not show another view's mountpoint,
// whether that was mounted before it or after. Walking in could deadlock.
func TestMountBelowRootIsHidden(t *testing.T) {
	w := newWorld(t)
	w.write("other/f", "x")
	w.mkdir("root/before")
	w.mkdir("root/after")
	w.write("root/f", "x")
	w.mount(w.path("other"), onto("root/before"))
	m := w.mount(w.path("root"))
	w.mount(w.path("other"), onto("root/after"))
	for _, name := range []string{"/before", "/after"} {
		eventually(t, name+" is hidden", func() error {
			if got := errno(unix.Lstat(m.Path+name+"/f", new(unix.Stat_t))); got != "ENOENT" {
				return fmt.Errorf("stat(%s/f) = %s, want ENOENT", name, got)
			}
			return nil
		})
	}
	if got := read(t, m.Path+"/f"); got != "x" {
		t.Errorf("read(/f) = %q, want x", got)
	}
}

// TestBindMount has a bind mount of the view, as a container has it, show the
// same under the same rules. C-02.
func TestBindMount(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.write("root/f", "x")
	w.write("root/secret", "x")
	inside := w.mkdir("inside")
	m := w.view(rule("secret", "deny", "read", "/secret"), allowAll)
	out := command{}.run(t, "unshare", "--mount", "--pid", "--fork", "sh", "-c", `
mount --bind "$1" "$2" && cd "$2" && cat f && echo y > made && stat -c %i f && ! cat secret 2>/dev/null`, "sh", m.Path, inside)
	var st unix.Stat_t
	must(t, unix.Stat(m.Path+"/f", &st))
	if want := fmt.Sprintf("x%d\n", st.Ino); out != want {
		t.Errorf("inside a namespace = %q, want %q", out, want)
	}
	if got := read(t, w.path("root/made")); got != "y\n" {
		t.Errorf("made inside = %q, want y", got)
	}
	m.wantEvent("stat", "/secret", "secret")
}

// TestMountOfDirectory serves a plain directory under the built-in profile, as
// the newcomer's first command does. C-01.
func TestMountOfDirectory(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	git(t, w.path("root"), "init", "-q")
	m := w.mount(w.path("root"))
	must(t, os.WriteFile(m.Path+"/g", []byte("y"), 0o644))
	if got := read(t, w.path("root/g")); got != "y" {
		t.Errorf("backing of /g = %q, want y", got)
	}
	wantErrno(t, "create .git/hooks/pre-commit", open(unix.O_WRONLY|unix.O_CREAT)(m.Path+"/.git/hooks/pre-commit"), unix.EACCES)
}
