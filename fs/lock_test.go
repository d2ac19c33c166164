package fs

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waitFor asks for a lock and returns what comes of it.
func (w *world) waitFor(h HandleID, how int, interrupt chan struct{}) <-chan syscall.Errno {
	done := make(chan syscall.Errno, 1)
	c := caller()
	c.Thread = thread{interrupt}
	go func() { done <- w.Flock(c, h, how, true) }()
	return done
}

// waits ends the test if something comes of a wait at once.
func waits(t *testing.T, done <-chan syscall.Errno) {
	t.Helper()
	select {
	case errno := <-done:
		t.Fatalf("flock = %v, and should wait", name(errno))
	case <-time.After(3 * hostLockPoll):
	}
}

func TestFlock(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	a, b, c := w.open(t, "/file", unix.O_RDONLY), w.open(t, "/file", unix.O_RDWR), w.open(t, "/file", unix.O_RDONLY)
	try := func(h HandleID, how int, errno syscall.Errno) {
		t.Helper()
		want(t, w.Flock(caller(), h, how, false), errno, "flock")
	}
	try(a, unix.LOCK_EX, 0)
	try(b, unix.LOCK_SH, syscall.EWOULDBLOCK)
	second, third := w.waitFor(b, unix.LOCK_SH, nil), w.waitFor(c, unix.LOCK_SH, nil)
	waits(t, second)
	try(a, unix.LOCK_SH, 0) // made weaker
	want(t, <-second, 0, "flock of the second")
	want(t, <-third, 0, "flock of the third")
	try(a, unix.LOCK_UN, 0)
	first := w.waitFor(a, unix.LOCK_EX, nil)
	waits(t, first)
	w.Release(b)
	waits(t, first)
	w.Release(c)
	want(t, <-first, 0, "flock of the first when the others are closed")
}

func TestFlockInterrupted(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	a, b := w.open(t, "/file", unix.O_RDONLY), w.open(t, "/file", unix.O_RDONLY)
	want(t, w.Flock(caller(), a, unix.LOCK_EX, false), 0, "flock")
	interrupt := make(chan struct{})
	done := w.waitFor(b, unix.LOCK_EX, interrupt)
	waits(t, done)
	close(interrupt)
	want(t, <-done, syscall.EINTR, "flock")
	w.Release(a)
	want(t, w.Flock(caller(), b, unix.LOCK_EX, false), 0, "flock later")
}

// TestFlockOfTheHost waits for a lock that is held beside the view, of which
// nobody tells.
func TestFlockOfTheHost(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	dir, base := parent(t, w.tree, "file")
	f, err := dir.OpenAt(base, unix.O_RDONLY)
	if err == nil {
		defer f.Close()
		err = f.Flock(unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	done := w.waitFor(w.open(t, "/file", unix.O_RDONLY), unix.LOCK_SH, nil)
	waits(t, done)
	f.Flock(unix.LOCK_UN)
	want(t, <-done, 0, "flock")
}

func TestFlockIsAsked(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	h := w.open(t, "/file", unix.O_RDONLY)
	want(t, w.Flock(caller(), h, unix.LOCK_EX, false), 0, "flock")
	if err := w.Swap(viewOf(t, "no-lock deny lock /file", allowAll)); err != nil {
		t.Fatal(err)
	}
	want(t, w.Flock(caller(), h, unix.LOCK_SH, true), syscall.EACCES, "flock")
	w.wantEvents(t, "lock /file no-lock")
	want(t, w.Flock(caller(), h, unix.LOCK_UN, false), 0, "unlock, which nobody is asked for")
	want(t, w.Flock(caller(), 999, unix.LOCK_SH, false), syscall.EBADF, "flock of nothing")
}
