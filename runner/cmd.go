package runner

import (
	"context"
	"io"
	"time"
)

// Cmd is a command to run in a sandbox: a container, or one of this host.
type Cmd struct {
	Args []string
	Dir  string   // in the sandbox; default: that of the Spec
	Env  []string // NAME=value, added to what the sandbox has

	Stdin          io.Reader // nil for none; a read that blocks may outlive the command
	Stdout, Stderr io.Writer // nil drops the output; a terminal has Stdout alone
	OutputLimit    int64     // bytes of each stream that are passed on; 0 for all

	Terminal *Size       // nil without a terminal; else its first size
	Resize   <-chan Size // later sizes; nil for none

	Timeout time.Duration // 0 for none
}

// within returns ctx with the time that cmd has; its cause is then ErrTimeout.
func (cmd Cmd) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if cmd.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, cmd.Timeout, ErrTimeout)
}

// Size is that of a terminal.
type Size struct{ Width, Height uint }

// Result is how a command ended.
type Result struct {
	Exec     string // the id that the processes carry in their environment as SANDBOXFS_EXEC
	ExitCode int    // 128 + the signal for one that was killed
	Duration time.Duration

	CutStdout, CutStderr int64 // bytes beyond the limit, which were not passed on
}

// execVariable marks the processes of an exec.
const execVariable = "SANDBOXFS_EXEC"
