package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/sysmounts"
)

// host is where doctor looks. Tests put their own files in.
type host struct {
	device     string // the FUSE device
	fuseConf   string
	sysctl     string // directory of kernel parameters
	procStatus string // status of this process
	uid        int
	findFile   func(name string) (string, error) // looks along PATH
	table      func() (mountinfo.Table, error)
	dead       func(mountinfo.Mount) bool

	sandboxRoot string // SANDBOX_ROOT, or the config's
	runtime     string // directory of private mountpoints
	environment sysmounts.Environment
	engine      func() (engine, error)
	sandbox     func(context.Context) error // makes a local one
	collectable func() []garbage            // what gc would remove
	patience    time.Duration
}

// thisHost is where this process runs. The engine is that of p, and the paths
// of its host are those of the environment or the config.
func (a *app) thisHost(p *profile.Profile, config string) host {
	var o jobOptions
	err := o.configure(p, config)
	return host{
		device:     "/dev/fuse",
		fuseConf:   fuseConf,
		sysctl:     "/proc/sys",
		procStatus: "/proc/self/status",
		uid:        os.Geteuid(),
		findFile:   exec.LookPath,
		table:      mountinfo.Read,
		dead:       mountinfo.Mount.Dead,

		sandboxRoot: o.paths.Root,
		runtime:     runtimeDirs()[0],
		environment: sysmounts.Detect(),
		engine: func() (engine, error) {
			if err != nil {
				return nil, err
			}
			return newDockerJob(a, p, o, nil)
		},
		sandbox: makeSandbox,
		collectable: func() []garbage {
			c := newCollection(true)
			c.collect()
			return c.found
		},
		patience: examineWithin,
	}
}

// examine runs every check, those that most often fail first.
func examine(h host) []finding {
	findings := []finding{
		{Check: "environment", State: stateOK, Detail: h.environment.String()},
		h.fuseDevice(), h.fusermount(), h.mountRight(), h.allowOther(), h.proc(),
		kernel(), openat2(), h.inotify(), descriptors(),
	}
	findings = append(findings, h.commands()...)
	return append(append(findings, h.leftovers()...), h.bounded("leftovers", h.garbage))
}

func (h host) fuseDevice() finding {
	f := finding{Check: "fuse device", State: stateOK, Detail: h.device + " can be opened"}
	fd, err := unix.Open(h.device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return f
	}
	f.State, f.Detail = stateFail, fmt.Sprintf("%s: %v", h.device, err)
	switch {
	case errors.Is(err, unix.ENOENT):
		f.Cure = "modprobe fuse; in a container: docker run --device /dev/fuse --cap-add SYS_ADMIN"
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		f.Cure = "chmod 666 /dev/fuse; in a container: docker run --device /dev/fuse --cap-add SYS_ADMIN"
	default:
		f.Cure = "modprobe fuse"
	}
	return f
}

func (h host) fusermount() finding {
	f := finding{Check: "fusermount3", State: stateOK}
	file, err := h.findFile("fusermount3")
	if err != nil {
		f.State, f.Detail, f.Cure = stateFail, "not found", "apt install fuse3"
		return f
	}
	f.Detail = file
	info, err := os.Stat(file)
	if h.uid != 0 && err == nil && info.Mode()&os.ModeSetuid == 0 {
		f.State, f.Detail, f.Cure = stateFail, file+" is not set-uid root, an ordinary user cannot mount with it", "chmod u+s "+file
	}
	return f
}

// mountRight checks the capability that root needs; an ordinary user mounts
// through the set-uid fusermount3.
func (h host) mountRight() finding {
	f := finding{Check: "right to mount", State: stateOK, Detail: "through fusermount3"}
	if h.uid != 0 {
		return f
	}
	f.Detail = "root with CAP_SYS_ADMIN"
	status, err := os.ReadFile(h.procStatus)
	if err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	if caps, ok := effectiveCaps(string(status)); ok && caps&(1<<unix.CAP_SYS_ADMIN) == 0 {
		f.State, f.Detail = stateFail, "root without CAP_SYS_ADMIN"
		f.Cure = "docker run --device /dev/fuse --cap-add SYS_ADMIN --security-opt apparmor=unconfined"
	}
	return f
}

func effectiveCaps(status string) (uint64, bool) {
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return caps, err == nil
		}
	}
	return 0, false
}

func (h host) allowOther() finding {
	f := finding{Check: "user_allow_other", State: stateOK, Detail: "not needed by root"}
	if h.uid == 0 {
		return f
	}
	f.Detail = "set in " + h.fuseConf
	if !userAllowOther(h.fuseConf) {
		f.State = stateWarn
		f.Detail = "not set in " + h.fuseConf + ": only the user who mounts sees the view, containers of other users do not"
		f.Cure = "echo user_allow_other >> " + h.fuseConf
	}
	return f
}

// userAllowOther reports whether the file lets ordinary users mount with
// allow_other.
func userAllowOther(fuseConf string) bool {
	f, err := os.Open(fuseConf)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "user_allow_other" {
			return true
		}
	}
	return false
}

// leftovers finds the views of daemons that have died.
func (h host) leftovers() []finding {
	table, err := h.table()
	if err != nil {
		return nil
	}
	var findings []finding
	for _, m := range table {
		if m.Ours() && h.dead(m) {
			findings = append(findings, finding{
				Check: "leftover mount", State: stateWarn,
				Detail: m.Point + " was left by a daemon that has died",
				Cure:   "sandboxfs umount " + m.Point,
			})
		}
	}
	if findings == nil {
		findings = []finding{{Check: "leftover mounts", State: stateOK, Detail: "none"}}
	}
	return findings
}
