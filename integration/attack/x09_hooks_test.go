package attack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX09_Hooks", func(string, func()) []attempt {
	var attempts []attempt
	for _, hooks := range []string{
		"repo/.git/hooks", "bare.git/hooks", "repo/.git/modules/sub/hooks", "repo/.git/worktrees/tree/hooks",
	} {
		p := hooks + "/pre-commit"
		attempts = append(attempts,
			attempt{"create(" + p + ")", "EACCES", create(p)},
			attempt{"mkdir(" + p + ")", "EACCES", mkdir(p)},
			attempt{"symlink(" + p + ")", "EACCES", symlink("../../../evil", p)},
			attempt{"link(evil, " + p + ")", "EACCES", link("evil", p)},
			attempt{"mknod(" + p + ")", "EACCES", func() error { return unix.Mknod(p, unix.S_IFREG|0o777, 0) }},
			attempt{"rename(evil, " + p + ")", "EACCES", rename("evil", p)},
			attempt{"rename(prepared, " + hooks + ")", "EACCES|EXDEV|ENOTEMPTY", rename("prepared/hooks", hooks)},
			attempt{"rename of a sample to " + p, "EACCES", func() error {
				if err := create(hooks + "/mine.sample")(); err != nil {
					return err
				}
				defer unix.Unlink(hooks + "/mine.sample")
				return unix.Rename(hooks+"/mine.sample", p)
			}},
			attempt{"a link in place of " + hooks, "EACCES|EEXIST", symlink("../../prepared/hooks", hooks)})
	}
	return append(attempts,
		attempt{"rename(prepared, .git)", "EXDEV", rename("prepared", ".git")},
		attempt{"rename(prepared, x.git)", "EXDEV", rename("prepared", "x.git")},
		attempt{"rename(prepared, repo/.git/modules/new)", "EXDEV", rename("prepared", "repo/.git/modules/new")},
		attempt{"rename(above, x.git) with hooks deeper", "ok|EXDEV", func() error {
			err := unix.Rename("above", "x.git")
			if err == nil {
				err = unix.Rename("x.git", "above")
			}
			return err
		}},
		attempt{"rename(above/hooks.d, above/x.git)", "EXDEV", rename("above/one", "above/one.git")},
		attempt{"rename(repo/.git, repo/git)", "EXDEV", rename("repo/.git", "repo/git")},
	)
})

// hookTree is what the hook tests prepare on the host.
func hookTree(w *world) {
	for _, f := range []string{
		"evil", "prepared/hooks/pre-commit", "above/one/hooks/pre-commit", "repo/.git/hooks/update", "bare.git/hooks/update",
		"repo/.git/modules/sub/hooks/update", "repo/.git/worktrees/tree/hooks/update",
	} {
		w.write("root/"+f, "#!/bin/sh\n")
	}
}

// TestX09_Hooks plants a hook that git would run on the host.
func TestX09_Hooks(t *testing.T) {
	w := newWorld(t)
	hookTree(w)
	v := w.mount(w.profile("p.yaml", "root: ./root\n"), launch{})
	attack(t, w, v, nil, nil)
}

var _ = register("TestX09_HooksUnderAudit", scripts["TestX09_Hooks"])

// TestX09_HooksUnderAudit is TestX09_Hooks where every change is audited: what
// goes ahead with a record counts as allowed.
func TestX09_HooksUnderAudit(t *testing.T) {
	w := newWorld(t)
	hookTree(w)
	w.policy("agent", rule("changes", "audit", "write, create, delete", "/**"), allowAll)
	v := w.mount(w.profile("p.yaml", "root: ./root\npolicy: agent\npolicies: [./policies]\n"), launch{})
	attack(t, w, v, nil, nil)
}

var _ = register("TestX09_WaysToSettings", func(string, func()) []attempt {
	var attempts []attempt
	for _, way := range []string{".claude", ".codex", ".github", ".config", "sub/.ssh", "sub/.config/mise", ".codeium/windsurf"} {
		attempts = append(attempts,
			attempt{"symlink(" + way + ")", "EACCES", symlink("prepared", way)},
			attempt{"rename(a link, " + way + ")", "EACCES", rename("leading", way)},
			attempt{"link(a link, " + way + ")", "EACCES|EPERM", link("leading", way)})
	}
	return append(attempts,
		attempt{"rename(a directory with a link, .config)", "EXDEV", rename("with", ".config")},
		attempt{"rename(a directory with a link, .codeium)", "EXDEV", rename("with", ".codeium")})
})

// TestX09_WaysToSettings puts a link in the place of a directory in which the
// guards keep settings: it leads to where they keep nothing.
func TestX09_WaysToSettings(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"prepared/settings.json", "prepared/fish/config.fish", "sub/.config/file", "with/file"} {
		w.write("root/"+f, "evil\n")
	}
	must(t, os.Symlink("prepared", w.path("root/leading")))
	must(t, os.Symlink("../prepared", w.path("root/with/mise")))
	v := w.mount(w.profile("p.yaml", "root: ./root\n"), launch{})
	must(t, os.Mkdir(w.path("root/.codeium"), 0o777))
	attack(t, w, v, nil, nil)
}

// TestX09_RaceWithBuilding builds a hook in a directory while that moves to
// where hooks are guarded.
func TestX09_RaceWithBuilding(t *testing.T) {
	w := newWorld(t)
	v := w.mount(w.profile("p.yaml", "root: ./root\n"), launch{})
	must(t, os.Chdir(v.Path))
	t.Cleanup(func() { os.Chdir("/") })
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				mkdir("x/hooks")()
				create("x/hooks/pre-commit")()
				os.RemoveAll("x/hooks")
			}
		}
	}()
	for range 2000 {
		mkdir("x")()
		if rename("x", "x.git")() == nil {
			rename("x.git", "x")()
		}
		if planted, _ := filepath.Glob(w.path("root/x.git/hooks/*")); len(planted) > 0 {
			t.Errorf("planted %s", strings.Join(planted, ", "))
			break
		}
	}
	close(stop)
	<-ended
}
