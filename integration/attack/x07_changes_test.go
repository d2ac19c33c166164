package attack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX07_Changes", func(string, func()) []attempt {
	const f = "fixed"
	attempts := []attempt{
		{"chmod", "EACCES|EPERM", chmod(f, 0o4777)},
		{"chown", "EACCES|EPERM", func() error { return unix.Lchown(f, 1000, 1000) }},
		{"utimes", "EACCES|EPERM", func() error { return unix.Utimes(f, make([]unix.Timeval, 2)) }},
		{"utimes now", "EACCES", func() error { return unix.Utimes(f, nil) }},
		{"truncate", "EACCES", truncate(f)},
		{"open(O_WRONLY)", "EACCES", open(f, unix.O_WRONLY)},
		{"open(O_WRONLY|O_APPEND)", "EACCES", open(f, unix.O_WRONLY|unix.O_APPEND)},
		{"open(O_RDONLY|O_TRUNC)", "EACCES", open(f, unix.O_RDONLY|unix.O_TRUNC)},
		{"open(O_RDWR|O_DIRECT)", "EACCES", open(f, unix.O_RDWR|unix.O_DIRECT)},
		{"open(O_CREAT|O_RDWR)", "EACCES", open(f, unix.O_CREAT|unix.O_RDWR)},
		{"open(3)", "EACCES|EINVAL", open(f, 3)},
		{"open by O_PATH for writing", "EACCES", through(f, func(magic string) func() error { return open(magic, unix.O_RDWR) })},
		{"chmod by O_PATH", "EACCES|EPERM", through(f, func(magic string) func() error { return chmod(magic, 0o777) })},
		{"mmap of a read descriptor for writing", "EACCES", func() error {
			fd, err := unix.Open(f, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.Mmap(fd, 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		}},
		{"copy_file_range into a read descriptor", "EBADF", func() error {
			fd, err := unix.Open(f, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.CopyFileRange(fd, nil, fd, nil, 4, 0)
			return err
		}},
		{"unlink", "EACCES", unlink(f)},
		{"mkdir in a fixed directory", "EACCES", mkdir("fixed-dir/new")},
		{"rmdir of a fixed directory", "EACCES", func() error { return unix.Rmdir("fixed-dir") }},
		{"chmod of a fixed directory", "EACCES|EPERM", chmod("fixed-dir", 0o755)},
		{"ioctl FS_IOC_SETFLAGS", "ENOTTY|EPERM", ioctl(f, 0x40086602)},
		{"ioctl FS_IOC_FSSETXATTR", "ENOTTY|EPERM", ioctl(f, 0x401c5820)},
		{"ioctl FS_IOC_SETVERSION", "ENOTTY|EPERM", ioctl(f, 0x40087602)},
		{"ioctl FICLONE", "EXDEV|EBADF|EOPNOTSUPP|ENOTSUP|EINVAL|EISDIR", ioctl(f, 0x40049409)},
		{"mknod of a block device", "EPERM", func() error { return unix.Mknod("disk", unix.S_IFBLK|0o666, 0x0800) }},
		{"mknod of a character device", "EPERM", func() error { return unix.Mknod("mem", unix.S_IFCHR|0o666, 0x0101) }},
		{"mknod of a whiteout", "EPERM", func() error { return unix.Mknod("whiteout", unix.S_IFCHR, 0) }},
	}
	for _, name := range []string{"user.x", "trusted.x", "security.capability", "security.selinux", "system.posix_acl_access"} {
		attempts = append(attempts, attempt{"setxattr " + name, "EACCES|EPERM|ENOTSUP|EINVAL", setxattr(f, name, "x")})
	}
	// On a file that may be changed, what the host's administrator alone gives.
	for _, name := range []string{"trusted.x", "security.capability", "security.ima", "trusted.overlay.opaque", "system.posix_acl_default"} {
		attempts = append(attempts, attempt{"setxattr " + name + " of a free file", "EACCES|EPERM|ENOTSUP|EINVAL", setxattr("free", name, "x")})
	}
	return append(attempts, attempt{"a set-uid bit", "no bit", setUID})
})

func ioctl(path string, request uintptr) func() error {
	return func() error {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var arg [64]byte
		_, err = ioctlBytes(fd, request, arg[:])
		return err
	}
}

// setUID makes a program with the set-uid bit in every way there is, and removes it.
func setUID() error {
	for way, do := range map[string]func() error{
		"open": func() error {
			fd, err := unix.Open("program", unix.O_CREAT|unix.O_WRONLY, unix.S_ISUID|0o777)
			unix.Close(fd)
			return err
		},
		"mknod": func() error { return unix.Mknod("program", unix.S_IFREG|unix.S_ISUID|0o777, 0) },
		"chmod": func() error { return errors.Join(create("program")(), unix.Chmod("program", unix.S_ISUID|0o777)) },
	} {
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", way, err)
		}
		var st unix.Stat_t
		err := errors.Join(unix.Stat("program", &st), unix.Unlink("program"))
		if err != nil || st.Mode&unix.S_ISUID != 0 {
			return fmt.Errorf("%s made a program of mode %o: %v", way, st.Mode, err)
		}
	}
	return errors.New("no bit")
}

