package integration

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWorkedExamples walks the three examples of the multi-mount design
// through a real mount and through explain. S1-01, S1-02, S1-03.
func TestWorkedExamples(t *testing.T) {
	w := newWorld(t)
	w.write("home/user/workspace/file.txt", "work")
	w.write("home/user/.claude/settings.json", "{}")
	w.write("home/user/other.txt", "not mounted")
	profile := w.profile(`
name: claude-agent
base_policy: default
mounts:
  - {path: DIR/home/user/workspace, policy: workspace-rw}
  - {path: DIR/home/user/.claude, policy: config-readonly}
`)
	m := w.mount(profile)
	settings, file, other := w.path("home/user/.claude/settings.json"), w.path("home/user/workspace/file.txt"), w.path("home/user/other.txt")

	wantErrno(t, "write .claude/settings.json", open(unix.O_WRONLY)(m.Path+settings), unix.EACCES)
	if e := m.wantEvent("write", settings, refusal(m, settings)); e.Policy != "config-readonly" {
		t.Errorf("event = %+v, want policy config-readonly", e)
	}
	if got := read(t, m.Path+settings); got != "{}" {
		t.Errorf("read .claude/settings.json = %q, want {}", got)
	}
	if got := read(t, m.Path+file); got != "work" {
		t.Errorf("read workspace/file.txt = %q, want work", got)
	}
	must(t, os.WriteFile(m.Path+file, []byte("done"), 0o644))
	if got := read(t, file); got != "done" {
		t.Errorf("workspace/file.txt on the host = %q, want done", got)
	}
	for _, path := range []string{"/etc/passwd", other} {
		if _, err := os.ReadFile(m.Path + path); err == nil {
			t.Errorf("read %s = ok, want a refusal: no mount covers it", path)
		}
	}
	for _, tc := range []struct {
		op, path string
		code     int
		says     string
	}{
		{"write", settings, 3, "config-readonly"},
		{"read", settings, 0, ""},
		{"read", file, 0, "workspace-rw"},
		{"read", "/etc/passwd", 3, "builtin:unmounted"},
	} {
		out, errs, code := sandboxfs("explain", profile, tc.op, tc.path)
		if code != tc.code || !strings.Contains(out, tc.says) {
			t.Errorf("explain %s %s = exit %d, want %d and %q\n%s%s", tc.op, tc.path, code, tc.code, tc.says, out, errs)
		}
	}
}

// refusal returns the rule that the last event on path names.
func refusal(m *mount, path string) string {
	m.t.Helper()
	rule := ""
	for _, e := range m.events() {
		if e.Path == path {
			rule = e.Rule
		}
	}
	return rule
}

// TestLayers has a mount's policy never grant what the base denies, nor the
// other way round. S1-02.
func TestLayers(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"both", "mount", "base", "neither"} {
		w.write("root/"+f, f)
	}
	w.policy("lower", rule("b", "allow", "read", "/", "/both", "/base"))
	w.policy("upper", rule("m", "allow", "read", "/", "/both", "/mount"))
	m := w.mount(w.profile("root: ./root\nbase_policy: lower\npolicy: upper\npolicies: [./policies]\nguards: []\n"))
	for path, want := range map[string]syscall.Errno{"/both": 0, "/mount": unix.EACCES, "/base": unix.EACCES, "/neither": unix.EACCES} {
		wantErrno(t, "open("+path+")", open(unix.O_RDONLY)(m.Path+path), want)
	}
}

// TestSystemMounts has the built-in mounts readable, unchangeable and without
// configuration, under each base policy that ships. S1-05.
func TestSystemMounts(t *testing.T) {
	for _, base := range []string{"", "base_policy: default\n", "base_policy: minimal\n"} {
		t.Run(base, func(t *testing.T) {
			w := newWorld(t)
			w.mkdir("project")
			m := w.mount(w.profile(base + "mounts: [{source: ./project, target: /project, policy: workspace-rw}]\n"))
			systemMounts(t, m)
		})
	}
}

func systemMounts(t *testing.T, m *mount) {
	for _, path := range []string{"/etc/hosts", "/usr/bin/env", "/bin/sh"} {
		want, err := os.ReadFile(path)
		must(t, err)
		if got := read(t, m.Path+path); got != string(want) {
			t.Errorf("read(%s) differs from the host's", path)
		}
	}
	if target, err := os.Readlink("/bin"); err == nil {
		if got, err := os.Readlink(m.Path + "/bin"); got != target {
			t.Errorf("readlink(/bin) = %q, %v, want %q", got, err, target)
		}
	}
	for call, err := range map[string]error{
		"create in /usr":         open(unix.O_WRONLY | unix.O_CREAT)(m.Path + "/usr/sandboxfs-test"),
		"mkdir in /usr/lib":      unix.Mkdir(m.Path+"/usr/lib/sandboxfs-test", 0o755),
		"write /etc/hosts":       open(unix.O_WRONLY)(m.Path + "/etc/hosts"),
		"truncate /usr/bin/env":  unix.Truncate(m.Path+"/usr/bin/env", 0),
		"create in /etc":         open(unix.O_WRONLY | unix.O_CREAT)(m.Path + "/etc/new"),
		"mkdir in / of no mount": unix.Mkdir(m.Path+"/new", 0o755),
		"write /dev/urandom":     open(unix.O_WRONLY)(m.Path + "/dev/urandom"),
	} {
		if e := errno(err); e != "EROFS" && e != "EACCES" {
			t.Errorf("%s = %s, want EROFS or EACCES", call, e)
		}
	}
	if slices.Contains(names(t, m.Path+"/etc"), "passwd") {
		t.Error("list(/etc) shows passwd, which no mount covers")
	}
	devices(t, m.Path+"/dev")
}

