package attack

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX08_OwnFiles", func(string, func()) []attempt {
	var attempts []attempt
	for _, p := range []string{
		"conf/p.yaml", "conf/policies/agent.yaml", "conf/policies/absent.yaml", "conf/audit.jsonl",
		"again/conf/p.yaml", "again/conf/policies/agent.yaml", "again/conf/policies/absent.yaml",
		"only/p.yaml", "only/policies/absent.yaml",
	} {
		attempts = append(attempts,
			attempt{"read(" + p + ")", "ENOENT", read(p)},
			attempt{"create(" + p + ")", "ENOENT", create(p)},
			attempt{"symlink(" + p + ")", "ENOENT", symlink("x", p)},
			attempt{"unlink(" + p + ")", "ENOENT", unlink(p)},
			attempt{"link(" + p + ", copy)", "ENOENT", link(p, "copy")},
			attempt{"rename(free, " + p + ")", "ENOENT", rename("free", p)})
	}
	for _, p := range []string{"bound/p.yaml", "bound/policies/agent.yaml", "hard.yaml"} { // the host's, and so EXDEV or EBUSY of its kernel
		attempts = append(attempts,
			attempt{"read(" + p + ")", "ENOENT", read(p)},
			attempt{"truncate(" + p + ")", "ENOENT", truncate(p)},
			attempt{"create(" + p + ")", "ENOENT", create(p)},
			attempt{"symlink(" + p + ")", "ENOENT", symlink("x", p)},
			attempt{"unlink(" + p + ")", "ENOENT", unlink(p)},
			attempt{"link(" + p + ", copy)", "ENOENT", link(p, "copy")},
			attempt{"rename(free, " + p + ")", "ENOENT|EXDEV", rename("free", p)})
	}
	for _, p := range []string{"conf", "again/conf", "only", "link"} {
		attempts = append(attempts, attempt{"rename(" + p + ", away)", "EACCES|EBUSY|EXDEV|EROFS", rename(p, "away")})
	}
	return append(attempts,
		attempt{"unlink(link), by which the profile finds its policies", "EACCES", unlink("link")},
		attempt{"rename(free, link)", "EACCES", rename("free", "link")},
		attempt{"read(free)", "ok", read("free")})
})

// TestX08_OwnFiles reaches for what the view is made of: by its place, by a
// second mount of the same directory, by a mount of the directory itself, and by
// a bind mount and a hard link that the host has made.
func TestX08_OwnFiles(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.write("root/free", "x")
	must(t, os.Symlink("conf/policies", w.path("root/link")))
	w.policy("agent", allowAll)
	w.mkdir("root/conf")
	must(t, os.Rename(w.path("policies"), w.path("root/conf/policies")))
	profile := w.profile("root/conf/p.yaml", `root: ..
policy: agent
policies: [DIR/root/link]
guards: []
mounts:
  - {source: .., target: /again}
  - {source: ., target: /only}
`)
	must(t, os.Link(profile, w.path("root/hard.yaml")))
	must(t, unix.Mount(w.path("root/conf"), w.mkdir("root/bound"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { must(t, unix.Unmount(w.path("root/bound"), 0)) })
	v := w.mount(profile, launch{audit: w.path("root/conf/audit.jsonl")})
	v.audit = w.path("root/conf/audit.jsonl")
	attackOwn(t, w, v)
}

// attackOwn is attack, but for the audit file, which grows.
func attackOwn(t *testing.T, w *world, v *view) {
	t.Helper()
	before := content(t, w.path("root/conf/policies/agent.yaml")) + content(t, w.path("root/conf/p.yaml"))
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range c.run(t, "TestX08_OwnFiles", v, nil) {
				o.check(t)
			}
		})
		if got := content(t, w.path("root/conf/policies/agent.yaml")) + content(t, w.path("root/conf/p.yaml")); got != before {
			t.Fatalf("policy and profile = %q, want %q", got, before)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}
