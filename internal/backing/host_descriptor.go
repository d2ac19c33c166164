package backing

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// descriptor is an open file descriptor. Close frees its number only when the
// last call that uses it has ended: a number freed earlier may by then be
// another file's, and the call would work on that.
//
// os.File promises the same, but registers with the poller and knows nothing
// of O_PATH.
type descriptor struct {
	fd int

	users  atomic.Int32 // calls under way, and one more until Close
	closed atomic.Bool
}

func (d *descriptor) init(fd int) {
	d.fd = fd
	d.users.Store(1)
}

// use runs call with the descriptor and repeats it while a signal interrupts it.
func (d *descriptor) use(call func(fd int) error) error {
	if !d.acquire() {
		return unix.EBADF
	}
	defer d.release()
	return retry(func() error { return call(d.fd) })
}

func (d *descriptor) acquire() bool {
	for !d.closed.Load() {
		n := d.users.Load()
		if n == 0 {
			return false
		}
		if d.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

func (d *descriptor) release() error {
	if d.users.Add(-1) > 0 {
		return nil
	}
	// Linux frees the number even when it says EINTR.
	if err := unix.Close(d.fd); err != unix.EINTR {
		return err
	}
	return nil
}

// Close lets go of the descriptor. An error of close(2) is returned only when
// no other call was under way.
func (d *descriptor) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.release()
}

// retry runs call until no signal interrupts it.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
