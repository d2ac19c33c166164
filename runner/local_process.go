package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a sandbox that runs.
type process struct {
	cmd      *exec.Cmd
	terminal *terminal // nil without
	out, err *limited
	status   *os.File // bubblewrap tells of its progress here

	pid    chan int      // the sandbox's process 1, once; closed without if there is none
	exited chan struct{} // closed when every process is gone

	// set before exited is closed
	exitCode int
	began    bool // the command was started
	failure  error
}

// start makes the sandbox of b and starts cmd in it.
func (l *Local) start(b *box, cmd Cmd) (*process, error) {
	p := &process{
		cmd: exec.Command(l.tools["bwrap"], append([]string{"--args", fmt.Sprint(argsFD), "--"}, l.command(b, cmd.Args)...)...),
		out: limit(cmd.Stdout, cmd.OutputLimit), err: limit(cmd.Stderr, cmd.OutputLimit),
		pid: make(chan int, 1), exited: make(chan struct{}),
	}
	filter, err := seccompFilter()
	if err != nil {
		return nil, err
	}
	passwd, group := accounts(b.spec.User)
	texts := map[int]string{argsFD: nul(l.args(b)), seccompFD: filter, passwdFD: passwd, groupFD: group}
	files := make([]*os.File, len(texts)+1) // from descriptor 3 on
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if p.status, files[statusFD-3], err = os.Pipe(); err != nil {
		return nil, err
	}
	for fd, text := range texts {
		if files[fd-3], err = inherit(text); err != nil {
			p.status.Close()
			return nil, err
		}
	}
	p.cmd.ExtraFiles = files
	p.cmd.Dir = "/"
	p.cmd.Env = []string{execVariable + "=" + b.mark} // for whoever asks whose process it is
	p.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if err := p.connect(b, cmd); err != nil {
		p.status.Close()
		return nil, err
	}
	return p, p.launch()
}

func nul(args []string) string { return strings.Join(args, "\x00") + "\x00" }

// connect gives the command its input and output: copies of what the caller
// has, since a descriptor of the host could be opened anew through /proc, with
// more rights than it was given with.
func (p *process) connect(b *box, cmd Cmd) error {
	if cmd.Terminal != nil {
		t, err := openTerminal(*cmd.Terminal, b.spec.User)
		if err != nil {
			return err
		}
		p.terminal = t
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = t.slave, t.slave, t.slave
		t.start(cmd.Stdin, p.out, cmd.Resize)
		return nil
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.err
	p.cmd.WaitDelay = endWithin
	if cmd.Stdin == nil {
		return nil
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		io.Copy(in, cmd.Stdin) // it ends with the command
		in.Close()
	}()
	return nil
}

// launch starts bubblewrap on a thread of its own, which lives as long: the
// umask that is inherited is that of a thread, and so is the parent whose death
// ends the sandbox.
func (p *process) launch() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with this goroutine
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			unix.Umask(0o022)
			err = p.cmd.Start()
		}
		started <- err
		if err == nil {
			p.reap()
		}
	}()
	err := <-started
	if err != nil {
		p.status.Close()
	}
	if p.terminal != nil {
		p.terminal.slave.Close()
		if err != nil {
			p.terminal.master.Close()
		}
	}
	return err
}

// reap follows the sandbox to its end.
func (p *process) reap() {
	told := make(chan struct{})
	go func() {
		defer close(told)
		defer p.status.Close()
		p.follow()
	}()
	err := p.cmd.Wait()
	<-told
	if p.terminal != nil {
		p.terminal.close()
	}
	var exit *exec.ExitError
	if !p.began {
		p.exitCode = p.cmd.ProcessState.ExitCode()
	}
	if err != nil && !errors.As(err, &exit) {
		p.failure = err
	}
	close(p.exited)
}

// follow reads what bubblewrap tells: first the process id, and the exit code
// of a command that it came to start.
func (p *process) follow() {
	defer close(p.pid)
	documents := json.NewDecoder(p.status)
	for {
		var d struct {
			Pid      *int `json:"child-pid"`
			ExitCode *int `json:"exit-code"`
		}
		if documents.Decode(&d) != nil {
			return
		}
		if d.Pid != nil {
			p.pid <- *d.Pid
		}
		if d.ExitCode != nil {
			p.exitCode, p.began = *d.ExitCode, true
		}
	}
}

// wait returns when the sandbox is gone.
func (p *process) wait(ctx context.Context, signals <-chan unix.Signal) error {
	pid := 0
	ids := p.pid
	var early []unix.Signal // not sent yet: nobody is there to hear them
	sent := false           // some were, perhaps before the command was started
	for {
		var again <-chan time.Time
		if len(early) > 0 {
			again = time.After(soon)
		}
		select {
		case pid = <-ids:
			ids = nil
		case s := <-signals:
			early = append(early, s)
		case <-again:
		case <-ctx.Done():
			p.kill(pid)
			return context.Cause(ctx)
		case <-p.exited:
			if p.failure == nil && !p.began && !sent {
				return fmt.Errorf("%w: bubblewrap says why, and ended with code %d", ErrLocal, p.exitCode)
			}
			return p.failure
		}
		if len(early) == 0 {
			continue
		}
		if group := p.listeners(pid); group > 1 {
			for _, s := range early {
				sent = unix.Kill(-group, s) == nil || sent
			}
			early = nil
		}
	}
}

// soon is how long a sandbox that is being made may take for a step of it.
const soon = 5 * time.Millisecond

// listeners returns the process group that hears of signals, 0 if there is no
// command yet. Process 1 hears none.
func (p *process) listeners(pid int) (group int) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	switch {
	case pid == 0 || err == nil && len(children) == 0:
		return 0
	case p.terminal != nil:
		return p.terminal.foreground()
	}
	return pid
}

// kill ends every process of the sandbox: the kernel does, when process 1 is
// gone, before anybody hears of its end.
func (p *process) kill(pid int) {
	late := time.After(endWithin)
	if pid == 0 {
		select { // without it, process 1 could go on where nobody is its parent
		case pid = <-p.pid:
		case <-late:
		}
	}
	if pid > 1 {
		unix.Kill(pid, unix.SIGKILL)
		select {
		case <-p.exited:
			return
		case <-late:
		}
	}
	p.cmd.Process.Kill()
	<-p.exited
}
