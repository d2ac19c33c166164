package integration

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// exchange and noReplace are the renames that the transport cannot carry.
func exchange(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
}

func noReplace(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// TestTwoEnds tries renames and hard links of which one end is guarded: both
// are asked, and a refusal changes nothing..
func TestTwoEnds(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"free", "stay", "keep", "secret", "fixed", "vault/in"} {
		w.write("root/"+f, f)
	}
	m := w.view(
		rule("stay", "deny", "rename", "/stay"),
		rule("keep", "deny", "write", "/keep"),
		rule("secret", "deny", "read", "/secret"),
		rule("fixed", "deny", "write", "/fixed"),
		rule("vault", "deny", "create", "/vault/*"),
		rule("nolink", "deny", "link", "/unlinkable"),
		allowAll)
	before := snapshot(t, m.Backing, everything)
	for _, tc := range []struct {
		name, from, to string
		call           func(from, to string) error
		want           syscall.Errno
		rule           string
	}{
		{"rename", "/stay", "/gone", unix.Rename, unix.EACCES, "stay"},
		{"rename", "/free", "/keep", unix.Rename, unix.EACCES, "keep"},
		{"rename", "/free", "/vault/new", unix.Rename, unix.EACCES, "vault"},
		{"exchange", "/free", "/keep", exchange, unix.EINVAL, ""},
		{"exchange", "/free", "/fixed", exchange, unix.EINVAL, ""},
		{"noreplace", "/free", "/moved", noReplace, unix.EINVAL, ""},
		{"link", "/fixed", "/alias", unix.Link, unix.EACCES, "fixed"},
		{"link", "/free", "/vault/alias", unix.Link, unix.EACCES, "vault"},
		{"link", "/free", "/unlinkable", unix.Link, unix.EACCES, "nolink"},
		{"link", "/secret", "/alias", unix.Link, unix.EACCES, "secret"},
		{"rename", "/absent", "/stay", unix.Rename, unix.ENOENT, ""},
	} {
		call := tc.name + "(" + tc.from + ", " + tc.to + ")"
		wantErrno(t, call, tc.call(m.Path+tc.from, m.Path+tc.to), tc.want)
		if tc.rule != "" && !refusedBy(m, tc.rule) {
			t.Errorf("%s: no event names rule %s", call, tc.rule)
		}
	}
	wantSame(t, "backing", snapshot(t, m.Backing, everything), before)
	wantErrno(t, "rename(/free, /moved)", unix.Rename(m.Path+"/free", m.Path+"/moved"), 0)
	wantErrno(t, "link(/moved, /twin)", unix.Link(m.Path+"/moved", m.Path+"/twin"), 0)
	if got := read(t, w.path("root/twin")); got != "free" {
		t.Errorf("backing of /twin = %q, want %q", got, "free")
	}
}

// refusedBy reports whether the audit trail names rule.
func refusedBy(m *mount, rule string) bool {
	for _, e := range m.events() {
		if e.Rule == rule {
			return true
		}
	}
	return false
}

// TestHardLinkTakesStrictestName has a file under two names obey the stricter
// of the two through both. S0-04, X-01.
func TestHardLinkTakesStrictestName(t *testing.T) {
	w := newWorld(t)
	w.write("root/fixed", "x")
	must(t, os.Link(w.path("root/fixed"), w.path("root/loose")))
	m := w.view(rule("fixed", "deny", "write", "/fixed"), allowAll)
	must(t, unix.Lstat(m.Path+"/fixed", new(unix.Stat_t)))
	must(t, unix.Lstat(m.Path+"/loose", new(unix.Stat_t)))
	wantErrno(t, "open(/fixed, O_WRONLY)", open(unix.O_WRONLY)(m.Path+"/fixed"), unix.EACCES)
	wantErrno(t, "open(/loose, O_WRONLY) of the same file", open(unix.O_WRONLY)(m.Path+"/loose"), unix.EACCES)
}

// TestDirectoryRename has the rename of a directory refused with EXDEV where
// something below would gain, or could no longer be changed; mv then copies
// and meets the rule..
func TestDirectoryRename(t *testing.T) {
	w := newWorld(t)
	w.write("root/x/hooks/pre-commit", "#!/bin/sh\n")
	w.write("root/plain/f", "f")
	w.write("root/locked/f", "f")
	w.write("root/repo/.git/hooks/update", "old")
	w.mkdir("root/empty")
	m := w.view(
		rule("hooks", "deny", "create, write, delete", "/**/.git/hooks/**"),
		rule("locked", "deny", "write", "/locked/**"),
		allowAll)
	for _, tc := range []struct {
		from, to string
		want     syscall.Errno
	}{
		{"/x", "/.git", unix.EXDEV},             // would plant a hook
		{"/repo/.git", "/repo/git", unix.EXDEV}, // would free one
		{"/repo", "/elsewhere", 0},              // the rule follows
		{"/locked", "/unlocked", unix.EXDEV},    // would become writable
		{"/plain", "/moved", 0},
		{"/empty", "/void", 0},
	} {
		wantErrno(t, "rename("+tc.from+", "+tc.to+")", unix.Rename(m.Path+tc.from, m.Path+tc.to), tc.want)
	}
	m.wantEvent("rename", "/x", "builtin:subtree")
	if _, _, code := (command{dir: m.Path}).try("mv", "x", ".git"); code == 0 {
		t.Error("mv x .git = exit 0, want a failure")
	}
	if _, err := os.Lstat(w.path("root/.git/hooks/pre-commit")); err == nil {
		t.Error("mv x .git planted .git/hooks/pre-commit")
	}
	command{dir: m.Path}.run(t, "mv", "moved", "again")
	if got := read(t, w.path("root/again/f")); got != "f" {
		t.Errorf("moved file = %q, want %q", got, "f")
	}
}

// TestReopen has a descriptor lend no right that its name does not give: by
// /proc/self/fd it is opened, linked and changed like the name itself. X-03.
func TestReopen(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(rule("fixed", "deny", "write", "/f"), allowAll)
	for name, flags := range map[string]int{"O_RDONLY": unix.O_RDONLY, "O_PATH": unix.O_PATH} {
		fd, err := unix.Open(m.Path+"/f", flags, 0)
		must(t, err)
		magic := fmt.Sprintf("/proc/self/fd/%d", fd)
		wantErrno(t, "open for writing through a descriptor of "+name, open(unix.O_RDWR)(magic), unix.EACCES)
		wantErrno(t, "truncate through a descriptor of "+name, unix.Truncate(magic, 0), unix.EACCES)
		wantErrno(t, "chmod through a descriptor of "+name, unix.Chmod(magic, 0o777), unix.EACCES)
		wantErrno(t, "link through a descriptor of "+name, unix.Linkat(unix.AT_FDCWD, magic, unix.AT_FDCWD, m.Path+"/alias", unix.AT_SYMLINK_FOLLOW), unix.EACCES)
		unix.Close(fd)
	}
	if got := read(t, w.path("root/f")); got != "x" {
		t.Errorf("content = %q, want x", got)
	}
}
