package mountinfo

import (
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Dead reports whether the daemon behind the mountpoint has ended. One that
// does not answer within a second counts as alive, and so does one of another
// user who lets nobody else in: see Mount.Dead.
func Dead(point string) bool { return Mount{Point: point}.Dead() }

// Dead reports whether the daemon behind m has ended. One that does not answer
// within a second counts as alive. It asks by statfs(2), which the kernel never
// answers from what it has cached; to whom the mount does not let in it answers
// at once and says nothing, so that root asks as the user of the mount.
func (m Mount) Dead() bool {
	answer := make(chan error, 1)
	go func() {
		if os.Geteuid() == 0 && m.UID != 0 {
			runtime.LockOSThread() // for good: the thread ends with this goroutine
			if err := become(m.UID, m.GID); err != nil {
				answer <- err
				return
			}
		}
		var st unix.Statfs_t
		answer <- unix.Statfs(m.Point, &st)
	}()
	select {
	case err := <-answer:
		return errors.Is(err, unix.ENOTCONN)
	case <-time.After(time.Second):
		return false
	}
}

// become makes this thread, and no other, one of that user. Directories that
// are closed to the user stay open to it: CAP_DAC_READ_SEARCH outlives the
// change.
func become(uid, gid int) error {
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, call := range []struct{ number, id int }{{unix.SYS_SETRESGID, gid}, {unix.SYS_SETRESUID, uid}} {
		id := uintptr(call.id)
		if _, _, errno := unix.RawSyscall(uintptr(call.number), id, id, id); errno != 0 {
			return errno
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	caps := [2]unix.CapUserData{{Effective: 1 << unix.CAP_DAC_READ_SEARCH, Permitted: 1 << unix.CAP_DAC_READ_SEARCH}}
	return unix.Capset(&header, &caps[0])
}
