package runner

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

func TestLimited(t *testing.T) {
	for _, tt := range []struct {
		limit int64
		want  string
		cut   int64
	}{{0, "abcdef", 0}, {2, "ab", 4}, {4, "abcd", 2}, {6, "abcdef", 0}, {9, "abcdef", 0}} {
		var b bytes.Buffer
		l := limit(&b, tt.limit)
		for _, part := range []string{"abc", "def"} {
			if n, err := l.Write([]byte(part)); n != 3 || err != nil {
				t.Errorf("Write = %d, %v, want 3, nil", n, err)
			}
		}
		if b.String() != tt.want || l.cut() != tt.cut {
			t.Errorf("limit %d passes %q and cuts %d, want %q and %d", tt.limit, b.String(), l.cut(), tt.want, tt.cut)
		}
	}
}

// Whatever a command does to get away from its parents, its tree is killed.
func TestKillTree(t *testing.T) {
	const mark = execVariable + "=test-of-tree"
	bystander := exec.Command("sleep", "30")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	tag := fmt.Sprint(os.Getpid()) // of these sleeps, among those of others
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(`(setsid sleep 1000.TAG &) ; env -i sh -c 'sleep 1001.TAG & sleep 1002.TAG & wait' & trap '' TERM; echo begun; sleep 1003.TAG; sleep 1004.TAG`, "TAG", tag))
	cmd.Env = append(os.Environ(), mark)
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if text, _ := os.ReadFile(out.Name()); bytes.Contains(text, []byte("begun")) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command does not begin")
		}
	}
	if err := killTree("/proc", cmd.Process.Pid, "OTHER=1"); err == nil {
		t.Error("killTree with another mark: no error")
	}
	if err := killTree("/proc", cmd.Process.Pid, mark); err != nil {
		t.Fatal(err)
	}
	<-waited
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left, _ := exec.Command("pgrep", "-f", `^sleep 100[0-4]\.`+tag+"$").Output()
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("killTree left %q", left)
		}
	}
	if err := unix.Kill(bystander.Process.Pid, 0); err != nil {
		t.Errorf("killTree killed a bystander: %v", err)
	}
}

