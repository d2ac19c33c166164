package integration

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with a command on it.
type terminal struct {
	t     *testing.T
	keys  *os.File // what is typed goes here
	slave *os.File
	out   output
	cmd   *exec.Cmd
}

// onTerminal starts cmd on a new terminal of 25 rows and 90 columns.
func onTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { slave.Close() })
	p := &terminal{t: t, keys: master, slave: slave, cmd: cmd}
	p.resize(25, 90)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setpgid, cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = false, true, true
	must(t, cmd.Start())
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			p.out.Write(buf[:n])
		}
	}()
	return p
}

func (p *terminal) resize(rows, columns uint16) {
	p.t.Helper()
	must(p.t, unix.IoctlSetWinsize(int(p.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}))
}

func (p *terminal) press(keys string) {
	p.t.Helper()
	_, err := p.keys.WriteString(keys)
	must(p.t, err)
}

// shows waits until text is on the screen.
func (p *terminal) shows(text string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%q on the terminal", text), func() error {
		if all := p.out.text(); !strings.Contains(all, text) {
			return fmt.Errorf("it has %q", tail(all))
		}
		return nil
	})
}

// ends waits for the end of the command and checks its exit code.
func (p *terminal) ends(want int) {
	p.t.Helper()
	p.cmd.Wait()
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.t.Errorf("exit code %d, want %d:\n%s", got, want, tail(p.out.text()))
	}
}

func (p *terminal) modes() *unix.Termios {
	p.t.Helper()
	modes, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	must(p.t, err)
	return modes
}

// TestDockerTerminal has run give a command a terminal of its own: its size, the
// keys that interrupt, an editor, and the caller's terminal as it was in the end.
func TestDockerTerminal(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	argv := w.runArgs(`until [ "$(stty size)" = "25 90" ]; do sleep .05; done; echo size "$(stty size)"; tty; vi letter; echo changed >&2; read -r line; echo got "$line"; until [ "$(stty size)" = "40 120" ]; do sleep .05; done; echo size "$(stty size)"; sleep 1000`)
	p := onTerminal(t, w.cmd(t.Context(), argv...))
	before := p.modes()
	p.shows("size 25 90")
	p.shows("/dev/pts/")
	p.shows("- letter")
	for _, step := range []struct{ keys, then string }{{"i", "I letter"}, {"hello from vi", "hello from vi"}, {"\x1b", "- letter [Modified]"}} {
		p.press(step.keys) // one by one: vi takes what follows Escape at once for a part of it
		p.shows(step.then)
	}
	p.press(":wq\r")
	p.shows("changed")
	if got := read(t, w.path("root/letter")); got != "hello from vi\n" {
		t.Errorf("vi wrote %q", got)
	}
	p.resize(40, 120)
	p.press("a line\r")
	p.shows("got a line")
	p.shows("size 40 120")
	p.press("\x03")
	p.ends(130)
	if after := p.modes(); !reflect.DeepEqual(before, after) {
		t.Errorf("the caller's terminal is %+v afterwards, want %+v", after, before)
	}
	w.left()
}

// TestDockerExecTerminal works in a shell and an editor in the container of a
// live view.
func TestDockerExecTerminal(t *testing.T) {
	w := newDockerWorld(t, rule("no", "deny", `"*"`, "/no"), allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	m := w.mount("profile.yaml")
	p := onTerminal(t, w.cmd(t.Context(), w.execArgs(`PS1='ready> ' exec sh -i`)...))
	p.shows("ready> ")
	p.press("/usr/bin/ed -s letter\ra\rby ed\r.\rw\rq\r")
	p.press("cat letter | tr a-z A-Z; : > no; echo code $?\r")
	p.shows("BY ED")
	p.shows("Permission denied")
	p.press("python3 -q\r6*7\rexit()\rnode -p '6*8'\rgit init -q repo && git -C repo status -s && echo clean\r")
	p.shows("42")
	p.shows("48")
	p.shows("\nclean")
	p.press("exit 9\r")
	p.ends(9)
	m.wantEvent("create", "/no", "no")
	m.stop()
	w.left()
}

// TestDockerEd has an editor read its orders from a pipe.
func TestDockerEd(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	w.write("root/text", "one\ntwo\n")
	must(t, os.Chmod(w.path("root/text"), 0o666))
	in := w.command
	in.stdin = "2s/two/three/\n$a\nfour\n.\nw\nq\n"
	if _, errs, code := in.try(w.runArgs("/usr/bin/ed -s text")...); code != 0 {
		t.Errorf("ed = %d\n%s", code, errs)
	}
	if got := read(t, w.path("root/text")); got != "one\nthree\nfour\n" {
		t.Errorf("ed wrote %q", got)
	}
	w.left()
}
