package mountinfo

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Dead reports whether the daemon behind the mountpoint has ended. One that
// does not answer within a second counts as alive.
func Dead(point string) bool {
	answer := make(chan error, 1)
	go func() {
		var st unix.Stat_t
		answer <- unix.Stat(point, &st)
	}()
	select {
	case err := <-answer:
		return errors.Is(err, unix.ENOTCONN)
	case <-time.After(time.Second):
		return false
	}
}
