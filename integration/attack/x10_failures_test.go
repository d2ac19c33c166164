package attack

import (
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX10_NobodyToAsk", func(string, func()) []attempt {
	return []attempt{
		{"read(asked)", "EACCES", read("asked")},
		{"create(new-asked)", "EACCES", create("new-asked")},
		{"unlink(asked)", "EACCES", unlink("asked")},
		{"rename(asked, away)", "EACCES", rename("asked", "away")},
		{"create(unmatched)", "EACCES", create("unmatched")},
		{"read(unmatched-dir/f)", "EACCES", read("unmatched-dir/f")},
	}
})

// TestX10_NobodyToAsk has a rule ask, and none match.
func TestX10_NobodyToAsk(t *testing.T) {
	w := newWorld(t)
	w.write("root/asked", "x")
	w.write("root/unmatched-dir/f", "x")
	w.policy("agent", rule("ask", "ask", `"*"`, "/asked", "/new-asked"), rule("top", "allow", "read", "/"))
	v := w.mount(w.profile("p.yaml", agent), launch{})
	attack(t, w, v, nil, nil)
}

var _ = register("TestX10_AuditFails", func(string, func()) []attempt {
	return []attempt{
		{"read(f)", "EIO", read("f")},
		{"open(f, O_WRONLY)", "EIO", open("f", unix.O_WRONLY)},
		{"create(new)", "EIO", create("new")},
		{"unlink(f)", "EIO", unlink("f")},
		{"rename(f, away)", "EIO", rename("f", "away")},
		{"link(f, away)", "EIO", link("f", "away")},
		{"truncate(f)", "EIO", truncate("f")},
		{"chmod(f)", "EIO|EPERM", chmod("f", 0o600)},
	}
})

// TestX10_AuditFails has the disk of the audit trail be full: what has to be
// recorded and cannot be does not happen.
func TestX10_AuditFails(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	w.policy("agent",
		rule("audit", "audit", "open, read, write, create, delete", "/f", "/new", "/away"),
		allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{audit: "/dev/full"})
	attack(t, w, v, nil, nil)
}
