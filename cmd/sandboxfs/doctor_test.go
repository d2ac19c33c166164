package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/runner"
)

// healthy is a host on which nothing is missing.
func healthy(t *testing.T, dir string) host {
	t.Helper()
	return host{
		device: dir + "/fuse", fuseConf: dir + "/fuse.conf", sysctl: dir, procStatus: dir + "/status",
		findFile: func(name string) (string, error) { return dir + "/" + name, nil },
		table:    func() (mountinfo.Table, error) { return mountinfo.Table{{Point: "/", Type: "ext4"}}, nil },
		dead:     func(mountinfo.Mount) bool { return false },

		runtime: "/run/sandboxfs", patience: 10 * time.Second,
		engine:      func() (engine, error) { return fakeEngine{}, nil },
		sandbox:     func(context.Context) error { return nil },
		collectable: func() []garbage { return []garbage{{"mount", "/mnt/a", "its daemon has died"}} },
	}
}

// fakeEngine is an engine on which nothing is missing but what it was told.
type fakeEngine struct {
	api                   string
	answers, image, paths error
	unfiltered            string
	hangs                 bool
	roots                 runner.HostPaths
}

func (e fakeEngine) About(ctx context.Context) (runner.About, error) {
	return runner.About{Version: "20.10.24", API: cmp.Or(e.api, "1.41")}, e.answers
}

func (e fakeEngine) HasImage(ctx context.Context) error {
	if e.hangs {
		select {} // a client that does not listen to ctx
	}
	return e.image
}

func (e fakeEngine) FindHostPaths(context.Context) (runner.HostPaths, error) {
	return e.roots, e.paths
}

func (e fakeEngine) Unfiltered() string { return e.unfiltered }

func (e fakeEngine) Close() error { return nil }

