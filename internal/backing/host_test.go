package backing_test

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/backing/treetest"
)

func TestMain(m *testing.M) {
	unix.Umask(0)
	os.Exit(m.Run())
}

// TestHost runs the suite over the file systems that are at hand.
func TestHost(t *testing.T) {
	systems := map[string]string{"temporary directory": os.TempDir()}
	if _, err := os.Stat("/dev/shm"); err == nil {
		systems["tmpfs"] = "/dev/shm"
	}
	for system, dir := range systems {
		for name, test := range treetest.All {
			t.Run(system+"/"+name, func(t *testing.T) {
				test(t, openTree(t, backing.Open, tempDir(t, dir)))
			})
		}
	}
}

// TestHostWithoutOpenat2 runs that part of the suite that walks.
func TestHostWithoutOpenat2(t *testing.T) {
	for _, name := range []string{
		"WalkRoot", "WalkErrors", "WalkLongPath", "LinksNotFollowed", "SwappedParent", "NoLeak",
	} {
		t.Run(name, func(t *testing.T) {
			treetest.All[name](t, openTree(t, backing.OpenWithoutOpenat2, tempDir(t, os.TempDir())))
		})
	}
}

// want ends the test unless a call gave the error that was wanted.
func want(t *testing.T, got, want error, call string, args ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", fmt.Sprintf(call, args...), got, want)
	}
}

// tempDir makes a directory in parent for the time of the test.
func tempDir(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "backing-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func openTree(t *testing.T, open func(string) (backing.Tree, error), dir string) backing.Tree {
	t.Helper()
	tree, err := open(dir)
	want(t, err, nil, "Open(%q)", dir)
	t.Cleanup(func() { tree.Close() })
	return tree
}

// openRoot opens dir and its root directory.
func openRoot(t *testing.T, dir string) backing.Dir {
	t.Helper()
	root, err := openTree(t, backing.Open, dir).Dir("")
	want(t, err, nil, "Dir()")
	t.Cleanup(func() { root.Close() })
	return root
}
