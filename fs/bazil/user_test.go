package bazil

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the user that tests run as beside root.
const nobody = 65534

// deviceDir names the directory that a process of TestUnprivileged makes its
// own /dev/fuse in.
const deviceDir = "SANDBOXFS_TEST_DEVICE_DIR"

// unprivileged returns the user to run as who is not root.
func unprivileged() int {
	if uid := os.Geteuid(); uid != 0 {
		return uid
	}
	return nobody
}

// asUser returns what makes a child process that user's.
func asUser(uid int) *syscall.SysProcAttr {
	if uid == os.Geteuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}

// tempDir returns a new directory that every user can walk to, as that of
// testing is not.
func tempDir(t *testing.T) string { return tempDirOf(t, os.Geteuid()) }

func tempDirOf(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandboxfs-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	return dir
}

// dropRights makes root's process that of nobody, who may open /dev/fuse as on
// every desktop. The process has a mount namespace of its own, so that nothing
// of this is seen by others, and every mount ends with it.
func dropRights(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return os.NewSyscallError("make mounts private", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return os.NewSyscallError("mount tmpfs", err)
	}
	device := filepath.Join(dir, "fuse")
	if err := unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 229))); err != nil {
		return os.NewSyscallError("mknod", err)
	}
	if err := unix.Mount(device, "/dev/fuse", "", unix.MS_BIND, ""); err != nil {
		return os.NewSyscallError("bind /dev/fuse", err)
	}
	if err := syscall.Setgroups(nil); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setgid(nobody); err != nil {
		return os.NewSyscallError("setgid", err)
	}
	if err := syscall.Setuid(nobody); err != nil {
		return os.NewSyscallError("setuid", err)
	}
	os.Unsetenv(deviceDir)
	return os.NewSyscallError("exec", syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}
