package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// record sets a record lock on length bytes from off.
func record(fd, cmd int, kind int16, off, length int64) error {
	for {
		lk := unix.Flock_t{Type: kind, Start: off, Len: length}
		if err := unix.FcntlFlock(uintptr(fd), cmd, &lk); err != unix.EINTR {
			return err
		}
	}
}

func recordProcesses(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "some text to lock a part of")
	check(t, record(fd, unix.F_SETLK, unix.F_WRLCK, 15, 100), nil, "fcntl(F_SETLK)")
	start(t, "record try", dir+"/file").want(t, unix.EAGAIN.Error())
	p := start(t, "record wait", dir+"/file")
	p.waits(t)
	check(t, record(fd, unix.F_SETLK, unix.F_UNLCK, 15, 5), nil, "fcntl(F_SETLK) of a part")
	p.want(t, "done")
	lk := unix.Flock_t{Type: unix.F_WRLCK, Start: 0, Len: 15}
	check(t, unix.FcntlFlock(uintptr(fd), unix.F_GETLK, &lk), nil, "fcntl(F_GETLK)")
	if lk.Type != unix.F_WRLCK || lk.Start != 10 || lk.Len != 10 || int(lk.Pid) != p.cmd.Process.Pid {
		t.Errorf("F_GETLK = %+v, want the lock of process %d", lk, p.cmd.Process.Pid)
	}
	check(t, record(fd, unix.F_SETLK, unix.F_RDLCK, 0, 10), nil, "fcntl(F_SETLK) beside the lock")
	check(t, record(fd, unix.F_SETLK, unix.F_RDLCK, 0, 11), unix.EAGAIN, "fcntl(F_SETLK) on the lock")
	p.kill(t)
	check(t, record(fd, unix.F_SETLK, unix.F_RDLCK, 0, 11), nil, "fcntl(F_SETLK) after the process is gone")
}

// recordEnds closes another descriptor of the file, which gives back every
// POSIX lock that the process has on it.
func recordEnds(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "some text to lock a part of")
	check(t, record(fd, unix.F_SETLK, unix.F_WRLCK, 0, 0), nil, "fcntl(F_SETLK) of all")
	start(t, "record try", dir+"/file").want(t, unix.EAGAIN.Error())
	check(t, openErr(dir+"/file", unix.O_RDONLY), nil, "open and close")
	start(t, "record try", dir+"/file").want(t, "done")
}

func recordErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	r, w := open(t, dir+"/file", unix.O_RDONLY), open(t, dir+"/file", unix.O_WRONLY)
	check(t, record(r, unix.F_SETLK, unix.F_WRLCK, 0, 1), unix.EBADF, "write lock on a reader")
	check(t, record(w, unix.F_SETLK, unix.F_RDLCK, 0, 1), unix.EBADF, "read lock on a writer")
	check(t, record(r, unix.F_SETLK, unix.F_RDLCK, -1, 1), unix.EINVAL, "lock at -1")
	check(t, record(r, unix.F_SETLK, unix.F_RDLCK, 5, -3), nil, "lock that goes back")
	check(t, record(r, unix.F_SETLK, unix.F_UNLCK, 0, 0), nil, "unlock of all")
}

// openFileLocks belong to the open file description, so that two of one
// process exclude each other.
func openFileLocks(t *testing.T, dir string) {
	a := makeFile(t, dir+"/file", "")
	b := open(t, dir+"/file", unix.O_RDWR)
	check(t, record(a, unix.F_OFD_SETLK, unix.F_WRLCK, 0, 10), nil, "F_OFD_SETLK by a")
	check(t, record(b, unix.F_OFD_SETLK, unix.F_WRLCK, 10, 10), nil, "F_OFD_SETLK by b beside it")
	check(t, record(b, unix.F_OFD_SETLK, unix.F_WRLCK, 5, 2), unix.EAGAIN, "F_OFD_SETLK by b on it")
	check(t, record(a, unix.F_OFD_SETLK, unix.F_RDLCK, 0, 10), nil, "F_OFD_SETLK by a, weaker")
	check(t, record(b, unix.F_OFD_SETLK, unix.F_RDLCK, 5, 2), nil, "F_OFD_SETLK by b, shared")
	check(t, record(a, unix.F_SETLK, unix.F_WRLCK, 10, 1), unix.EAGAIN, "F_SETLK against an OFD lock")
	unix.Close(b)
	check(t, record(a, unix.F_OFD_SETLK, unix.F_WRLCK, 0, 0), nil, "F_OFD_SETLK of all after b is closed")
	start(t, "record try", dir+"/file").want(t, unix.EAGAIN.Error())
}
