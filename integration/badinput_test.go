package integration

import (
	"cmp"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// wantComplaint checks the exit code of a command that has to fail and that it
// said why on exactly one line, which holds says.
func wantComplaint(t *testing.T, what, stderr string, code, want int, says string) {
	t.Helper()
	if code != want {
		t.Errorf("%s = exit %d, want %d", what, code, want)
	}
	if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "sandboxfs: ") || !strings.Contains(stderr, says) {
		t.Errorf("%s says %q, want one line \"sandboxfs: …\" with %q", what, stderr, says)
	}
}

// badInput is a mount that has to be refused.
type badInput struct {
	name    string
	profile string                             // "" is a good one
	prepare func(w *world)                     // what else is wrong
	args    func(w *world) []string            // flags; nil is none
	target  func(w *world) (arg, point string) // nil is the profile on "mnt"
	env     []string
	code    int // 0 stands for 1
	says    string
	at      string // line and column in the profile, where a file is at fault
}

const goodProfile = "root: ./root\n"

// In these profiles line 1 is "version: 1".
var badInputs = []badInput{
	{name: "missing profile", target: func(w *world) (string, string) { return w.path("absent.yaml"), w.path("mnt") }, says: "absent.yaml"},
	{name: "profile without a file of that name", target: func(w *world) (string, string) { return "nosuchprofile", w.path("mnt") }, says: "nosuchprofile"},
	{name: "empty profile", profile: "", prepare: func(w *world) { w.write("profile.yaml", "") }, says: "profile.yaml"},
	{name: "not YAML", profile: "root: [\n", says: "profile.yaml"},
	{name: "unknown key", profile: "root: ./root\nreadonley: true\n", says: "readonley", at: "3:1"},
	{name: "unknown key in a mount", profile: "root: ./root\nmounts:\n  - {source: ./root, target: /x, readonley: true}\n", says: "readonley", at: "4:34"},
	{name: "key given twice", profile: "root: ./root\nroot: ./root\n", says: "root", at: "3:1"},
	{name: "wrong kind of value", profile: "root: ./root\nreadonly: maybe\n", says: "readonly", at: "3"},
	{name: "unknown version", prepare: func(w *world) { w.write("profile.yaml", "version: 9\nroot: ./root\n") }, says: "version", at: "1"},
	{name: "root that is a file", profile: "root: ./file\n", prepare: func(w *world) { w.write("file", "x") }, says: "file", at: "2"},
	{name: "root that is not there", profile: "root: ./absent\n", says: "absent", at: "2"},
	// One mount that fails fails the view: S1-07.
	{name: "source that is not there", profile: "root: ./root\nmounts: [{source: ./absent, target: /x}]\n", says: "absent", at: "3"},
	{name: "relative target", profile: "root: ./root\nmounts:\n  - {source: ./root, target: x/y}\n", says: "x/y", at: "4"},
	{name: "target that climbs out", profile: "root: ./root\nmounts:\n  - {source: ./root, target: /../x}\n", says: "outside sandbox", at: "4"},
	{name: "duplicate target", profile: "root: ./root\nmounts:\n  - {source: ./root, target: /x}\n  - {source: ./root, target: /y/../x/}\n", says: "/x", at: "5"},
	{name: "target inside a system mount", profile: "mounts:\n  - {source: ./root, target: /usr/local}\n", says: "/usr", at: "3"},
	{name: "target above a system mount", profile: "mounts:\n  - {source: ./root, target: /etc}\n", says: "/etc", at: "3"},
	{name: "policy that does not exist", profile: "root: ./root\npolicy: nosuchpolicy\n", says: "nosuchpolicy", at: "3:9"},
	{name: "base policy that does not exist", profile: "root: ./root\nbase_policy: nosuchpolicy\n", says: "nosuchpolicy", at: "3:14"},
	{name: "unknown guard", profile: "root: ./root\nguards: [gti]\n", says: "gti", at: "3"},
	{name: "unknown symlink mode", profile: "root: ./root\nsymlinks: folow\n", says: "folow", at: "3:11"},
	{name: "unset variable", profile: "root: ${SANDBOXFS_TEST_UNSET}/x\n", says: "SANDBOXFS_TEST_UNSET", at: "2"},
	{name: "nothing to mount", profile: "system_mounts: off\n", says: "profile.yaml"},
	{name: "policy file with an unknown operation", profile: "root: ./root\npolicy: agent\npolicies: [./policies]\n", prepare: func(w *world) {
		w.policy("agent", rule("r", "allow", "reed", "/**"))
	}, says: "agent.yaml:4:"},
	{name: "policy file with a bad glob", profile: "root: ./root\npolicy: agent\npolicies: [./policies]\n", prepare: func(w *world) {
		w.policy("agent", rule("r", "allow", "read", "/[a"))
	}, says: "agent.yaml:4:"},

	{name: "mountpoint that is not there", target: func(w *world) (string, string) { return w.path("profile.yaml"), w.path("absent") }, says: "absent"},
	{name: "mountpoint that is a file", prepare: func(w *world) { w.write("mntfile", "") }, target: func(w *world) (string, string) {
		return w.path("profile.yaml"), w.path("mntfile")
	}, says: "mntfile"},
	{name: "mountpoint that is not empty", prepare: func(w *world) { w.write("mnt/f", "x") }, says: "not empty"},
	{name: "mountpoint inside its own root", prepare: func(w *world) { w.mkdir("root/mnt") }, target: func(w *world) (string, string) {
		return w.path("profile.yaml"), w.path("root/mnt")
	}, says: "root/mnt"},
	{name: "no fusermount3", env: []string{"PATH=/nonexistent"}, says: "fuse3"},
	{name: "socket inside the view", args: func(w *world) []string { return []string{"--metrics", "off", "--socket", w.path("root/socket")} }, says: "root/socket"},
	{name: "metrics address that is none", args: func(*world) []string { return []string{"--metrics", "here"} }, says: "here", code: 2},
	{name: "socket in the place of a file", prepare: func(w *world) { w.write("taken", "x") }, args: func(w *world) []string {
		return []string{"--metrics", "off", "--socket", w.path("taken")}
	}, says: "something of that name"},
	{name: "socket with a long name", args: func(w *world) []string {
		return []string{"--metrics", "off", "--socket", w.path(strings.Repeat("x", 120))}
	}, says: "too long"},
	{name: "audit file that is a pipe without a reader", prepare: func(w *world) { must(w.t, unix.Mkfifo(w.path("fifo"), 0o600)) }, args: func(w *world) []string {
		return []string{"--metrics", "off", "--audit", w.path("fifo")}
	}, says: "nobody reads"},
	{name: "audit file that is the profile", prepare: func(w *world) { must(w.t, os.Link(w.path("profile.yaml"), w.path("twin"))) }, args: func(w *world) []string {
		return []string{"--metrics", "off", "--audit", w.path("twin")}
	}, says: "profile itself"},
	{name: "profile that is a pipe without a writer", prepare: func(w *world) { must(w.t, unix.Mkfifo(w.path("fifo.yaml"), 0o600)) }, target: func(w *world) (string, string) {
		return w.path("fifo.yaml"), w.path("mnt")
	}, says: "fifo.yaml"},
	{name: "profile that is a policy", prepare: func(w *world) { w.policy("agent", allowAll) }, target: func(w *world) (string, string) {
		return w.path("policies/agent.yaml"), w.path("mnt")
	}, says: "this is a policy"},
	{name: "audit file in no directory", args: func(w *world) []string { return []string{"--audit", w.path("absent/audit")} }, says: "absent/audit"},
}

