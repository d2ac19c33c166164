package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// opCase is one way to ask for an operation, by system calls on the files that
// opFiles makes.
type opCase struct {
	name   string
	deny   string // the operation that a rule denies
	asks   string // the operation that the event names; "" is deny
	path   string // what the event names, below the directory
	change bool   // a readonly mount refuses it
	act    func(dir string) error
}

// opFiles makes what every case works on.
func opFiles(w *world, dir string) {
	w.t.Helper()
	w.write(dir+"/f", "old")
	w.mkdir(dir + "/d")
	w.write(dir+"/d2/inner", "in")
	must(w.t, os.Symlink("f", w.path(dir+"/l")))
	program, err := os.ReadFile("/bin/true")
	must(w.t, err)
	must(w.t, os.WriteFile(w.path(dir+"/x"), program, 0o755))
	must(w.t, unix.Setxattr(w.path(dir+"/f"), "user.old", []byte("v"), 0))
}

// open opens name in dir and closes it again.
func open(flags int) func(string) error {
	return func(path string) error {
		fd, err := unix.Open(path, flags, 0o644)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

// onFile opens a file read-write and applies call to the descriptor.
func onFile(flags int, call func(fd int) error) func(string) error {
	return func(path string) error {
		fd, err := unix.Open(path, flags, 0o644)
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		defer unix.Close(fd)
		return call(fd)
	}
}

// below applies call to name in the directory of the case.
func below(name string, call func(path string) error) func(string) error {
	return func(dir string) error { return call(filepath.Join(dir, name)) }
}

// opCases asks for every operation of a policy at least once.
var opCases = []opCase{
	{name: "read", deny: "read", path: "f", act: below("f", open(unix.O_RDONLY))},
	{name: "open", deny: "open", path: "f", act: below("f", open(unix.O_RDONLY))},
	{name: "stat", deny: "stat", path: "f", act: below("f", func(p string) error { return unix.Lstat(p, new(unix.Stat_t)) })},
	{name: "list", deny: "list", path: "d2", act: below("d2", func(p string) error { _, err := os.ReadDir(p); return err })},
	{name: "readlink", deny: "readlink", path: "l", act: below("l", func(p string) error { _, err := unix.Readlink(p, make([]byte, 9)); return err })},
	{name: "getxattr", deny: "getxattr", path: "f", act: below("f", func(p string) error { _, err := unix.Getxattr(p, "user.old", make([]byte, 9)); return err })},
	{name: "listxattr", deny: "getxattr", path: "f", act: below("f", func(p string) error { _, err := unix.Listxattr(p, make([]byte, 99)); return err })},
	{name: "lock", deny: "lock", path: "f", act: below("f", onFile(unix.O_RDONLY, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) }))},
	{name: "exec", deny: "exec", path: "x", act: below("x", execute)},

	{name: "write", deny: "write", path: "f", change: true, act: below("f", open(unix.O_WRONLY))},
	{name: "write-append", deny: "write", path: "f", change: true, act: below("f", open(unix.O_WRONLY|unix.O_APPEND))},
	{name: "write-rdwr", deny: "write", path: "f", change: true, act: below("f", open(unix.O_RDWR))},
	{name: "write-trunc", deny: "write", path: "f", change: true, act: below("f", open(unix.O_WRONLY|unix.O_TRUNC))},
	{name: "write-covers", deny: "write", asks: "chmod", path: "f", change: true, act: below("f", func(p string) error { return unix.Chmod(p, 0o600) })},
	{name: "truncate", deny: "truncate", path: "f", change: true, act: below("f", func(p string) error { return unix.Truncate(p, 1) })},
	{name: "ftruncate", deny: "truncate", path: "f", change: true, act: below("f", onFile(unix.O_RDWR, func(fd int) error { return unix.Ftruncate(fd, 1) }))},
	{name: "chmod", deny: "chmod", path: "f", change: true, act: below("f", func(p string) error { return unix.Chmod(p, 0o600) })},
	{name: "fchmod", deny: "chmod", path: "f", change: true, act: below("f", onFile(unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, 0o600) }))},
	{name: "chown", deny: "chown", path: "f", change: true, act: below("f", func(p string) error { return unix.Lchown(p, os.Getuid(), os.Getgid()) })},
	{name: "utimes", deny: "utimes", path: "f", change: true, act: below("f", func(p string) error { return unix.UtimesNano(p, []unix.Timespec{{Sec: 1}, {Sec: 2}}) })},
	{name: "setxattr", deny: "setxattr", path: "f", change: true, act: below("f", func(p string) error { return unix.Setxattr(p, "user.new", []byte("v"), 0) })},
	{name: "removexattr", deny: "setxattr", path: "f", change: true, act: below("f", func(p string) error { return unix.Removexattr(p, "user.old") })},

	{name: "create", deny: "create", path: "new", change: true, act: below("new", open(unix.O_WRONLY|unix.O_CREAT))},
	{name: "create-excl", deny: "create", path: "new", change: true, act: below("new", open(unix.O_RDWR|unix.O_CREAT|unix.O_EXCL))},
	{name: "create-covers", deny: "create", asks: "mkdir", path: "new", change: true, act: below("new", func(p string) error { return unix.Mkdir(p, 0o755) })},
	{name: "mkdir", deny: "mkdir", path: "new", change: true, act: below("new", func(p string) error { return unix.Mkdir(p, 0o755) })},
	{name: "symlink", deny: "symlink", path: "new", change: true, act: below("new", func(p string) error { return unix.Symlink("f", p) })},
	{name: "link", deny: "link", path: "new", change: true, act: below("new", func(p string) error { return unix.Link(filepath.Join(filepath.Dir(p), "f"), p) })},
	{name: "mknod", deny: "mknod", path: "new", change: true, act: below("new", func(p string) error { return unix.Mknod(p, unix.S_IFIFO|0o644, 0) })},

	{name: "delete-covers", deny: "delete", asks: "unlink", path: "f", change: true, act: below("f", unix.Unlink)},
	{name: "unlink", deny: "unlink", path: "f", change: true, act: below("f", unix.Unlink)},
	{name: "unlink-symlink", deny: "unlink", path: "l", change: true, act: below("l", unix.Unlink)},
	{name: "rmdir", deny: "rmdir", path: "d", change: true, act: below("d", unix.Rmdir)},
	{name: "rename", deny: "rename", path: "f", change: true, act: below("f", func(p string) error { return unix.Rename(p, p+"-moved") })},
	{name: "rename-dir", deny: "rename", path: "d2", change: true, act: below("d2", func(p string) error { return unix.Rename(p, p+"-moved") })},
}

