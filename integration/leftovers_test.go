package integration

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountEntry is a line of /proc/self/mountinfo.
type mountEntry struct{ path, minor, fstype string }

// mountsBelow lists the mounts at and below dir, the latest first.
func mountsBelow(dir string) []mountEntry {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	var found []mountEntry
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		path := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[4])
		if path != dir && !strings.HasPrefix(path, dir+"/") {
			continue
		}
		_, minor, _ := strings.Cut(f[2], ":")
		_, tail, _ := strings.Cut(line, " - ")
		found = append([]mountEntry{{path, minor, strings.Fields(tail)[0]}}, found...)
	}
	return found
}

// daemons lists the processes that run the executable with an argument below dir.
func daemons(dir string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		exe, _ := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if strings.TrimSuffix(exe, " (deleted)") != executable {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.Contains(string(cmdline), dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// leftovers describes the daemons and mounts that are still there.
func leftovers(dir string) []string {
	var left []string
	for _, pid := range daemons(dir) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		left = append(left, fmt.Sprintf("process %d: %s", pid, strings.ReplaceAll(string(cmdline), "\x00", " ")))
	}
	for _, m := range mountsBelow(dir) {
		left = append(left, fmt.Sprintf("mount %s (%s)", m.path, m.fstype))
	}
	return left
}

// sweep ends what leftovers lists.
func sweep(dir string) {
	for _, pid := range daemons(dir) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, m := range mountsBelow(dir) {
		unix.Unmount(m.path, unix.MNT_DETACH)
	}
}

// discard removes dir, unless something is mounted there yet: what that shows
// must not be removed with it.
func discard(dir string) {
	if len(mountsBelow(dir)) == 0 {
		os.RemoveAll(dir)
	}
}

// lifeline is the write end of the reaper's standard input.
var lifeline *os.File

// startReaper starts a process that sweeps tempRoot once this one is gone: a
// test that exceeds -timeout dies without running any cleanup.
func startReaper() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	lifeline = w
	cmd := exec.Command("/proc/self/exe", "helper", "reap", tempRoot, executable)
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// reap is the reaper: it waits for the end of its standard input.
func reap(args []string) error {
	io.Copy(io.Discard, os.Stdin)
	tempRoot, executable = args[0], args[1]
	sweep(tempRoot)
	discard(tempRoot)
	return nil
}
