package attack

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX02_Renames", func(string, func()) []attempt {
	return []attempt{
		{"rename(fixed, away)", "EXDEV", rename("fixed", "away")},
		{"rename(stay, away)", "EACCES", rename("stay", "away")},
		{"rename(free, fixed)", "EACCES", rename("free", "fixed")},
		{"rename(free, vault/new)", "EACCES", rename("free", "vault/new")},
		{"rename(vault, away)", "EXDEV", rename("vault", "away")},
		{"rename(parent, away)", "EXDEV", rename("parent", "away")},
		{"rename(parent/deep, away)", "EXDEV", rename("parent/deep", "away")},
		{"rename(free, ro/f)", "EROFS|EXDEV", rename("free", "ro/f")},
		{"rename(ro/f, away)", "EROFS|EXDEV", rename("ro/f", "away")},
		{"rename(ro, away)", "EBUSY", rename("ro", "away")},
		{"exchange(free, fixed)", "EINVAL", renameat2("free", "fixed", unix.RENAME_EXCHANGE)},
		{"noreplace(free, vault/new)", "EINVAL", renameat2("free", "vault/new", unix.RENAME_NOREPLACE)},
		{"whiteout(stay, away)", "EINVAL|EPERM", renameat2("stay", "away", unix.RENAME_WHITEOUT)},
		{"rename(vault/x, through a descriptor of .)", "EACCES|EXDEV", func() error {
			dir, err := unix.Open("vault", unix.O_PATH, 0)
			if err != nil {
				return err
			}
			return unix.Renameat(dir, "x", unix.AT_FDCWD, "away")
		}},
		{"rename(audited/fixed, audited/away), whose changes are audited", "EXDEV", rename("audited/fixed", "audited/away")},
	}
})

// TestX02_Renames moves names and directories to where a rule does not reach,
// or into where one does.
func TestX02_Renames(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"fixed", "stay", "free", "vault/x", "parent/deep/f", "audited/fixed"} {
		w.write("root/"+f, f)
	}
	w.write("ro/f", "f")
	w.policy("agent",
		rule("stay", "deny", "rename", "/stay"),
		rule("fixed", "deny", "write", "/fixed", "/audited/fixed", "/parent/deep/*"),
		rule("vault", "deny", "create, write", "/vault/**"),
		rule("audited", "audit", `"*"`, "/audited/**"), allowAll)
	v := w.mount(w.profile("p.yaml", agent+"mounts: [{source: ./ro, target: /ro, readonly: true}]\n"), launch{})
	attack(t, w, v, nil, nil)
}

// TestX02_StaleDirectory keeps a directory as the working one while it is moved
// by somebody whom the view does not see: by the host, through another view, or
// through a second mount of the same view. What is made in it is judged by
// where it is, not by where it was.
func TestX02_StaleDirectory(t *testing.T) {
	w := newWorld(t)
	w.mkdir("root/sub")
	one := w.mount(w.profile("p.yaml", "root: ./root\nmounts: [{source: ./root/sub, target: /alias}]\n"), launch{})
	two := w.mount(w.path("root"), launch{at: "mnt2"})
	for name, move := range map[string]struct{ view, from, to string }{
		"host":         {one.Path, w.path("root/h"), w.path("root/h.git")},
		"other view":   {one.Path, two.Path + "/v", two.Path + "/v.git"},
		"second mount": {one.Path + "/alias", one.Path + "/sub/m", one.Path + "/sub/m.git"},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.Mkdir(move.from, 0o777))
			base := move.from[len(move.from)-2:]
			dir, err := os.Open(move.view + base)
			must(t, err)
			defer dir.Close()
			at := int(dir.Fd())
			must(t, unix.Mkdirat(at, "seen", 0o777))
			must(t, unix.Unlinkat(at, "seen", unix.AT_REMOVEDIR))
			must(t, os.Rename(move.from, move.to))
			unix.Mkdirat(at, "hooks", 0o777)
			fd, err := unix.Openat(at, "hooks/pre-commit", unix.O_CREAT|unix.O_WRONLY, 0o777)
			if err == nil {
				unix.Close(fd)
				t.Errorf("create of hooks/pre-commit in a directory that is %s by now = ok, want a refusal", move.to)
			}
		})
	}
}
