package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
)

// Times that an exec may take beyond its command's.
const (
	undoWithin   = 15 * time.Second
	attachWithin = 30 * time.Second
	pollEvery    = time.Second
)

// Exec runs cmd in c and returns when it has ended and its output is passed on.
// A command that exits with a code other than 0 is no error. When ctx is done
// or the time is over, every process that the command started is killed, also
// those that left their session; the error is then that of ctx, or ErrTimeout.
// Processes that outlive a command that ended by itself stay.
func (d *Docker) Exec(ctx context.Context, c Container, cmd Cmd) (Result, error) {
	if len(cmd.Args) == 0 {
		return Result{}, errors.New("exec: no command")
	}
	ctx, cancel := cmd.within(ctx)
	defer cancel()
	started := time.Now()
	e, err := d.startExec(ctx, c, cmd)
	d.count("exec", err)
	if err != nil {
		return Result{}, fmt.Errorf("exec in %s: %w", c.Name, cmp.Or(d.explainEnd(ctx, c), err))
	}
	defer e.stream.Close()
	err = e.wait(ctx)
	result := Result{Exec: e.mark, Duration: time.Since(started)}
	result.CutStdout, result.CutStderr = e.out.cut(), e.err.cut()
	code, inspectErr := e.exitCode()
	result.ExitCode = code
	if code > 125 {
		err = errors.Join(err, d.explainEnd(ctx, c))
	}
	if err = errors.Join(err, inspectErr); err != nil {
		return result, fmt.Errorf("exec in %s: %w", c.Name, d.explain(err))
	}
	return result, nil
}

// Run makes a container of its own for cmd, and removes it afterwards, whatever
// happens. The session of spec begins its name.
func (d *Docker) Run(ctx context.Context, spec Spec, cmd Cmd) (result Result, err error) {
	spec.Session += "-" + rand.Text()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWithin)
		defer cancel()
		err = errors.Join(err, d.Remove(ctx, spec.Session))
	}()
	c, _, err := d.Ensure(ctx, spec)
	if err != nil {
		return Result{}, err
	}
	for _, note := range c.Notes {
		d.log.Warn(note, "container", c.Name)
	}
	return d.Exec(ctx, c, cmd)
}

// execution is a command that runs.
type execution struct {
	docker    *Docker
	container Container
	id        string // the engine's
	mark      string // ours
	stream    *stream
	out, err  *limited
}

func (d *Docker) startExec(ctx context.Context, c Container, cmd Cmd) (*execution, error) {
	e := &execution{
		docker: d, container: c, mark: rand.Text(),
		out: limit(cmd.Stdout, cmd.OutputLimit), err: limit(cmd.Stderr, cmd.OutputLimit),
	}
	options := container.ExecOptions{
		User: c.user, WorkingDir: cmd.Dir, Env: append(slices.Clone(cmd.Env), execVariable+"="+e.mark), Cmd: cmd.Args,
		AttachStdin: cmd.Stdin != nil, AttachStdout: true, AttachStderr: true, Tty: cmd.Terminal != nil,
	}
	if d.supervised(ctx) {
		// Its -s makes it the parent of whatever loses its own, so that none
		// gets out of the tree.
		options.Cmd = append([]string{"/sbin/docker-init", "-s", "--"}, cmd.Args...)
	}
	created, err := d.engine.ContainerExecCreate(ctx, c.ID, options)
	if err != nil {
		return nil, d.explain(err)
	}
	e.id = created.ID
	// A request that is broken off can leave a command running that nobody
	// knows of, so that ctx does not reach it.
	attach, cancel := context.WithTimeout(context.WithoutCancel(ctx), attachWithin)
	defer cancel()
	hijacked, err := d.engine.ContainerExecAttach(attach, e.id, container.ExecAttachOptions{Tty: options.Tty})
	if err != nil {
		return nil, d.explain(err)
	}
	e.stream = newStream(hijacked)
	e.stream.start(cmd.Stdin, e.out, e.err, options.Tty)
	if cmd.Terminal != nil {
		go e.resize(*cmd.Terminal, cmd.Resize)
	}
	return e, nil
}

// wait returns when the command has ended and its output is passed on, or when
// ctx is done and the command is killed.
func (e *execution) wait(ctx context.Context) error {
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case err := <-e.stream.done:
			if err != nil {
				return errors.Join(err, e.kill())
			}
			return nil
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), e.kill())
		case <-poll.C:
			// A process that the command left behind may hold its output open.
			if e.stream.quiet(pollEvery) && !e.running() {
				e.stream.Close()
				return nil
			}
		}
	}
}

// inspect asks the engine about the exec, whatever has become of the caller.
func (e *execution) inspect() (container.ExecInspect, error) {
	ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
	defer cancel()
	return e.docker.engine.ContainerExecInspect(ctx, e.id)
}

// running reports whether the command may still run, which an engine that does
// not answer leaves open.
func (e *execution) running() bool {
	state, err := e.inspect()
	if err != nil {
		return !errdefs.IsNotFound(err)
	}
	return state.Running
}

// ended waits until the engine knows that the command has ended.
func (e *execution) ended(within time.Duration) bool {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !e.running() {
			return true
		}
	}
	return false
}

// exitCode returns the code once there is one: the engine closes the streams a
// moment before it knows.
func (e *execution) exitCode() (int, error) {
	pause := time.Millisecond
	for end := time.Now().Add(endWithin); ; time.Sleep(pause) {
		state, err := e.inspect()
		switch {
		case err == nil && !state.Running:
			return state.ExitCode, nil
		case errdefs.IsNotFound(err):
			return -1, err
		case time.Now().After(end) && err == nil:
			return -1, errors.New("the engine does not say how the command ended")
		case time.Now().After(end):
			return -1, err
		}
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// resize sets the size of the terminal, the first time as soon as there is one.
func (e *execution) resize(first Size, later <-chan Size) {
	for range 50 {
		if e.setSize(first) == nil || !e.stream.open() {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for {
		select {
		case size, ok := <-later:
			if !ok {
				return
			}
			e.setSize(size)
		case <-e.stream.closed:
			return
		}
	}
}

func (e *execution) setSize(s Size) error {
	ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
	defer cancel()
	return e.docker.engine.ContainerExecResize(ctx, e.id, container.ResizeOptions{Width: s.Width, Height: s.Height})
}
