package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// flockWait waits for a lock, whatever signals the runtime of Go sends itself.
func flockWait(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); err != unix.EINTR {
			return err
		}
	}
}

func tryFlock(t *testing.T, fd, how int, want error) {
	t.Helper()
	check(t, unix.Flock(fd, how|unix.LOCK_NB), want, "flock(%d, %d)", fd, how)
}

func flock(t *testing.T, dir string) {
	a := makeFile(t, dir+"/file", "")
	b := open(t, dir+"/file", unix.O_RDONLY)
	for _, c := range []struct {
		fd, how int
		want    error
	}{
		{a, unix.LOCK_SH, nil}, {b, unix.LOCK_SH, nil}, {a, unix.LOCK_EX, unix.EWOULDBLOCK},
		{b, unix.LOCK_UN, nil}, {a, unix.LOCK_EX, nil}, {b, unix.LOCK_SH, unix.EWOULDBLOCK}, {b, unix.LOCK_EX, unix.EWOULDBLOCK},
		{a, unix.LOCK_EX, nil}, {a, unix.LOCK_SH, nil}, {b, unix.LOCK_SH, nil}, {b, unix.LOCK_EX, unix.EWOULDBLOCK},
		{a, unix.LOCK_UN, nil}, {a, unix.LOCK_UN, nil}, {b, unix.LOCK_EX, nil}, {b, unix.LOCK_UN, nil},
	} {
		tryFlock(t, c.fd, c.how, c.want)
	}
	check(t, unix.Flock(a, 0), unix.EINVAL, "flock(0)")
	check(t, unix.Flock(open(t, dir+"/file", unix.O_PATH), unix.LOCK_SH), unix.EBADF, "flock(O_PATH)")
}

func flockEnds(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	other := open(t, dir+"/file", unix.O_RDWR)
	fd, err := unix.Open(dir+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	twin, err := unix.Dup(fd)
	check(t, err, nil, "dup")
	tryFlock(t, fd, unix.LOCK_EX, nil)
	tryFlock(t, twin, unix.LOCK_EX, nil) // the same lock
	unix.Close(fd)
	tryFlock(t, other, unix.LOCK_EX, unix.EWOULDBLOCK)
	unix.Close(twin)
	eventually(t, "the lock of a closed descriptor is free", func() bool {
		return unix.Flock(other, unix.LOCK_EX|unix.LOCK_NB) == nil
	})
}

func flockProcesses(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	p := start(t, "flock shared", dir+"/file")
	p.want(t, "done")
	tryFlock(t, fd, unix.LOCK_SH, nil)
	tryFlock(t, fd, unix.LOCK_EX, unix.EWOULDBLOCK)
	start(t, "flock try", dir+"/file").want(t, unix.EWOULDBLOCK.Error())
	p.end(t)
	eventually(t, "the lock of a process that ended is free", func() bool {
		return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
	})
}

func flockWaits(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	tryFlock(t, fd, unix.LOCK_EX, nil)
	a, b := start(t, "flock shared", dir+"/file"), start(t, "flock shared", dir+"/file")
	a.waits(t)
	b.waits(t)
	tryFlock(t, fd, unix.LOCK_SH, nil) // made weaker
	a.want(t, "done")
	b.want(t, "done")
	c := start(t, "flock exclusive", dir+"/file")
	tryFlock(t, fd, unix.LOCK_UN, nil)
	a.end(t)
	c.waits(t)
	b.end(t)
	c.want(t, "done")
	tryFlock(t, fd, unix.LOCK_SH, unix.EWOULDBLOCK)
}

// flockInterrupted kills a process that waits: it goes at once, and leaves no
// lock.
func flockInterrupted(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	tryFlock(t, fd, unix.LOCK_EX, nil)
	p := start(t, "flock exclusive", dir+"/file")
	p.waits(t)
	p.kill(t)
	tryFlock(t, fd, unix.LOCK_UN, nil)
	tryFlock(t, open(t, dir+"/file", unix.O_RDWR), unix.LOCK_EX, nil)
	if got := run(t, "flock", "--wait", "0.2", dir+"/file", "true"); got != 1 {
		t.Errorf("flock --wait 0.2, which a signal ends, exited with %d, want 1", got)
	}
}

func flockDirectory(t *testing.T, dir string) {
	a, b := open(t, dir, unix.O_RDONLY), open(t, dir, unix.O_RDONLY)
	tryFlock(t, a, unix.LOCK_EX, nil)
	tryFlock(t, b, unix.LOCK_SH, unix.EWOULDBLOCK)
	tryFlock(t, a, unix.LOCK_UN, nil)
	tryFlock(t, b, unix.LOCK_SH, nil)
}
