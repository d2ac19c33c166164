package attack

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attempt is one thing that a caller tries on a view.
type attempt struct {
	call string
	want string // names of errnos with a "|" between; "ok" for success
	do   func() error
}

// script is what an attacker does. It gets the view's path, changes into the
// view first, and returns its attempts; before is done when the attacker has
// all that it wants to hold on to, and returns when the policy has changed.
type script func(view string, before func()) []attempt

// scripts are those of all tests, by the name of the test.
var scripts = map[string]script{}

// outcome is an attempt as it went.
type outcome struct{ Call, Want, Got string }

func (o outcome) check(t *testing.T) {
	t.Helper()
	if !slices.Contains(strings.Split(o.Want, "|"), o.Got) {
		t.Errorf("%s = %s, want %s", o.Call, o.Got, o.Want)
	}
}

// runAttack is the attacker's process: it runs one script and prints outcomes.
func runAttack(name, dir string) int {
	unix.Umask(0)
	if err := os.Chdir(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	var outcomes []outcome
	for _, a := range scripts[name](dir, waitForTest) {
		outcomes = append(outcomes, outcome{a.call, a.want, errnoName(a.do())})
	}
	json.NewEncoder(os.Stdout).Encode(outcomes)
	return 0
}

// runNamespaced is the attacker's process in a user namespace of its own, where
// root is host outside.
func runNamespaced(host string, args []string) int {
	first, err := strconv.Atoi(host)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: first, Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids,
		GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{},
	}
	if err := cmd.Run(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// waitForTest tells the test that the attacker is ready, and waits for it.
func waitForTest() {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
}

// errnoName returns "EACCES", and "ok" for nil.
func errnoName(err error) string {
	var e syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return unix.ErrnoName(e)
	}
	return err.Error()
}

// caller is somebody who attacks.
type caller struct {
	name      string
	uid       uint32
	container bool
	namespace string // the user of the host who is root in a user namespace; "" without one
}

var callers = []caller{
	{"host root", 0, false, ""},
	{"host user", 1000, false, ""},
	{"container root", 0, true, ""},
	{"container user", 1000, true, ""},
	{"container root of a user namespace", 0, true, "100000"}, // as with the engine's userns-remap
	{"container root of root's user namespace", 0, true, "0"},
}

// attack runs the script of the test as each caller. If meanwhile is not nil
// it runs when the attacker says so, and undo after the last attempt. The
// backing must be the same before and after; once it is not, the attempts of
// further callers would mean nothing.
func attack(t *testing.T, w *world, v *view, meanwhile, undo func()) {
	t.Helper()
	needRoot(t)
	name := t.Name()
	whole := tree(t, w.path("root"))
	for _, c := range callers {
		t.Run(c.name, func(t *testing.T) {
			for _, o := range c.run(t, name, v, meanwhile) {
				o.check(t)
			}
			if undo != nil {
				undo()
			}
			unchanged(t, "backing", tree(t, w.path("root")), whole)
		})
		if !maps.Equal(tree(t, w.path("root")), whole) {
			return
		}
	}
}

// run starts the attacker and returns its outcomes.
func (c caller) run(t *testing.T, name string, v *view, meanwhile func()) []outcome {
	t.Helper()
	cmd := exec.Command(attackerBinary(), "attack", name, v.Path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
	if c.container {
		cmd = engine.command(t, c, v.Path, name)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewReader(stdout)
	if meanwhile != nil {
		if line, _ := lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("the attacker said %q, want ready\n%s", line, errs.String())
		}
		meanwhile()
	}
	fmt.Fprintln(stdin)
	text, _ := io.ReadAll(lines)
	err = cmd.Wait()
	var outcomes []outcome
	if json.Unmarshal(text, &outcomes) != nil || err != nil {
		t.Fatalf("the attacker: %v\n%s%s", err, text, errs.String())
	}
	return outcomes
}

// attackerBinary is this test as a static program, which also runs in a
// container that holds nothing.
var attackerBinary = sync.OnceValue(func() string {
	path := filepath.Join(tempRoot, "attacker")
	build := exec.Command("go", "test", "-c", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the attacker: %v\n%s", err, out))
	}
	if err := os.Chmod(path, 0o755); err != nil {
		panic(err)
	}
	return path
})