func TestHostPaths(t *testing.T) {
	p := HostPaths{Root: "/var/sandboxes", HostRoot: "/Users/u/data"}
	tests := []struct{ name, want string }{
		{"/var/sandboxes", "/Users/u/data"},
		{"/var/sandboxes/c/1", "/Users/u/data/c/1"},
		{"/var/sandboxes2", ""},
		{"/etc", ""},
	}
	for _, tt := range tests {
		if got, err := p.Host(tt.name); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Host(%q) = %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	for _, same := range []HostPaths{{}, {Root: "/r"}, {Root: "/r", HostRoot: "/r"}} {
		if got, err := same.Host("/etc"); got != "/etc" || err != nil {
			t.Errorf("%+v.Host(/etc) = %q, %v, want /etc", same, got, err)
		}
	}
	for _, bad := range []HostPaths{{Root: "r"}, {Root: "/r", HostRoot: "h"}, {HostRoot: "/h"}, {Root: "/r/"}} {
		if _, err := New(Settings{HostPaths: bad}, nil); err == nil {
			t.Errorf("New with %+v: no error", bad)
		}
	}
}

const insideDocker = `600 500 0:50 / / rw,relatime master:1 - overlay overlay rw
601 600 8:1 /var/lib/docker/containers/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef/hostname /etc/hostname rw - ext4 /dev/sda1 rw
602 600 8:1 /home/u/my\040data /var/sandboxes rw shared:7 - ext4 /dev/sda1 rw
603 602 0:60 / /var/sandboxes/s/view rw - fuse.sandboxfs x rw
`

func TestOwnContainer(t *testing.T) {
	mounts, err := mountinfo.Parse(strings.NewReader(insideDocker))
	if err != nil {
		t.Fatal(err)
	}
	if got := ownContainer(mounts); !strings.HasPrefix(got, "0123456789ab") || len(got) != 64 {
		t.Errorf("ownContainer = %q, want the id in the source of /etc/hostname", got)
	}
	for text, want := range map[string]bool{
		insideDocker:                              true,
		"1 0 0:42 / / rw - overlay overlay rw\n":  true,
		"1 0 0:42 / / rw - overlay airootfs rw\n": false,
		"2 1 8:1 /etc/netns/a/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda1 rw\n": false,
		"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n":                                       false,
		"2 1 0:42 / /var/lib/docker/x rw - overlay overlay rw\n":                     false,
	} {
		table, err := mountinfo.Parse(strings.NewReader(text))
		if got := inContainer(table); err != nil || got != want {
			t.Errorf("inContainer of %q = %t, %v, want %t", text, got, err, want)
		}
	}
}

// S3-02: what the engine's host has something else for, or nothing, is not bound.
func TestPassedOn(t *testing.T) {
	mounts, err := mountinfo.Parse(strings.NewReader(insideDocker + `604 602 8:2 / /var/sandboxes/other rw shared:8 - ext4 /dev/sdb1 rw
605 600 8:1 /srv /private rw - ext4 /dev/sda1 rw
606 605 0:61 / /private/view rw - fuse.sandboxfs x rw
`))
	if err != nil {
		t.Fatal(err)
	}
	shared := HostPaths{Root: "/var/sandboxes", HostRoot: "/home/u/my data"}
	for _, tt := range []struct {
		source            string
		paths             HostPaths
		elsewhere, proven bool
		want              string // in the error
	}{
		{"/var/sandboxes/s/view/a", shared, true, true, ""},
		{"/var/sandboxes/s", shared, true, true, ""},
		{"/var/sandboxes/s/view", shared, true, false, "proven"},
		{"/var/sandboxes/s/view", HostPaths{}, true, false, "proven"},
		{"/etc", shared, true, true, "not within sandbox_root"},
		{"/etc", HostPaths{"/var/sandboxes", "/var/sandboxes"}, true, true, "not within sandbox_root"},
		{"/var/sandboxes/other/x", shared, true, true, "is on the mount /var/sandboxes/other"},
		{"/private/view", HostPaths{"/private", "/srv"}, true, true, "/private does not pass mounts on"},
		{"/private", HostPaths{"/private", "/srv"}, true, true, ""},
		{"/private/view", HostPaths{"/", "/"}, true, true, ""},
		{"/private/view", HostPaths{}, false, false, ""},
	} {
		d := &Docker{settings: Settings{HostPaths: tt.paths}, elsewhere: tt.elsewhere, proven: tt.proven}
		err := d.passedOn(tt.source, mounts)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("passedOn(%s) with %+v, elsewhere %t, proven %t = %v, want %q", tt.source, tt.paths, tt.elsewhere, tt.proven, err, tt.want)
		}
	}
}

func TestRules(t *testing.T) {
	v4 := rules(false)
	for _, want := range []string{"-i sfx+ -d 10.0.0.0/8 -j DROP", "-i sfx+ -d 169.254.0.0/16 -j DROP", "-i sfx+ -m conntrack --ctstate DNAT -j DROP", "-o sfx+ -m conntrack ! --ctstate RELATED,ESTABLISHED -j DROP", "-A SANDBOXFS-INPUT -i sfx+ -j DROP"} {
		if !strings.Contains(v4, want) {
			t.Errorf("rules = %s, want %q in them", v4, want)
		}
	}
	if v6 := rules(true); strings.Contains(v6, "10.0.0.0") || !strings.Contains(v6, "-A SANDBOXFS-FORWARD -i sfx+ -j DROP") {
		t.Errorf("rules for IPv6 = %s, want all dropped", v6)
	}
}

func TestSettingsImage(t *testing.T) {
	tests := []struct{ image, tag, want string }{
		{"", "", "sandboxfs-sandbox:latest"},
		{"img", "3", "img:3"},
		{"img:2", "3", "img:2"},
		{"host:5000/img", "", "host:5000/img:latest"},
		{"img@sha256:0", "3", "img@sha256:0"},
	}
	for _, tt := range tests {
		if got := (Settings{Image: tt.image, Tag: tt.tag}).withDefaults().image(); got != tt.want {
			t.Errorf("image of %q and %q = %q, want %q", tt.image, tt.tag, got, tt.want)
		}
	}
}
