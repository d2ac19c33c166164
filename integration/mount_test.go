package integration

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mount is a running "sandboxfs mount" and what it serves.
type mount struct {
	Path    string // the mountpoint
	Backing string // the world's root, unless the profile names another
	t       *testing.T
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has ended
	ready   chan struct{} // closed when stdout said so
	audit   string
	output  output
}

// launch is how a mount is started; options change it.
type launch struct {
	mountpoint string
	uid        uint32
	nofile     int
	audit      string
	flags      []string
}

// option changes how a mount is started.
type option func(*launch)

// asUser runs the daemon as uid, who has to be let to /dev/fuse: fusermount3
// opens it with the user's own rights.
func asUser(uid uint32) option { return func(l *launch) { l.uid = uid } }

// onto mounts at a directory of the world other than "mnt".
func onto(name string) option { return func(l *launch) { l.mountpoint = name } }

// underLimit lets the daemon have no more than n open files.
func underLimit(n int) option { return func(l *launch) { l.nofile = n } }

// auditTo has the daemon write its events to a file of that host path.
func auditTo(path string) option { return func(l *launch) { l.audit = path } }

// flags gives the daemon further flags.
func flags(args ...string) option { return func(l *launch) { l.flags = args } }

// stuckAfter returns how long a mount may live before it counts as stuck.
func stuckAfter() time.Duration {
	if soak {
		return 2 * time.Hour
	}
	return 5 * time.Minute
}

// mount starts "sandboxfs mount arg" in the foreground and waits until it is
// ready. The test's end stops it. A mount that lives too long is aborted, so
// that a hanging request fails instead of hanging the run.
func (w *world) mount(arg string, options ...option) *mount {
	w.t.Helper()
	m := w.start(arg, options...)
	select {
	case <-m.ready:
		eventually(w.t, "the metrics address on stderr, which is another pipe", func() error {
			if metricsURL.FindString(m.output.text()) == "" {
				return fmt.Errorf("not printed yet")
			}
			return nil
		})
	case <-m.exited:
		w.t.Fatalf("sandboxfs mount %s: %v\n%s", arg, m.cmd.ProcessState, m.output.text())
	case <-time.After(4 * patience):
		w.t.Fatalf("sandboxfs mount %s: not ready\n%s", arg, m.output.text())
	}
	return m
}

// start is mount without the wait.
func (w *world) start(arg string, options ...option) *mount {
	w.t.Helper()
	l := launch{mountpoint: "mnt"}
	for _, o := range options {
		o(&l)
	}
	home, mountpoint := w.mkdir("home"), w.path(l.mountpoint)
	if len(mountsBelow(mountpoint)) == 0 { // else a daemon has died there
		w.mkdir(l.mountpoint)
	}
	audit := cmp.Or(l.audit, w.path("audit-"+filepath.Base(mountpoint)+".jsonl"))
	if l.uid != 0 {
		must(w.t, unix.Chmod("/dev/fuse", 0o666))
		command{}.run(w.t, "chown", "-R", fmt.Sprintf("%d:%d", l.uid, l.uid), w.Dir)
	}
	m := &mount{
		Path: mountpoint, Backing: w.path("root"), t: w.t, audit: audit,
		exited: make(chan struct{}), ready: make(chan struct{}),
	}
	argv := []string{executable, "mount", "--metrics", "127.0.0.1:0", "--audit", audit}
	argv = append(append(argv, l.flags...), arg, mountpoint)
	if l.nofile != 0 {
		argv = append([]string{"prlimit", fmt.Sprintf("--nofile=%d:%d", l.nofile, l.nofile)}, argv...)
	}
	c := command{dir: w.Dir, uid: l.uid, env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home}}
	m.cmd = c.cmd(context.Background(), argv...)
	m.cmd.Stderr = &m.output
	stdout, err := m.cmd.StdoutPipe()
	must(w.t, err)
	must(w.t, m.cmd.Start())
	go m.follow(stdout)
	watchdog := time.AfterFunc(stuckAfter(), func() {
		fmt.Fprintf(os.Stderr, "integration: %s: mount is stuck, aborting it\n", w.t.Name())
		quitDaemons()
		abortConnection(mountpoint)
		m.cmd.Process.Kill()
	})
	w.t.Cleanup(func() {
		m.end()
		watchdog.Stop()
	})
	return m
}

// follow reads stdout to its end and then waits for the process.
func (m *mount) follow(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(&m.output, lines.Text())
		if lines.Text() == "ready "+m.Path {
			close(m.ready)
		}
	}
	m.cmd.Wait()
	close(m.exited)
}

// stop ends the daemon as a user does and checks that it goes in good order.
func (m *mount) stop() {
	m.t.Helper()
	m.cmd.Process.Signal(syscall.SIGTERM)
	if err := m.wait(); err != nil {
		m.t.Errorf("SIGTERM: %v\n%s", err, m.output.text())
	}
	if left := mountsBelow(m.Path); len(left) > 0 {
		m.t.Errorf("after SIGTERM: still mounted: %v", left)
	}
}

// wait waits until the daemon has ended, which it must with exit code 0.
func (m *mount) wait() error {
	select {
	case <-m.exited:
	case <-time.After(2 * patience):
		return fmt.Errorf("daemon is still there")
	}
	if code := m.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("daemon: %v", m.cmd.ProcessState)
	}
	return nil
}

// kill9 ends the daemon without giving it a chance; the dead mount stays.
func (m *mount) kill9() {
	m.cmd.Process.Kill()
	<-m.exited
}

// end is the cleanup: a daemon that runs is stopped, whatever is left is
// removed by force. A dead mount that the test left is its own fault.
func (m *mount) end() {
	select {
	case <-m.exited:
	default:
		m.stop()
	}
	for _, left := range mountsBelow(m.Path) {
		m.t.Errorf("left behind: mount %s", left.path)
		abortConnection(left.path)
		unix.Unmount(left.path, unix.MNT_DETACH)
	}
	m.cmd.Process.Kill()
	<-m.exited
	for _, cry := range []string{"DATA RACE", "panic: ", "fatal error: "} {
		if len(m.output.lines(cry)) > 0 {
			m.t.Errorf("the daemon printed %q", cry)
		}
	}
	if m.t.Failed() {
		printed := m.output.text()
		if !strings.Contains(printed, "SIGQUIT") {
			printed = tail(printed)
		}
		m.t.Logf("sandboxfs printed:\n%s", printed)
	}
}

// metricsURL finds the address that the daemon printed.
var metricsURL = regexp.MustCompile(`127\.0\.0\.1:[1-9][0-9]*`)

// output is what a daemon prints, from two goroutines.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends p.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// text returns everything printed so far.
func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// lines returns the lines printed so far that hold substr.
func (o *output) lines(substr string) []string {
	var found []string
	for line := range strings.Lines(o.text()) {
		if strings.Contains(line, substr) {
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	return found
}