// devices tries the three device files that the daemon serves itself.
func devices(t *testing.T, dev string) {
	for _, name := range []string{"/null", "/zero"} {
		wantErrno(t, "write "+name, os.WriteFile(dev+name, []byte("gone"), 0o644), 0)
	}
	if got := read(t, dev+"/null"); got != "" {
		t.Errorf("read(/dev/null) = %q, want nothing", got)
	}
	for _, name := range []string{"/zero", "/urandom"} {
		f, err := os.Open(dev + name)
		must(t, err)
		buf := []byte(strings.Repeat("x", 64))
		n, err := f.Read(buf)
		f.Close()
		zeros := strings.Trim(string(buf), "\x00") == ""
		if n != 64 || err != nil || zeros != (name == "/zero") {
			t.Errorf("read(/dev%s) = %d, %v, %q", name, n, err, buf)
		}
	}
	command{dir: dev}.run(t, "sh", "-c", "echo hello > "+dev+"/null && head -c 100000 zero | wc -c")
}

// TestSystemMountsOptIn has a profile with a root show its own /bin unless it
// asks for the system's. S1-05.
func TestSystemMountsOptIn(t *testing.T) {
	w := newWorld(t)
	w.write("root/bin/tool", "mine")
	m := w.view(allowAll)
	if got := read(t, m.Path+"/bin/tool"); got != "mine" {
		t.Errorf("read(/bin/tool) = %q, want the project's own", got)
	}
	m.stop()
	m = w.mount(w.profile("root: ./root\nsystem_mounts: on\npolicy: agent\npolicies: [./policies]\n"))
	if got, want := read(t, m.Path+"/etc/hosts"), read(t, "/etc/hosts"); got != want {
		t.Errorf("read(/etc/hosts) = %q, want the host's", got)
	}
}

// TestZones has zones obey their mode and their approvals; with nobody to ask,
// ask is a denial. S2-01, S2-02, S2-03, S2-05.
func TestZones(t *testing.T) {
	w := newWorld(t)
	for _, zone := range []string{"input", "drafts", "final", "frozen"} {
		w.write(zone+"/doc", zone)
	}
	m := w.mount(w.profile(`
zones:
  input:  {path: ./input, mode: ro}
  drafts: {path: ./drafts, mode: rw, approval: {write: preApproved, delete: ask}}
  final:  {path: ./final, mode: rw}
  frozen: {path: ./frozen, mode: rw, approval: {write: blocked, delete: blocked}}
`))
	for _, zone := range []string{"input", "drafts", "final", "frozen"} {
		if got := read(t, m.Path+"/"+zone+"/doc"); got != zone {
			t.Errorf("read(/%s/doc) = %q, want %q", zone, got, zone)
		}
	}
	for _, tc := range []struct {
		call string
		err  error
		want syscall.Errno
	}{
		{"write in a ro zone", open(unix.O_WRONLY)(m.Path + "/input/doc"), unix.EROFS},
		{"write, pre-approved", os.WriteFile(m.Path+"/drafts/doc", []byte("v2"), 0o644), 0},
		{"create, pre-approved", os.WriteFile(m.Path+"/drafts/new", nil, 0o644), 0},
		{"delete that asks", unix.Unlink(m.Path + "/drafts/doc"), unix.EACCES},
		{"write by default", open(unix.O_WRONLY)(m.Path + "/final/doc"), unix.EACCES},
		{"delete by default", unix.Unlink(m.Path + "/final/doc"), unix.EACCES},
		{"write, blocked", open(unix.O_WRONLY)(m.Path + "/frozen/doc"), unix.EACCES},
		{"delete, blocked", unix.Unlink(m.Path + "/frozen/doc"), unix.EACCES},
		{"new zone", unix.Mkdir(m.Path+"/other", 0o755), unix.EACCES},
	} {
		wantErrno(t, tc.call, tc.err, tc.want)
	}
	m.wantEvent("unlink", "/drafts/doc", "builtin:no-approver")
	must(t, os.WriteFile(m.Path+"/drafts/.doc.tmp", []byte("v3"), 0o644))
	wantErrno(t, "atomic save in a zone that asks for deletes", unix.Rename(m.Path+"/drafts/.doc.tmp", m.Path+"/drafts/doc"), 0)
	if got := read(t, w.path("drafts/doc")); got != "v3" {
		t.Errorf("drafts/doc after an atomic save = %q, want v3", got)
	}
}
