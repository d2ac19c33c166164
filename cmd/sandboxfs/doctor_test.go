package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// healthy is a host on which nothing is missing.
func healthy(t *testing.T, dir string) host {
	t.Helper()
	return host{
		device: dir + "/fuse", fuseConf: dir + "/fuse.conf", sysctl: dir, procStatus: dir + "/status",
		findFile: func(name string) (string, error) { return dir + "/" + name, nil },
		table:    func() (mountinfo.Table, error) { return mountinfo.Table{{Point: "/", Type: "ext4"}}, nil },
		dead:     func(mountinfo.Mount) bool { return false },
	}
}

func TestDoctor(t *testing.T) {
	dir := tree(t, map[string]string{
		"fuse": "", "fuse.conf": "# user_allow_other\n", "allowed.conf": "user_allow_other\n", "fusermount3": "",
		"fs/inotify/max_user_watches": "65536\n", "few/fs/inotify/max_user_watches": "10\n",
		"status": "Name:\tx\nCapEff:\t000001ffffffffff\n", "poor": "CapEff:\t00000000a80425fb\n",
	})
	tests := []struct {
		name   string
		change func(*host)
		check  string
		state  string
		cure   string
	}{
		{"root", func(*host) {}, "right to mount", stateOK, ""},
		{"no device", func(h *host) { h.device += "x" }, "fuse device", stateFail, "modprobe fuse"},
		{"no fusermount3", func(h *host) { h.findFile = func(string) (string, error) { return "", errors.New("none") } }, "fusermount3", stateFail, "apt install fuse3"},
		{"not set-uid, root", func(*host) {}, "fusermount3", stateOK, ""},
		{"not set-uid, user", func(h *host) { h.uid = 1000 }, "fusermount3", stateFail, "chmod u+s"},
		{"no capability", func(h *host) { h.procStatus = dir + "/poor" }, "right to mount", stateFail, "--cap-add SYS_ADMIN"},
		{"no allow_other", func(h *host) { h.uid = 1000 }, "user_allow_other", stateWarn, "echo user_allow_other >>"},
		{"allow_other", func(h *host) { h.uid, h.fuseConf = 1000, dir+"/allowed.conf" }, "user_allow_other", stateOK, ""},
		{"no proc", func(h *host) { h.table = func() (mountinfo.Table, error) { return nil, errors.New("none") } }, "/proc", stateFail, "mount -t proc"},
		{"few watches", func(h *host) { h.sysctl += "/few" }, "inotify", stateWarn, "sysctl fs.inotify"},
		{"dead mount", func(h *host) {
			h.table = func() (mountinfo.Table, error) {
				return mountinfo.Table{{Point: "/mnt/a", Type: mountinfo.FSType}, {Point: "/mnt/b", Type: "fuse.sshfs"}}, nil
			}
			h.dead = func(mountinfo.Mount) bool { return true }
		}, "leftover mount", stateWarn, "sandboxfs umount /mnt/a"},
	}
	for _, tt := range tests {
		h := healthy(t, dir)
		tt.change(&h)
		found := false
		for _, f := range examine(h) {
			if f.Check != tt.check {
				continue
			}
			found = true
			if f.State != tt.state || !strings.Contains(f.Cure, tt.cure) || (f.Cure == "") != (tt.cure == "") {
				t.Errorf("%s: %+v, want %s, cure %q", tt.name, f, tt.state, tt.cure)
			}
		}
		if !found {
			t.Errorf("%s: there is no check %q", tt.name, tt.check)
		}
	}
}

func TestDoctorExit(t *testing.T) {
	var out strings.Builder
	a := &app{stdout: &out}
	bad := []finding{{"fuse device", stateFail, "gone", "modprobe fuse"}}
	if err := a.doctor(bad, false); err != status(exitFailed) {
		t.Errorf("doctor with a failure = %v, want exit %d", err, exitFailed)
	}
	if want := "fail  fuse device  gone\n                   → modprobe fuse\n"; out.String() != want {
		t.Errorf("doctor printed %q, want %q", out.String(), want)
	}
	if err := a.doctor([]finding{{"inotify", stateWarn, "few", "more"}}, true); err != nil {
		t.Errorf("doctor with a warning = %v, want nil", err)
	}
}

func TestAtLeast(t *testing.T) {
	tests := []struct {
		release      string
		major, minor int
		want         bool
	}{
		{"6.1.0-13-amd64", 5, 16, true},
		{"5.16", 5, 16, true},
		{"5.4.0", 5, 16, false},
		{"4.20.1", 5, 0, false},
		{"6.18.44-fc-v595", 6, 18, true},
		{"strange", 1, 0, false},
	}
	for _, tt := range tests {
		if got := atLeast(tt.release, tt.major, tt.minor); got != tt.want {
			t.Errorf("atLeast(%q, %d, %d) = %v, want %v", tt.release, tt.major, tt.minor, got, tt.want)
		}
	}
}
