package main

import (
	"fmt"
	"os"
	"strings"
)

// abort ends the FUSE connections of the mount namespace of a process, but not
// those that this one sees too: requests that nobody will answer return an
// error, and what waits for them can be killed.
func abort(pid int) {
	theirs, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return
	}
	mine := make(map[string]bool)
	if text, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for _, minor := range connections(text) {
			mine[minor] = true
		}
	}
	for _, minor := range connections(theirs) {
		if !mine[minor] {
			os.WriteFile("/sys/fs/fuse/connections/"+minor+"/abort", []byte("1"), 0)
		}
	}
}

// connections returns the numbers of the FUSE connections in a mountinfo.
func connections(mountinfo []byte) []string {
	var minors []string
	for line := range strings.Lines(string(mountinfo)) {
		mount, kind, ok := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !ok || !strings.HasPrefix(kind, "fuse.sandboxfs ") || len(fields) < 3 {
			continue
		}
		if _, minor, ok := strings.Cut(fields[2], ":"); ok {
			minors = append(minors, minor)
		}
	}
	return minors
}
