package attack

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	executable string // the sandboxfs under test
	tempRoot   string // every file and every mount of the tests lies below it
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "attack" {
		os.Exit(runAttack(os.Args[2], os.Args[3]))
	}
	switch {
	case len(os.Args) > 2 && os.Args[1] == "namespaced":
		os.Exit(runNamespaced(os.Args[2], os.Args[3:]))
	case filepath.Base(os.Args[0]) == "sleep": // the image's, between commands
		unix.Pause()
	case len(os.Args) == 2 && os.Args[1] == "whoami":
		fmt.Println(os.Getuid(), os.Geteuid())
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

// runTests sets the stage, runs the tests and fails if they left anything.
func runTests(m *testing.M) int {
	unix.Umask(0o022)
	if err := setUp(); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		return 1
	}
	// What the container engine leaves to its parent comes to this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "attack: child subreaper:", err)
		return 1
	}
	code := m.Run()
	engine.stop()
	for pid := 1; pid > 0; {
		pid, _ = unix.Wait4(-1, nil, unix.WNOHANG, nil)
	}
	if left := mountsBelow(tempRoot); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "attack: mounts left behind:\n\t%s\n", strings.Join(left, "\n\t"))
		for _, path := range left {
			unix.Unmount(path, unix.MNT_DETACH)
		}
		code = 1
	}
	if err := os.RemoveAll(tempRoot); err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		code = 1
	}
	return code
}

// setUp makes tempRoot and builds the program, or takes $SANDBOXFS_BIN.
func setUp() (err error) {
	if tempRoot, err = os.MkdirTemp("", "sandboxfs-attack-"); err != nil {
		return err
	}
	if tempRoot, err = filepath.EvalSymlinks(tempRoot); err != nil {
		return err
	}
	if err := os.Chmod(tempRoot, 0o755); err != nil {
		return err
	}
	given := os.Getenv("SANDBOXFS_BIN")
	executable = cmp.Or(given, filepath.Join(tempRoot, "sandboxfs"))
	if given != "" {
		return nil
	}
	build := exec.Command("go", "build", "-o", executable, "./cmd/sandboxfs")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	return nil
}

// mountsBelow lists the mountpoints at and below dir, the latest first.
func mountsBelow(dir string) []string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if path := strings.Fields(line)[4]; path == dir || strings.HasPrefix(path, dir+"/") {
			found = append([]string{path}, found...)
		}
	}
	return found
}

// needRoot skips the test where it cannot become other users or mount.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: it becomes other users")
	}
}
