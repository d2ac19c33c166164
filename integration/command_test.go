package integration

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// commandLimit ends a command that hangs; no test waits that long on purpose.
const commandLimit = 10 * time.Minute

// command is a process to run: where, as whom, with what besides the
// environment of the tests.
type command struct {
	dir   string
	uid   uint32 // 0 leaves the user as it is
	env   []string
	stdin string
}

// cmd returns the command ready to start. It leads a process group of its own,
// so that a limit ends its children as well.
func (c command) cmd(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if c.uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: c.uid, Gid: c.uid}
	}
	cmd.Cancel = func() error {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			fmt.Fprintf(os.Stderr, "integration: %.200q hangs\n%s", argv, whereGroupWaits(cmd.Process.Pid))
			quitDaemons()
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// try runs argv and returns what it printed on stdout and stderr, and its exit
// code; -1 when a signal ended it or it could not be started.
func (c command) try(argv ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	cmd := c.cmd(ctx, argv...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// run runs argv, which has to succeed, and returns its stdout.
func (c command) run(t *testing.T, argv ...string) string {
	t.Helper()
	out, errs, code := c.try(argv...)
	if code != 0 {
		t.Fatalf("(in %s) %s: exit %d\n%s%s", c.dir, strings.Join(argv, " "), code, tail(out), tail(errs))
	}
	return out
}

// tail returns the end of a long output.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// sandboxfs runs the program and returns what it printed, and its exit code.
func sandboxfs(args ...string) (stdout, stderr string, code int) {
	return command{dir: tempRoot}.try(append([]string{executable}, args...)...)
}

// helpers are what the test binary does when it is started as "helper NAME
// ARG…": pieces of a test that need a process of their own.
var helpers map[string]func(args []string) error

func init() {
	helpers = map[string]func([]string) error{
		"reap":   reap,
		"mapper": mapper,
		"locker": locker,
	}
}

// runHelper runs one helper and prints its error, if any.
func runHelper(args []string) int {
	if err := helpers[args[0]](args[1:]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// helperBinary returns a copy of the test binary that every user may execute:
// the go command's own lies in a private directory.
var helperBinary = sync.OnceValue(func() string {
	path := filepath.Join(tempRoot, "helper")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(path, self, 0o755)
	}
	if err != nil {
		panic(err)
	}
	return path
})

// dialogue is a running helper that answers each line with a line.
type dialogue struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// converse starts a helper as uid and ends it with the test.
func converse(t *testing.T, uid uint32, args ...string) *dialogue {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	cmd := command{dir: tempRoot, uid: uid}.cmd(ctx, append([]string{helperBinary(), "helper"}, args...)...)
	cmd.Stdin = nil
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cancel()
		cmd.Wait()
	})
	return &dialogue{t, in, bufio.NewReader(out)}
}

// ask sends a line and returns the answer.
func (d *dialogue) ask(line string) string {
	d.t.Helper()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		d.t.Fatalf("ask helper %q: %v", line, err)
	}
	answer, err := d.out.ReadString('\n')
	if err != nil {
		d.t.Fatalf("ask helper %q: %v (%s)", line, err, answer)
	}
	return strings.TrimSpace(answer)
}

// answer reads lines from stdin and prints what reply makes of each, until the
// other side closes.
func answer(reply func(line string) string) error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if _, err := fmt.Println(reply(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

// errno returns the name of the errno in err: "ok", "EACCES".
func errno(err error) string {
	var e syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return errnoName(e)
	}
	return err.Error()
}
