package fs

import (
	"syscall"
	"time"
)

// hostLockPoll is how often a waiting lock is tried again for the sake of locks
// that processes beside the view hold.
const hostLockPoll = 20 * time.Millisecond

// waitFlock tries until it has the lock, the caller is interrupted, or the
// server ends.
func (s *Server) waitFlock(c *Caller, h *handle, how int) syscall.Errno {
	tick := time.NewTicker(hostLockPoll)
	defer tick.Stop()
	for {
		changed := s.locks.wait()
		if errno := s.tryFlock(h, how); errno != syscall.EWOULDBLOCK {
			return errno
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-c.Thread.Interrupted():
			return syscall.EINTR
		case <-s.stop:
			return syscall.EINTR
		}
	}
}
