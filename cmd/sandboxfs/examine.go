package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
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
	dead       func(point string) bool
}

func thisHost() host {
	return host{
		device:     "/dev/fuse",
		fuseConf:   "/etc/fuse.conf",
		sysctl:     "/proc/sys",
		procStatus: "/proc/self/status",
		uid:        os.Geteuid(),
		findFile:   exec.LookPath,
		table:      mountinfo.Read,
		dead:       mountinfo.Dead,
	}
}

// examine runs every check, those that most often fail first.
func examine(h host) []finding {
	findings := []finding{
		h.fuseDevice(), h.fusermount(), h.mountRight(), h.allowOther(), h.proc(),
		kernel(), openat2(), h.inotify(), descriptors(),
	}
	return append(findings, h.leftovers()...)
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

func (h host) proc() finding {
	f := finding{Check: "/proc", State: stateOK, Detail: "mounted"}
	if _, err := h.table(); err != nil {
		f.State, f.Detail, f.Cure = stateFail, err.Error(), "mount -t proc proc /proc"
	}
	return f
}

// features of the kernel that the daemon uses where it finds them.
var features = []struct {
	name         string
	major, minor int
}{
	{"cached directories", 4, 20},
	{"no flush on read-only files", 5, 16},
}

func kernel() finding {
	f := finding{Check: "kernel", State: stateOK}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	release := unix.ByteSliceToString(uts.Release[:])
	f.Detail = release
	for _, feature := range features {
		if !atLeast(release, feature.major, feature.minor) {
			f.State = stateWarn
			f.Detail += fmt.Sprintf("; without %s (needs %d.%d)", feature.name, feature.major, feature.minor)
			f.Cure = "a newer kernel makes it faster; everything works as it is"
		}
	}
	return f
}

// atLeast reports whether a kernel release such as "6.1.0-13-amd64" is
// major.minor or newer. What cannot be read counts as older.
func atLeast(release string, major, minor int) bool {
	var gotMajor, gotMinor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &gotMajor, &gotMinor); n != 2 {
		return false
	}
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}

// openat2 tries the system call by which the daemon stays beneath its sources:
// a kernel before 5.6 lacks it, and so do the filters of old container runtimes.
func openat2() finding {
	f := finding{Check: "openat2", State: stateOK, Detail: "available"}
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		f.State, f.Detail = stateFail, err.Error()
		f.Cure = "Linux 5.6 or newer; in a container: a runtime whose seccomp filter knows openat2 (Docker 20.10, runc 1.0)"
		return f
	}
	unix.Close(fd)
	return f
}

// What the daemon wants to have without being slower or deaf.
const (
	wantWatches     = 8192
	wantDescriptors = 4096
)

func (h host) inotify() finding {
	f := finding{Check: "inotify", State: stateOK}
	data, err := os.ReadFile(h.sysctl + "/fs/inotify/max_user_watches")
	if err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	watches, err := strconv.Atoi(strings.TrimSpace(string(data)))
	f.Detail = fmt.Sprintf("%d watches", watches)
	if err != nil || watches < wantWatches {
		f.State = stateWarn
		f.Detail += ": edits of policies may go unheard"
		f.Cure = "sysctl fs.inotify.max_user_watches=524288"
	}
	return f
}

func descriptors() finding {
	f := finding{Check: "open files", State: stateOK}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("limit %d", limit.Cur)
	if limit.Cur < wantDescriptors {
		f.State = stateWarn
		f.Detail += ": programs that open many files at once will meet it"
		f.Cure = fmt.Sprintf("ulimit -n %d", wantDescriptors)
	}
	return f
}

// leftovers finds the views of daemons that have died.
func (h host) leftovers() []finding {
	table, err := h.table()
	if err != nil {
		return nil
	}
	var findings []finding
	for _, m := range table {
		if m.Ours() && h.dead(m.Point) {
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