// execute runs a program that has to end well.
func execute(path string) error {
	p, err := os.StartProcess(path, []string{path}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}

// operation returns what the event of the case names.
func (c opCase) operation() string {
	if c.asks != "" {
		return c.asks
	}
	return c.deny
}

// TestOperations tries each operation where a rule denies it and where none
// does: errno, an untouched backing, an event with rule and line, a metric.
// C-06, X-07.
func TestOperations(t *testing.T) {
	w := newWorld(t)
	var rules []string
	for _, c := range opCases {
		opFiles(w, "root/no-"+c.name)
		opFiles(w, "root/yes-"+c.name)
		if c.name == "read" {
			rules = append(rules, rule("look", "allow", "stat, open", "/no-read/*"))
		}
		rules = append(rules, rule("no-"+c.name, "deny", c.deny, "/no-"+c.name+"/*"))
	}
	m := w.view(append(rules, allowAll)...)
	for _, c := range opCases {
		t.Run(c.name, func(t *testing.T) {
			dir := "/no-" + c.name
			before := snapshot(t, m.Backing+dir, everything)
			count := m.metric("sandboxfs_decisions_total", `mount="/"`, `operation="`+c.operation()+`"`, `decision="deny"`)
			wantErrno(t, c.name+" where it is denied", c.act(m.Path+dir), unix.EACCES)
			wantSame(t, "backing after denied "+c.name, snapshot(t, m.Backing+dir, everything), before)
			e := m.wantEvent(c.operation(), dir+"/"+c.path, "no-"+c.name)
			line := firstRule + slices.IndexFunc(rules, func(r string) bool { return strings.HasPrefix(r, "name: no-"+c.name+",") })
			if !strings.HasSuffix(e.At, fmt.Sprintf("policies/agent.yaml:%d", line)) {
				t.Errorf("event of %s: at = %q, want policies/agent.yaml:%d", c.name, e.At, line)
			}
			if e.Decision != "deny" || e.Policy != "agent" || e.Mount != "/" || e.Errno != "EACCES" || e.Pid == 0 || e.Command == "" {
				t.Errorf("event of %s = %+v, want decision deny, policy agent, mount /, EACCES, a pid and a command", c.name, e)
			}
			if now := m.metric("sandboxfs_decisions_total", `mount="/"`, `operation="`+c.operation()+`"`, `decision="deny"`); now <= count {
				t.Errorf("sandboxfs_decisions_total of %s = %v, was %v before it was denied", c.operation(), now, count)
			}
			wantErrno(t, c.name+" where it is allowed", c.act(m.Path+"/yes-"+c.name), 0)
		})
	}
}

// TestOperationsReadonly tries each operation on a readonly mount: every change
// is EROFS and the rest works. S0-01.
func TestOperationsReadonly(t *testing.T) {
	w := newWorld(t)
	opFiles(w, "root/o")
	w.policy("agent", allowAll)
	m := w.mount(w.profile("root: ./root\nreadonly: true\npolicy: agent\npolicies: [./policies]\nguards: []\n"))
	before := snapshot(t, m.Backing, everything)
	for _, c := range opCases {
		want := syscall.Errno(0)
		if c.change {
			want = unix.EROFS
		}
		wantErrno(t, c.name+" on a readonly mount", c.act(m.Path+"/o"), want)
	}
	wantSame(t, "backing", snapshot(t, m.Backing, everything), before)
	m.wantEvent("mkdir", "/o/new", "builtin:readonly-mount")
}

// TestOperationsDefaultDeny tries each operation where no rule speaks of it
// beyond finding the names.
func TestOperationsDefaultDeny(t *testing.T) {
	w := newWorld(t)
	opFiles(w, "root/o")
	m := w.view(rule("find", "allow", "stat", "/**"))
	before := snapshot(t, m.Backing, everything)
	for _, c := range opCases {
		if c.deny == "stat" {
			continue
		}
		wantErrno(t, c.name+" that no rule names", c.act(m.Path+"/o"), unix.EACCES)
	}
	wantSame(t, "backing", snapshot(t, m.Backing, everything), before)
	if e := m.wantEvent("mkdir", "/o/new", "builtin:default-deny"); e.At != "" {
		t.Errorf("event of a built-in rule: at = %q, want none", e.At)
	}
}

// TestAudit has the audit decision go ahead and be written down.
func TestAudit(t *testing.T) {
	w := newWorld(t)
	w.write("root/seen", "x")
	m := w.view(rule("watch", "audit", "read", "/seen"), allowAll)
	if got := read(t, m.Path+"/seen"); got != "x" {
		t.Errorf("read of an audited file = %q, want %q", got, "x")
	}
	if e := m.wantEvent("read", "/seen", "watch"); e.Decision != "audit" {
		t.Errorf("event = %+v, want decision audit", e)
	}
}

// TestAuditThatFails has what must be written down and cannot be not happen,
// and a denial stay one. X-10.
func TestAuditThatFails(t *testing.T) {
	w := newWorld(t)
	w.write("root/seen", "x")
	w.policy("agent", rule("watch", "audit", "read", "/seen"), rule("no", "deny", "create", "/new"), allowAll)
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"), auditTo("/dev/full"))
	if _, err := os.ReadFile(m.Path + "/seen"); err == nil {
		t.Error("read of an audited file with a full audit file = ok, want an error")
	}
	wantErrno(t, "create /new with a full audit file", open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/new"), unix.EACCES)
}

// TestAskWithoutApprover has an ask rule deny. X-10.
func TestAskWithoutApprover(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(rule("confirm", "ask", "write", "/f"), allowAll)
	wantErrno(t, "open(/f, O_WRONLY) under ask", open(unix.O_WRONLY)(m.Path+"/f"), unix.EACCES)
	e := m.wantEvent("write", "/f", "builtin:no-approver")
	if e.At != "policies/agent.yaml:4" || e.Policy != "agent" {
		t.Errorf("event = %+v, want the place and policy of the rule that asks", e)
	}
	if got := read(t, m.Path+"/f"); got != "x" {
		t.Errorf("read(/f) = %q, want %q", got, "x")
	}
}
