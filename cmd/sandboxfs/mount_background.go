package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// A daemon in the background is this program again, in a session of its own.
// Its stderr is a pipe until it is ready, so that whoever started it sees what
// goes wrong. It inherits two descriptors: one to say ready on, and the stderr
// to go on with.
const (
	backgroundEnv = "SANDBOXFS_BACKGROUND"
	readyFD       = 3
	laterFD       = 4
)

// backgroundArgs returns the command line of the daemon in the background.
func backgroundArgs(flags *pflag.FlagSet, args []string) []string {
	line := []string{"mount"}
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "background" {
			line = append(line, "--"+f.Name+"="+f.Value.String())
		}
	})
	return append(append(line, "--"), args...)
}

// mountInBackground starts the daemon and returns when its view answers, or
// with its exit code when that fails.
func (a *app) mountInBackground(args []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	ready, readyOut, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	defer readyOut.Close()
	later, err := a.laterStderr()
	if err != nil {
		return err
	}
	defer later.Close()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), backgroundEnv+"=1")
	cmd.ExtraFiles = []*os.File{readyOut, later} // readyFD, laterFD
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	errorsOut, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readyOut.Close()
	io.Copy(a.stderr, errorsOut) // ends when the daemon is ready or gone
	line, err := io.ReadAll(ready)
	if err == nil && strings.HasPrefix(string(line), "ready ") {
		fmt.Fprintf(a.stdout, "%s", line)
		return cmd.Process.Release()
	}
	return backgroundFailure(cmd.Wait())
}

// laterStderr is where a daemon in the background writes once it is ready: to
// this process's stderr if that is a file, else nowhere. A terminal or a pipe
// belongs to somebody who does not wait for the daemon.
func (a *app) laterStderr() (*os.File, error) {
	if f, ok := a.stderr.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
			return os.NewFile(uintptr(fd), "stderr"), err
		}
	}
	return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
}

// backgroundFailure hands on the daemon's exit code; it has said what is wrong.
func backgroundFailure(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return status(exit.ExitCode())
	}
	return fmt.Errorf("the daemon ended before it was ready: %w", cmp.Or(err, errors.New("exit status 0")))
}

// readiness tells whoever waits that the view answers.
type readiness struct {
	pipe *os.File // nil in the foreground
}

// readiness takes over the descriptors that mountInBackground hands on, if this
// process is the daemon.
func (a *app) readiness() (*readiness, error) {
	if os.Getenv(backgroundEnv) == "" {
		return &readiness{}, nil
	}
	if err := os.Unsetenv(backgroundEnv); err != nil {
		return nil, err
	}
	unix.CloseOnExec(readyFD)
	unix.CloseOnExec(laterFD)
	return &readiness{pipe: os.NewFile(readyFD, "ready")}, nil
}

// announce prints the line that scripts wait for. In the background it leaves
// the directory and the streams of whoever started it; an error then says that
// nobody waits any more.
func (r *readiness) announce(stdout io.Writer, mountpoint string) error {
	if r.pipe == nil {
		fmt.Fprintf(stdout, "ready %s\n", mountpoint)
		return nil
	}
	defer r.pipe.Close()
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Dup3(laterFD, 2, 0); err != nil {
		return err
	}
	unix.Close(laterFD)
	_, err := fmt.Fprintf(r.pipe, "ready %s\n", mountpoint)
	return err
}
