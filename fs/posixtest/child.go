package posixtest

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Variables that make a process of the test binary do one action.
const (
	actionVariable = "POSIXTEST_ACTION"
	pathVariable   = "POSIXTEST_PATH"
)

// actions are what another process can be asked to do with a file that it has
// open for reading and writing.
var actions = map[string]func(fd int) error{
	"flock shared":    func(fd int) error { return flockWait(fd, unix.LOCK_SH) },
	"flock exclusive": func(fd int) error { return flockWait(fd, unix.LOCK_EX) },
	"flock try":       func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) },
	"record try":      func(fd int) error { return record(fd, unix.F_SETLK, unix.F_WRLCK, 10, 10) },
	"record wait":     func(fd int) error { return record(fd, unix.F_SETLKW, unix.F_WRLCK, 10, 10) },
}

// Child does the part of a test that needs a process of its own, and exits, if
// this process was started for one. TestMain calls it first.
func Child() {
	act := actions[os.Getenv(actionVariable)]
	if act == nil {
		return
	}
	fd, err := unix.Open(os.Getenv(pathVariable), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = act(fd)
	}
	answer := "done"
	if err != nil {
		answer = err.Error()
	}
	io.WriteString(os.Stdout, answer+"\n")
	io.Copy(io.Discard, os.Stdin) // holds what it has until the test closes the pipe
	os.Exit(0)
}

// process is another process at work on a file.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	answers chan string
}

// start makes a process do an action. It ends with the test at the latest.
func start(t *testing.T, action, path string) *process {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), actionVariable+"="+action, pathVariable+"="+path,
		"GORACE=atexit_sleep_ms=0") // else a binary with the race detector takes a second to end
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd, in, make(chan string, 1)}
	go func() {
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			line = "ended: " + err.Error()
		}
		p.answers <- strings.TrimSuffix(line, "\n")
	}()
	t.Cleanup(func() { p.end(t) })
	return p
}

// want ends the test unless the action came to that answer within ten seconds.
func (p *process) want(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-p.answers:
		if got != want {
			t.Fatalf("the other process: %s, want %s", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("the other process: no answer, want %s", want)
	}
}

// waits ends the test if the action comes to an end.
func (p *process) waits(t *testing.T) {
	t.Helper()
	select {
	case got := <-p.answers:
		t.Fatalf("the other process: %s, and should wait", got)
	case <-time.After(150 * time.Millisecond):
	}
}

// end lets the process go on and end, after ten seconds by force.
func (p *process) end(t *testing.T) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	p.stdin.Close()
	p.wait(t)
}

// kill ends the process in the midst of what it does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.cmd.Process.Kill()
	p.wait(t)
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	late := time.AfterFunc(10*time.Second, func() {
		t.Error("the other process did not end within ten seconds")
		p.cmd.Process.Kill()
	})
	defer late.Stop()
	p.cmd.Wait()
}

// run runs a program by way of a shell and returns its exit code. A direct
// execve would stop this process until the file system has answered.
func run(t *testing.T, command ...string) int {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", `exec "$@" 2>/dev/null`, "sh"}, command...)...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%q: %v", command, err)
	}
	return cmd.ProcessState.ExitCode()
}
