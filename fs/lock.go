package fs

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/policy"
)

// flock(2) locks are taken on the backing, so that the host sees them. A lock
// belongs to an open file description; the backing's descriptor of a handle is
// just that. Waiting is done here: a thread blocked in flock(2) could not be
// interrupted and would be one thread for each waiter.

// flock is the lock that a handle holds.
type flock struct {
	mu   sync.Mutex
	held bool
}

// locks wakes those who wait when a handle of this view gives a lock back. The
// host's locks are only found by trying again.
type locks struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever a lock is given back
}

// Flock takes (unix.LOCK_SH, LOCK_EX) or gives back (LOCK_UN) the lock of a
// handle. With wait it lasts until the lock is had or the call is interrupted.
func (s *Server) Flock(c *Caller, id HandleID, how int, wait bool) syscall.Errno {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return errno
	}
	if how != unix.LOCK_UN {
		if errno := s.gate(c, h.node, policy.Lock); errno != 0 {
			return errno
		}
	}
	if h.file == nil {
		return syscall.ENOTSUP
	}
	if !wait {
		return s.tryFlock(h, how)
	}
	c.Thread.Yield()
	return s.waitFlock(c, h, how)
}

func (s *Server) tryFlock(h *handle, how int) syscall.Errno {
	h.flock.mu.Lock()
	err := h.file.Flock(how)
	if err == nil {
		h.flock.held = how != unix.LOCK_UN
	}
	h.flock.mu.Unlock()
	if err == nil && how != unix.LOCK_EX {
		s.locks.wake() // given back, or made weaker
	}
	return errnoOf(err)
}

// release gives back what h holds. The backing does so when its descriptor is
// closed; those who wait in this view are told here.
func (l *locks) release(h *handle) {
	h.flock.mu.Lock()
	held := h.flock.held
	if held {
		h.file.Flock(unix.LOCK_UN)
		h.flock.held = false
	}
	h.flock.mu.Unlock()
	if held {
		l.wake()
	}
}

// wait returns a channel that is closed at the next change.
func (l *locks) wait() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

func (l *locks) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