// TestBadInput has each refusal be one line that says what to do, exit with 1, or
// with 2 where the command line alone is wrong, and leave no mount, no process and no file. S0-04, S1-08.
func TestBadInput(t *testing.T) {
	for _, b := range badInputs {
		t.Run(b.name, func(t *testing.T) { b.try(t) })
	}
}

func (b badInput) try(t *testing.T) {
	w := newWorld(t)
	t.Cleanup(func() { sweep(w.Dir) })
	w.mkdir("mnt")
	w.profile(b.profile)
	if b.profile == "" {
		w.profile(goodProfile)
	}
	if b.prepare != nil {
		b.prepare(w)
	}
	arg, point := w.path("profile.yaml"), w.path("mnt")
	if b.target != nil {
		arg, point = b.target(w)
	}
	argv := []string{executable, "mount"}
	if b.args != nil {
		argv = append(argv, b.args(w)...)
	} else {
		argv = append(argv, "--metrics", "off")
	}
	before := snapshot(t, w.Dir, owners)
	_, stderr, code := command{dir: w.Dir, env: b.env}.try(append(argv, arg, point)...)
	says := b.says
	if b.at != "" {
		where := regexp.MustCompile(`profile\.yaml:` + b.at + `\b`)
		if !where.MatchString(stderr) {
			t.Errorf("%s says %q, want a place like %s", b.name, stderr, where)
		}
	}
	wantComplaint(t, b.name, stderr, code, cmp.Or(b.code, 1), says)
	if left := leftovers(w.Dir); len(left) > 0 {
		t.Errorf("%s left %v", b.name, left)
	}
	wantSame(t, "files after "+b.name, snapshot(t, w.Dir, owners), before)
}

