package mountinfo

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Watch calls changed once it listens and after every change of the table, until
// ctx is done. It returns an error if the kernel gives no notices.
func Watch(ctx context.Context, changed func()) error {
	// Not os.Open: Go's poller would wait on the descriptor too, and take the one
	// notice of each change for itself.
	table, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("watch the table of mounts: %w", err)
	}
	defer unix.Close(table)
	done, stop, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("watch the table of mounts: %w", err)
	}
	defer done.Close()
	defer stop.Close()
	defer context.AfterFunc(ctx, func() { stop.Close() })()
	changed()
	for ctx.Err() == nil {
		// A change is told as an exceptional condition, once: see proc(5).
		fds := []unix.PollFd{
			{Fd: int32(table), Events: unix.POLLPRI},
			{Fd: int32(done.Fd()), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("watch the table of mounts: %w", err)
		}
		if fds[0].Revents != 0 {
			changed()
		}
	}
	return nil
}
