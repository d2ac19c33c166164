package mountinfo

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Dead reports whether the daemon behind the mountpoint has ended. One that
// does not answer within a second counts as alive. It asks by statfs(2), which
// the kernel never answers from what it has cached.
func Dead(point string) bool {
	answer := make(chan error, 1)
	go func() {
		var st unix.Statfs_t
		answer <- unix.Statfs(point, &st)
	}()
	select {
	case err := <-answer:
		return errors.Is(err, unix.ENOTCONN)
	case <-time.After(time.Second):
		return false
	}
}
