package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"
)

// Sentinels for what callers treat apart.
var (
	ErrEngine  = errors.New("no container engine") // it is missing, not running, or may not be talked to
	ErrImage   = errors.New("no such image")
	ErrRuntime = errors.New("the engine knows no runtime")
	ErrTimeout = fmt.Errorf("timed out: %w", context.DeadlineExceeded) // of an exec, the processes of which are gone
)

// absent reports whether err says that something is gone or going.
func absent(err error) bool {
	return errdefs.IsNotFound(err) || err != nil && strings.Contains(err.Error(), "already in progress")
}

// explain turns what the client says of an engine that it cannot reach into one
// line with a cure, and leaves other errors alone.
func (d *Docker) explain(err error) error {
	if !client.IsErrConnectionFailed(err) {
		return err
	}
	socket, local := strings.CutPrefix(d.address, "unix://")
	if !local {
		return fmt.Errorf("%w: nothing answers at %s; is DOCKER_HOST right?", ErrEngine, d.address)
	}
	switch _, statErr := os.Stat(socket); {
	case errors.Is(statErr, os.ErrNotExist):
		return fmt.Errorf("%w: there is no socket %s; install Docker or start it, or say in DOCKER_HOST where it is", ErrEngine, socket)
	case unix.Access(socket, unix.W_OK) != nil:
		return fmt.Errorf("%w: this user may not write to %s; usermod -aG docker USER, and log in anew", ErrEngine, socket)
	}
	return fmt.Errorf("%w: nothing listens at %s; the engine is not running: systemctl start docker", ErrEngine, socket)
}

func (d *Docker) explainImage(err error) error {
	if !errdefs.IsNotFound(err) {
		return d.explain(err)
	}
	ref := d.settings.image()
	return fmt.Errorf("%w: the engine has no image %s; make one of any directory tree: tar -C DIR -c . | docker import - %s", ErrImage, ref, ref)
}

// explainStart names what an image lacks, where the engine speaks of its own
// inside.
func (d *Docker) explainStart(err error) error {
	if err != nil && strings.Contains(err.Error(), `"`+keepAlive[0]+`"`) {
		return d.noKeepAlive()
	}
	return d.explain(err)
}

// explainEnd does so where there is an init: that starts, finds no program that
// it can run, and ends with the container. It returns nil for one that has not,
// or that was killed.
func (d *Docker) explainEnd(ctx context.Context, c Container) error {
	found, err := d.engine.ContainerInspect(ctx, c.ID)
	if err != nil || found.State == nil || found.State.Running {
		return nil
	}
	switch code := found.State.ExitCode; {
	case code == 127:
		return d.noKeepAlive()
	case code > 0 && code < 127:
		return fmt.Errorf("image %s has a program %q that does not run here, and it keeps a container alive between commands; is it executable, and made for this machine?", d.settings.image(), keepAlive[0])
	}
	return nil
}

func (d *Docker) noKeepAlive() error {
	return fmt.Errorf("image %s has no program %q, which keeps a container alive between commands", d.settings.image(), keepAlive[0])
}
