package attack

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// resident returns how many bytes of memory the daemon has.
func (v *view) resident() int {
	v.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", v.cmd.Process.Pid))
	must(v.t, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	must(v.t, err)
	return pages * os.Getpagesize()
}

// affordable is how much a daemon may grow by what a test does, which would be
// hundreds of megabytes where the cost is not bounded. With the race detector in
// it a program takes five to ten times the memory
// (https://go.dev/doc/articles/race_detector).
func affordable(t *testing.T) int {
	t.Helper()
	info, err := buildinfo.ReadFile(executable)
	must(t, err)
	if slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 1000 << 20
	}
	return 100 << 20
}

// TestDeepDirectories goes down and down: the cost of a level must not grow with
// its depth, or a minute of mkdir ends the daemon for everybody.
func TestDeepDirectories(t *testing.T) {
	w := newWorld(t)
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	name := strings.Repeat("d", 255)
	at, err := unix.Open(v.Path, unix.O_PATH, 0)
	must(t, err)
	before := v.resident()
	for range 1500 {
		if unix.Mkdirat(at, name, 0o777) != nil {
			break
		}
		next, err := unix.Openat(at, name, unix.O_PATH, 0)
		must(t, err)
		unix.Close(at)
		at = next
	}
	if grown := v.resident() - before; grown > affordable(t) {
		t.Errorf("1500 directories, each in the other, cost %d MB", grown>>20)
	}
	unix.Close(at)
}

// TestManyListings reads the start of a large directory with many descriptors.
func TestManyListings(t *testing.T) {
	w := newWorld(t)
	w.mkdir("root/d")
	for i := range 20000 {
		must(t, os.WriteFile(w.path(fmt.Sprintf("root/d/%d", i)), nil, 0o666))
	}
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	before := v.resident()
	buf := make([]byte, 4096)
	for range 150 {
		dir, err := unix.Open(v.Path+"/d", unix.O_RDONLY, 0)
		must(t, err)
		defer unix.Close(dir)
		if _, err := unix.Getdents(dir, buf); err != nil {
			t.Fatal(err)
		}
	}
	if grown := v.resident() - before; grown > affordable(t) {
		t.Errorf("150 listings of one directory of 20000 names cost %d MB", grown>>20)
	}
}

// TestLimits asks for sizes and offsets that no file has.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "text")
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	f := v.Path + "/f"
	fd, err := unix.Open(f, unix.O_RDWR, 0)
	must(t, err)
	defer unix.Close(fd)
	big := bytes.Repeat([]byte("x"), 64<<10)
	for call, do := range map[string]func() error{
		"truncate to the largest size":  func() error { return unix.Truncate(f, 1<<63-1) },
		"pwrite at the largest offset":  func() error { _, err := unix.Pwrite(fd, []byte("x"), 1<<63-2); return err },
		"fallocate of the largest size": func() error { return unix.Fallocate(fd, 0, 0, 1<<63-1) },
		"setxattr of 64 KiB":            func() error { return unix.Setxattr(f, "user.x", big, 0) },
		"symlink of 4096 bytes":         symlink(string(big[:4096]), v.Path+"/l"),
	} {
		if err := do(); err == nil && call != "setxattr of 64 KiB" {
			t.Errorf("%s = ok", call)
		}
	}
	must(t, unix.Symlink(string(big[:4095]), v.Path+"/l"))
	must(t, readlink(v.Path+"/l")())
	must(t, stat(f)())
}