// S3-06: each line of the troubleshooting list, good and bad.
func TestDoctorCommands(t *testing.T) {
	dir := tree(t, map[string]string{
		"fuse": "", "fuse.conf": "", "fusermount3": "", "fs/inotify/max_user_watches": "65536\n", "status": "CapEff:\t000001ffffffffff\n",
		"conversations/a/": "", "open/a/": "", "none/": "",
		"apparmor/kernel/apparmor_restrict_unprivileged_userns": "1\n", "few/user/max_user_namespaces": "0\n",
	})
	for name, script := range map[string]string{"bwrap": "bubblewrap 0.8.0", "old/bwrap": "bubblewrap 0.4.1"} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("#!/bin/sh\necho "+script+"\n"), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir+"/open/a", 0o777); err != nil {
		t.Fatal(err)
	}
	with := func(e fakeEngine) func(*host) {
		return func(h *host) { h.engine = func() (engine, error) { return e, nil } }
	}
	mounts := func(shared bool) func(*host) {
		return func(h *host) {
			h.table = func() (mountinfo.Table, error) {
				return mountinfo.Table{{Point: "/", Shared: !shared}, {Point: "/run", Shared: shared}}, nil
			}
		}
	}
	nothing := func(*host) {}
	tests := []struct {
		name                       string
		change                     func(*host)
		check, state, detail, cure string
	}{
		{"bubblewrap", nothing, "bubblewrap", stateOK, "bubblewrap 0.8.0", ""},
		{"no bubblewrap", func(h *host) { h.findFile = func(string) (string, error) { return "", errors.New("none") } }, "bubblewrap", stateWarn, "not found", "apt install bubblewrap"},
		{"old bubblewrap", func(h *host) { h.findFile = func(name string) (string, error) { return dir + "/old/" + name, nil } }, "bubblewrap", stateWarn, "0.4.1", "0.7 or newer"},
		{"sandbox", nothing, "local sandbox", stateOK, "can be made", ""},
		{"no sandbox", func(h *host) { h.sandbox = func(context.Context) error { return errors.New("bwrap: no") } }, "local sandbox", stateWarn, "bwrap: no", "seccomp=unconfined"},
		{"AppArmor forbids", func(h *host) {
			h.uid, h.sysctl, h.sandbox = 1000, dir+"/apparmor", func(context.Context) error { return errors.New("bwrap: no") }
		}, "local sandbox", stateWarn, "no user namespaces", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"no namespaces", func(h *host) {
			h.uid, h.sysctl, h.sandbox = 1000, dir+"/few", func(context.Context) error { return errors.New("bwrap: no") }
		}, "local sandbox", stateWarn, "no user namespaces", "sysctl user.max_user_namespaces"},
		{"tools missing", func(h *host) {
			h.sandbox = func(context.Context) error {
				return errors.New("no local sandbox: setpriv not found; install util-linux")
			}
		}, "local sandbox", stateWarn, "setpriv not found", "install util-linux"},

		{"engine", nothing, "container engine", stateOK, "version 20.10.24, API 1.41", ""},
		{"no engine", with(fakeEngine{answers: errors.New("no container engine: there is no socket /s; install Docker")}), "container engine", stateWarn, "there is no socket /s", "install Docker"},
		{"old engine", with(fakeEngine{api: "1.40"}), "container engine", stateWarn, "API 1.40", "Docker 20.10"},
		{"newer engine", with(fakeEngine{api: "1.100"}), "container engine", stateOK, "API 1.100", ""},
		{"wrong settings", func(h *host) {
			h.engine = func() (engine, error) {
				return nil, errors.New(`sandbox_host_path "data" is not a clean absolute path`)
			}
		}, "container engine", stateFail, "not a clean absolute path", "correct SANDBOX_ROOT"},
		{"image", nothing, "image", stateOK, "is there", ""},
		{"no image", with(fakeEngine{image: errors.New("no such image: x; make one: docker import")}), "image", stateWarn, "no such image: x", "docker import"},
		{"image is not told", func(h *host) { with(fakeEngine{hangs: true})(h); h.patience = 50 * time.Millisecond }, "image", stateWarn, "no answer within 50ms", "sandboxfs umount"},
		{"isolated", nothing, "isolated network", stateOK, "the internet", ""},
		{"isolated without root", with(fakeEngine{unfiltered: "only root can drop"}), "isolated network", stateWarn, "only root can drop", "as root"},
		{"isolated without iptables", with(fakeEngine{unfiltered: "iptables is not installed; apt install iptables"}), "isolated network", stateWarn, "iptables is not installed", "apt install iptables"},

		{"one root", nothing, "host paths", stateOK, "the paths of this process", ""},
		{"in a container", with(fakeEngine{paths: errors.New("this process and the engine have different files; set SANDBOX_ROOT")}), "host paths", stateFail, "different files", "set SANDBOX_ROOT"},
		{"unproven", with(fakeEngine{paths: runner.ErrImage}), "host paths", stateWarn, "without an image", "make the image"},
		{"one root, proven", with(fakeEngine{roots: runner.HostPaths{Root: "/", HostRoot: "/"}}), "host paths", stateOK, "the paths of this process", ""},
		{"two roots", with(fakeEngine{roots: runner.HostPaths{Root: "/var/sandboxes", HostRoot: "/home/u/data"}}), "host paths", stateOK, "/var/sandboxes is /home/u/data", ""},
		{"wrong host path", func(h *host) {
			h.sandboxRoot = dir + "/none"
			with(fakeEngine{paths: errors.New("the engine's host does not have it; set SANDBOX_HOST_PATH")})(h)
		}, "host paths", stateFail, "does not have it", "set SANDBOX_HOST_PATH"},
		{"no conversations", nothing, "owner", stateOK, "no SANDBOX_ROOT", ""},
		{"another's conversation", func(h *host) { h.sandboxRoot = dir + "/conversations" }, "owner", stateWarn, dir + "/conversations/a belongs to", "chown -R 1000:1000 " + dir + "/conversations/a"},
		{"conversation open to all", func(h *host) { h.sandboxRoot = dir + "/open" }, "owner", stateOK, "can be written", ""},
		{"no root directory", func(h *host) { h.sandboxRoot = dir + "/absent" }, "owner", stateFail, "no such file", "make it"},
		{"shared", mounts(true), "propagation", stateOK, "/run is shared", ""},
		{"private", mounts(false), "propagation", stateWarn, "/run is not shared", "mount --make-rshared /run"},
		{"private in a container", func(h *host) { mounts(false)(h); h.environment.Container = true }, "propagation", stateWarn, "not shared", "docker run -v HOSTDIR:/run/sandboxfs:rshared"},
		{"nothing left", nothing, "leftovers", stateOK, "none", ""},
		{"left", func(h *host) {
			h.collectable = func() []garbage { return []garbage{{"container", "c1", ""}, {"network", "n1", ""}} }
		}, "leftovers", stateWarn, "2 of dead daemons: container c1, network n1", "sandboxfs gc"},
	}
	for _, tt := range tests {
		h := healthy(t, dir)
		tt.change(&h)
		found := 0
		for _, f := range examine(h) {
			if f.Check != tt.check {
				continue
			}
			found++
			if f.State != tt.state || !strings.Contains(f.Detail, tt.detail) || !strings.Contains(f.Cure, tt.cure) {
				t.Errorf("%s: %+v, want %s, %q, cure %q", tt.name, f, tt.state, tt.detail, tt.cure)
			}
			if f.State == stateOK && f.Cure != "" {
				t.Errorf("%s: %+v is ok and has a cure", tt.name, f)
			}
		}
		if found != 1 {
			t.Errorf("%s: the check %q is there %d times, want once", tt.name, tt.check, found)
		}
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
		{"here", func(*host) {}, "environment", stateOK, ""},
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
	a := &app{out: &output{Writer: &out}}
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
		release, oldest string
		want            bool
	}{
		{"6.1.0-13-amd64", "5.16", true},
		{"5.16", "5.16", true},
		{"5.4.0", "5.16", false},
		{"4.20.1", "5.0", false},
		{"6.18.44-fc-v595", "6.18", true},
		{"1.100", "1.41", true},
		{"strange", "1.0", false},
	}
	for _, tt := range tests {
		if got := atLeast(tt.release, tt.oldest); got != tt.want {
			t.Errorf("atLeast(%q, %q) = %v, want %v", tt.release, tt.oldest, got, tt.want)
		}
	}
}