// TestX07_Changes changes a file that must not change, in every way but names,
// and gives powers on the host to one that may.
func TestX07_Changes(t *testing.T) {
	w := newWorld(t)
	w.write("root/fixed", "text")
	w.write("root/free", "text")
	w.write("root/fixed-dir/f", "text")
	w.policy("agent", rule("fixed", "deny", "write, create, delete", "/fixed", "/fixed-dir/**"), allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	attack(t, w, v, nil, nil)
}

// TestX07_SetGroupIDOfOwner has a user, whose files belong to root on the host
// by the owner mapping, make a program that gives root's group to whoever runs it.
func TestX07_SetGroupIDOfOwner(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	v := w.mount(w.profile("p.yaml", "root: ./root\nowner: {uid: 1000, gid: 1000}\nguards: []\n"), launch{})
	as(t, 1000, func() {
		must(t, create(v.Path+"/program")())
		unix.Chmod(v.Path+"/program", 0o2755)
	})
	var st unix.Stat_t
	must(t, unix.Stat(w.path("root/program"), &st))
	if st.Mode&unix.S_ISGID != 0 {
		t.Errorf("the program of uid 1000 is on the host %o, of group %d: whoever runs it is in that group", st.Mode, st.Gid)
	}
}

// TestX07_AccessControlList reads and writes as somebody whom only a list keeps
// from it: a view must not show more rights than there are.
func TestX07_AccessControlList(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	f := w.write("root/f", "text")
	must(t, os.Chown(f, 0, 2000))
	acl := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, ^uint32(0)}, {2, 6, 3000}, {4, 0, ^uint32(0)}, {16, 6, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		acl = binary.LittleEndian.AppendUint16(acl, e.tag)
		acl = binary.LittleEndian.AppendUint16(acl, e.perm)
		acl = binary.LittleEndian.AppendUint32(acl, e.id)
	}
	if err := unix.Setxattr(f, "system.posix_acl_access", acl, 0); err != nil {
		t.Skip("no access control lists: ", err)
	}
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	as(t, 2000, func() {
		for _, path := range []string{f, v.Path + "/f"} {
			if got := errnoName(open(path, unix.O_RDWR)()); got != "EACCES" {
				t.Errorf("open(%s) by a group whose entry is --- = %s, want EACCES", path, got)
			}
		}
	})
}

// TestX07_MountFlags has the kernel heed no set-uid bit and open no device of
// the host through the view.
func TestX07_MountFlags(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	for _, flag := range []struct {
		name string
		bit  int64
	}{{"nosuid", unix.ST_NOSUID}, {"nodev", unix.ST_NODEV}} {
		var st syscall.Statfs_t
		must(t, syscall.Statfs(v.Path, &st))
		if st.Flags&flag.bit == 0 {
			t.Errorf("the view is not %s", flag.name)
		}
	}
}
