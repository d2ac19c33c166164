package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// S1-07: the sources are opened at once, each in its place, and where one cannot
// be, those that could are closed.
func TestOpenTrees(t *testing.T) {
	dir := tree(t, map[string]string{"a/": "", "b/": "", "c/": "", "f": "x"})
	var mounts []overlay.Mount
	for _, name := range []string{"a", "f", "b", "c"} {
		m := overlay.Mount{Target: vpath.Path("/" + name), Source: dir + "/" + name}
		if name == "f" {
			m.Kind = overlay.KindFile
		}
		mounts = append(mounts, m)
	}
	mounts = append(mounts, overlay.Mount{Target: "/dev/null", Source: "/dev/null", Kind: overlay.KindDevice})
	before := openIn(t, dir)
	trees, err := openTrees(mounts)
	if err != nil {
		t.Fatal(err)
	}
	if now := openIn(t, dir); len(now) < len(before)+4 || trees[4] != nil {
		t.Errorf("openTrees has %q open and %v of the device, want one for each mount and none", now, trees[4])
	}
	closeTrees(trees)
	mounts[2].Source = dir + "/absent"
	if trees, err := openTrees(mounts); trees != nil || err == nil || !strings.Contains(err.Error(), "mount /b: ") {
		t.Errorf("openTrees without a source = %v, %v, want an error that names the mount", trees, err)
	}
	if after := openIn(t, dir); len(after) != len(before) {
		t.Errorf("left open: %q", after)
	}
}

// openIn are the files below dir that this process has open.
func openIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if name, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd.Name())); err == nil && strings.HasPrefix(name, dir) {
			names = append(names, name)
		}
	}
	return names
}
