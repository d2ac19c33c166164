package integration

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	executable string // the sandboxfs under test
	tempRoot   string // every file and every mount of the tests lies below it
	soak       = os.Getenv("SANDBOXFS_SOAK") != ""
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "helper" {
		os.Exit(runHelper(os.Args[2:]))
	}
	os.Exit(runTests(m))
}

// runTests sets the stage, runs the tests and fails if they left anything.
func runTests(m *testing.M) int {
	unix.Umask(0o022)
	if signal.Ignored(unix.SIGHUP) {
		// Under nohup: what is caught here is not ignored in the programs under test.
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
	undo, err := setUp()
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	code := m.Run()
	dropImage()
	undo()
	if left := leftovers(tempRoot); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "integration: left behind:\n\t%s\n", strings.Join(left, "\n\t"))
		sweep(tempRoot)
		code = 1
	}
	discard(tempRoot)
	return code
}

// setUp makes tempRoot, builds the program and mounts the control file system
// of FUSE. What it returns undoes what was done outside of tempRoot.
func setUp() (undo func(), err error) {
	if tempRoot, err = os.MkdirTemp("", "sandboxfs-it-"); err != nil {
		return nil, err
	}
	if tempRoot, err = filepath.EvalSymlinks(tempRoot); err != nil {
		return nil, err
	}
	if err := os.Chmod(tempRoot, 0o755); err != nil {
		return nil, err
	}
	given := os.Getenv("SANDBOXFS_BIN")
	if executable, err = filepath.Abs(cmp.Or(given, filepath.Join(tempRoot, "sandboxfs"))); err != nil {
		return nil, err
	}
	if err := startReaper(); err != nil {
		return nil, err
	}
	if given == "" {
		build := exec.Command("go", "build", "-o", executable, "./cmd/sandboxfs")
		build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	if os.Getuid() != 0 {
		return func() {}, nil
	}
	return prepareFuse()
}

// prepareFuse mounts fusectl, through which a stuck connection can be aborted.
// The undo also gives /dev/fuse the mode back that asUser changes.
func prepareFuse() (undo func(), err error) {
	var st unix.Stat_t
	if err := unix.Stat("/dev/fuse", &st); err != nil {
		return nil, fmt.Errorf("/dev/fuse: %w", err)
	}
	control := filepath.Join(tempRoot, "fusectl")
	if err := os.Mkdir(control, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("fusectl", control, "fusectl", 0, ""); err != nil {
		return nil, fmt.Errorf("mount fusectl: %w", err)
	}
	return func() {
		unix.Unmount(control, unix.MNT_DETACH)
		unix.Chmod("/dev/fuse", st.Mode&0o7777)
	}, nil
}

// abortConnection makes every pending and later request of the FUSE mount at
// path fail, so that whoever waits for it goes on. The device number comes from
// mountinfo: a stat of the mount could hang as well.
func abortConnection(path string) error {
	for _, m := range mountsBelow(path) {
		if m.path == path {
			file := filepath.Join(tempRoot, "fusectl", m.minor, "abort")
			return os.WriteFile(file, []byte("1"), 0)
		}
	}
	return fmt.Errorf("no mount at %s", path)
}

// needRoot skips the test where it cannot become other users or mount.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
}
