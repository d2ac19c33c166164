package backing

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// As runs make with this thread's file system identity set to uid and gid
// (setfsuid(2)), and with the capabilities that the daemon has: the kernel gives
// what is made to them at once, so that there is no moment at which the object
// under the name is somebody else's and about to be given away.
func (d *hostDir) As(uid, gid uint32, make func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := setIdentity(unix.SetfsgidRetGid, gid); err != nil {
		return err
	}
	defer setIdentity(unix.SetfsgidRetGid, uint32(unix.Getegid()))
	if err := setIdentity(unix.SetfsuidRetUid, uid); err != nil {
		return err
	}
	defer setIdentity(unix.SetfsuidRetUid, uint32(unix.Geteuid()))
	if err := keepCapabilities(); err != nil {
		return err
	}
	return make()
}

// setIdentity sets one id of this thread and makes sure that it was set: the
// call reports nothing but the id before.
func setIdentity(set func(int) (int, error), id uint32) error {
	set(int(id))
	if now, _ := set(-1); uint32(now) != id {
		return unix.EPERM
	}
	return nil
}

// capabilities are the daemon's, as it started with them.
var capabilities = sync.OnceValues(func() (data [2]unix.CapUserData, err error) {
	err = unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
	return data, err
})

func init() { capabilities() } // before any thread has another identity

// keepCapabilities takes back what setfsuid(2) to a user other than root took
// from this thread: the view's own checks were made before, on what it shows.
func keepCapabilities() error {
	data, err := capabilities()
	if err != nil {
		return err
	}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0])
}