// TestUnreadableProfile is the case that root cannot show.
func TestUnreadableProfile(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.mkdir("mnt")
	must(t, os.Chmod(w.profile(goodProfile), 0o600))
	_, stderr, code := command{dir: w.Dir, uid: 1000}.try(executable, "mount", w.path("profile.yaml"), w.path("mnt"))
	wantComplaint(t, "mount of an unreadable profile", stderr, code, 1, "profile.yaml")
}

// TestUnreadableDirectories has one line tell of a directory that this user may
// not read, and where it is: that of the policies, and a project.
func TestUnreadableDirectories(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.mkdir("mnt")
	w.policy("agent", allowAll)
	profile := w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n")
	must(t, os.Chmod(w.path("policies"), 0o700))
	_, stderr, code := command{dir: w.Dir, uid: 1000}.try(executable, "mount", profile, w.path("mnt"))
	wantComplaint(t, "mount with unreadable policies", stderr, code, 1, w.path("policies")+": ")
	must(t, os.Chmod(w.path("root"), 0o700))
	_, stderr, code = command{dir: w.Dir, uid: 1000}.try(executable, "mount", w.path("root"), w.path("mnt"))
	wantComplaint(t, "mount of an unreadable directory", stderr, code, 1, w.path("root")+": ")
}

// TestMetricsPort has a taken port be an error when it was asked for.
func TestMetricsPort(t *testing.T) {
	w := newWorld(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	_, stderr, code := sandboxfs("mount", "--metrics", taken.Addr().String(), w.profile(goodProfile), w.mkdir("mnt"))
	wantComplaint(t, "mount with a taken metrics port", stderr, code, 1, taken.Addr().String())
	if left := leftovers(w.Dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestUsage has a wrong command line exit with 2.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"mount"}, {"mount", "one"}, {"mount", "a", "b", "c"}, {"mount", "--nosuchflag", "a", "b"}, {"mount", "--log-format", "xml", "a", "b"}, {"nosuchcommand"}, {"umount"}} {
		_, stderr, code := sandboxfs(args...)
		wantComplaint(t, strings.Join(args, " "), stderr, code, 2, "")
	}
}

// TestCheckReportsEverything has check list every problem of a file, each with
// its place. S1-08.
func TestCheckReportsEverything(t *testing.T) {
	w := newWorld(t)
	file := w.profile("root: ./absent\npolicy: nosuchpolicy\nunknown: 1\nmounts:\n  - {source: ./root, target: relative}\n")
	out, errs, code := sandboxfs("check", file)
	if code != 1 {
		t.Errorf("check = exit %d, want 1", code)
	}
	for _, place := range []string{":2:", ":3:9", ":4:1", ":6:"} {
		if !strings.Contains(out+errs, file+place) {
			t.Errorf("check names no problem at %s%s\n%s%s", file, place, out, errs)
		}
	}
	if _, errs, code := sandboxfs("check", w.profile(goodProfile)); code != 0 {
		t.Errorf("check of a good profile = exit %d: %s", code, errs)
	}
	var st unix.Stat_t
	if unix.Stat(w.path("absent"), &st) == nil {
		t.Error("check made the root that is missing")
	}
}
