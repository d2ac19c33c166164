package bazil

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/fs/posixtest"
	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// Variables of the process that runs the suite.
const (
	suiteDir  = "SANDBOXFS_TEST_SUITE_DIR"
	suiteKind = "SANDBOXFS_TEST_SUITE_KIND" // what is behind it: a key of kinds
)

// quickExit spares a process with the race detector the second that it sleeps
// before it ends.
const quickExit = "GORACE=atexit_sleep_ms=0"

// TestPosix runs the conformance suite on the file system of the temporary
// directory, as the control, and on views; with root's rights also as an
// ordinary user.
func TestPosix(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if kind.mapped && os.Geteuid() != 0 {
				t.Skip("an owner is mapped to another user, which needs root")
			}
			dir := kind.mount(t)
			if os.Geteuid() == 0 && !kind.mapped {
				runSuite(t, dir, name, 0)
			}
			runSuite(t, dir, name, unprivileged())
		})
	}
}

// kinds are the directories that the suite runs in, and in what they deviate.
var kinds = map[string]struct {
	mount      func(t *testing.T) string
	deviations []map[string]deviation
	mapped     bool // root's files are shown as the user's
}{
	"plain":        {mount: tempDir},
	"host":         {mount: mountHost, deviations: []map[string]deviation{deviations}},
	"memory":       {mount: mountMemory, deviations: []map[string]deviation{deviations, deviationsOfMemory}},
	"host-owner":   {mountHostOwner, []map[string]deviation{deviations, deviationsOfOwner}, true},
	"memory-owner": {mountMemoryOwner, []map[string]deviation{deviations, deviationsOfMemory, deviationsOfOwner}, true},
}

func mountHost(t *testing.T) string { return mount(t, allowAll()).at }

func mountMemory(t *testing.T) string {
	return mountView(t, "/memory", rootView(t, "/memory", allowAll()), backing.NewMemory()).at
}

func mountHostOwner(t *testing.T) string {
	source := tempDir(t)
	tree, err := backing.Open(source)
	check(t, err, nil, "open the source")
	return mountWith(t, source, rootView(t, source, allowAll()), ownedByUser, tree).at
}

func mountMemoryOwner(t *testing.T) string {
	return mountWith(t, "/memory", rootView(t, "/memory", allowAll()), ownedByUser, backing.NewMemory()).at
}

// ownedByUser shows what belongs to the source's owner as the ordinary user's.
func ownedByUser(c *fs.Config) { c.Owner = &fs.Owner{Uid: nobody, Gid: nobody} }

// runSuite runs the suite as that user in a process of its own: one that serves
// the view cannot run it.
func runSuite(t *testing.T, dir, kind string, uid int) {
	t.Helper()
	dir += "/" + map[bool]string{true: "root", false: "user"}[uid == 0]
	if err := unix.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestPosixSuite$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), suiteDir+"="+dir, suiteKind+"="+kind, quickExit)
	cmd.SysProcAttr = asUser(uid)
	out, err := cmd.CombinedOutput()
	passed, rest := tests(out)
	if err != nil || passed == 0 {
		t.Errorf("as uid %d: %v\n%s", uid, err, rest)
	}
	t.Logf("as uid %d: %d tests passed", uid, passed)
	deviating := 0
	for _, list := range kinds[kind].deviations {
		for name := range list {
			if uid == 0 || posixtest.All[name] != nil {
				deviating++
			}
		}
	}
	printCount(fmt.Sprintf("%s%-14s daemon of uid %-6d caller of uid %-6d %d passed, %d of them in another way", countPrefix, kind, os.Geteuid(), uid, passed, deviating))
}

// countPrefix begins each line of the table that SANDBOXFS_COUNTS asks for.
const countPrefix = "bazil  "

func printCount(line string) {
	if os.Getenv("SANDBOXFS_COUNTS") != "" {
		fmt.Println(line)
	}
}

// tests counts the tests that passed in what go test -v prints, and returns
// what it says of the others.
func tests(out []byte) (passed int, rest string) {
	var b strings.Builder
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		switch line := s.Text(); {
		case strings.HasPrefix(line, "    --- PASS:"):
			passed++
		case !strings.HasPrefix(line, "=== "):
			b.WriteString(line + "\n")
		}
	}
	return passed, b.String()
}

// TestPosixSuite is what runSuite starts.
func TestPosixSuite(t *testing.T) {
	dir := os.Getenv(suiteDir)
	if dir == "" {
		t.Log("TestPosix starts this in processes of its own")
		return
	}
	suite := maps.Clone(posixtest.All)
	if os.Geteuid() == 0 {
		maps.Copy(suite, posixtest.Root)
	}
	for _, list := range kinds[os.Getenv(suiteKind)].deviations {
		for name, d := range list {
			if suite[name] != nil {
				suite[name] = d.instead
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(suite)) {
		t.Run(name, func(t *testing.T) {
			own := dir + "/" + name
			if err := unix.Mkdir(own, 0o755); err != nil {
				t.Fatal(err)
			}
			suite[name](t, own)
		})
	}
}

// TestUnprivileged runs the matrix and the suite once more with a daemon that
// is not root, in a mount namespace where everybody may open /dev/fuse.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("the process is unprivileged: the other tests are what this one would start")
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.timeout=5m",
		"-test.run=^TestRoundTrip|^TestMatrix|^TestTurned|^TestPosix$", "-test.skip=^TestPosix$/^(plain|memory|.*-owner)$")
	cmd.Env = append(os.Environ(), deviceDir+"="+tempDir(t), "TMPDIR="+tempDirOf(t, nobody), quickExit)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, countPrefix) {
			printCount(strings.TrimSpace(line))
		}
		if _, count, ok := strings.Cut(line, "_test.go:"); ok && strings.HasSuffix(line, "tests passed\n") {
			t.Logf("a daemon without rights: %s", strings.TrimSpace(count))
		}
	}
}
