package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"
)

// endWithin is how long a killed command may take to end.
const endWithin = 5 * time.Second

// kill ends every process of the exec. It is root's work where the processes
// can be seen from here; else a shell in the container kills what carries the
// exec's mark; and where there is none, the whole container is killed, which
// Ensure starts again.
func (e *execution) kill() error {
	defer e.drain()
	if e.killFromHost() && e.ended(endWithin) {
		return nil
	}
	if e.killFromInside() && e.ended(endWithin) {
		return nil
	}
	if !e.running() {
		return nil
	}
	e.docker.log.Warn("an exec cannot be killed, and its container is", "container", e.container.Name)
	ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
	defer cancel()
	if err := e.docker.engine.ContainerKill(ctx, e.container.ID, "KILL"); err != nil && !absent(err) {
		return fmt.Errorf("the command still runs: %w", e.docker.explain(err))
	}
	return nil
}

// drain waits for what the command has written before its end.
func (e *execution) drain() {
	select {
	case <-e.stream.done:
	case <-time.After(endWithin):
	}
}

func (e *execution) killFromHost() bool {
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		state, err := e.inspect()
		if err != nil || !state.Running && state.Pid != 0 {
			return err == nil
		}
		if state.Pid != 0 {
			err := killTree(e.docker.proc, state.Pid, execVariable+"="+e.mark)
			return err == nil
		}
	}
	return false // it has no process yet, or never will
}

// killScript kills what carries $1 in its environment. Processes that have
// emptied theirs are not found.
const killScript = `for p in /proc/[0-9]*; do grep -qs -- "$1" "$p/environ" && kill -KILL "${p#/proc/}"; done; exit 0`

func (e *execution) killFromInside() bool {
	ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
	defer cancel()
	// Two times, for what was started while the first went round.
	for range 2 {
		if err := e.inside(ctx, "/bin/sh", "-c", killScript, "sh", execVariable+"="+e.mark); err != nil {
			return false
		}
	}
	return true
}

// inside runs a command in the container that reads and writes nothing, and
// succeeds.
func (e *execution) inside(ctx context.Context, args ...string) error {
	engine := e.docker.engine
	options := container.ExecOptions{User: e.container.user, Cmd: args, AttachStdout: true, AttachStderr: true}
	created, err := engine.ContainerExecCreate(ctx, e.container.ID, options)
	if err != nil {
		return err
	}
	conn, err := engine.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return err
	}
	other := &execution{docker: e.docker, container: e.container, id: created.ID, stream: newStream(conn)}
	defer other.stream.Close()
	none := limit(nil, 0)
	other.stream.start(nil, none, none, false)
	select {
	case <-other.stream.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	code, err := other.exitCode()
	if code != 0 && err == nil {
		return errors.New("no shell in the container")
	}
	return err
}
