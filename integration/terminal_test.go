package integration

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// typist sits at a terminal that a command was started on.
type typist struct {
	t      *testing.T
	master *os.File
	cmd    *exec.Cmd

	mu     sync.Mutex
	screen strings.Builder // guarded by mu
	seen   int             // bytes of screen that were waited for
}

// sitDown starts argv on a new terminal of that size, and ends it with the test.
func sitDown(t *testing.T, c command, width, height uint16, argv ...string) *typist {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	must(t, err)
	name := fmt.Sprintf("/dev/pts/%d", number)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer slave.Close()
	must(t, slave.Chown(int(c.uid), int(c.uid)))
	y := &typist{t: t, master: os.NewFile(uintptr(fd), name)}
	y.resize(width, height)
	y.cmd = c.cmd(context.Background(), argv...)
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = slave, slave, slave
	y.cmd.SysProcAttr.Setpgid, y.cmd.SysProcAttr.Setsid, y.cmd.SysProcAttr.Setctty = false, true, true
	must(t, y.cmd.Start())
	go io.Copy(y, y.master)
	t.Cleanup(func() {
		if y.cmd.ProcessState == nil {
			end := time.AfterFunc(time.Second, func() { y.cmd.Process.Signal(syscall.SIGTERM) }) // the second one kills
			y.cmd.Process.Signal(syscall.SIGTERM)
			y.cmd.Wait()
			end.Stop()
		}
		y.master.Close()
	})
	return y
}

func (y *typist) Write(p []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.screen.Write(p)
}

func (y *typist) keys(text string) {
	y.t.Helper()
	if _, err := io.WriteString(y.master, text); err != nil {
		y.t.Fatalf("type %q: %v", text, err)
	}
}

// sees waits for text to appear after what was waited for before.
func (y *typist) sees(text string) {
	y.t.Helper()
	eventually(y.t, fmt.Sprintf("%q on the terminal", text), func() error {
		y.mu.Lock()
		defer y.mu.Unlock()
		rest := y.screen.String()[y.seen:]
		i := strings.Index(rest, text)
		if i < 0 {
			return fmt.Errorf("it shows %q", tail(rest))
		}
		y.seen += i + len(text)
		return nil
	})
}

func (y *typist) resize(width, height uint16) {
	conn, err := y.master.SyscallConn()
	must(y.t, err)
	conn.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width})
	})
	must(y.t, err)
}

// leaves waits for the end of the command and returns its exit code.
func (y *typist) leaves() int {
	y.t.Helper()
	done := make(chan struct{})
	go func() { y.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		y.t.Fatalf("the command on the terminal does not end; it shows %q", tail(y.screen.String()))
	}
	return y.cmd.ProcessState.ExitCode()
}

// TestRunTerminal works at a terminal in a local sandbox: its size, the keys
// that interrupt and stop, an editor, and the caller's terminal afterwards.
func TestRunTerminal(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	for _, uid := range []uint32{0, 1000} {
		w := newRunWorld(t, uid, allowAll)
		w.env = append(w.env, "TERM=xterm", "PS1=$ ")
		y := sitDown(t, w.command, 91, 31, executable, "run", "--backend", "local", "--env", "PS1", "profile.yaml", "--", "sh", "-i")
		y.keys("stty size; test -t 0 && id -u\n")
		y.sees("31 91")
		y.sees("1000")
		y.resize(132, 43)
		y.keys("until stty size | grep '43 132'; do sleep 0.1; done\n")
		y.sees("\r\n43 132")
		y.keys("sh -c 'echo go-$((1+1)); exec sleep 60'\n")
		y.sees("go-2")
		y.keys("\x03")
		y.keys("echo code-$?\n")
		y.sees("code-130")
		y.keys("sh -c 'echo go-$((1+2)); exec sleep 61'\n")
		y.sees("go-3")
		y.keys("\x1a")
		y.sees("Stopped")
		y.keys("kill -9 %1; wait; echo gone-$((1+1))\n")
		y.sees("gone-2")
		y.keys("vi -u NONE -n edited\n")
		y.sees("edited")
		y.keys("itext\x1b:wq\r")
		y.sees("written")
		y.keys("cat edited; exit 5\n")
		y.sees("text\r\n")
		if code := y.leaves(); code != 5 {
			t.Errorf("uid %d: run of a shell that exits with 5 = %d", uid, code)
		}
		y.sees("nothing was denied")
		if got := read(t, w.path("root/edited")); got != "text\n" {
			t.Errorf("uid %d: the edited file holds %q", uid, got)
		}
		w.left()
	}
}
