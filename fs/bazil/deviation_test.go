package bazil

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs/posixtest"
)

// deviation is a test of the suite that a view does not pass, the reason, and a
// test of what happens instead.
type deviation struct {
	reason  string
	instead func(t *testing.T, dir string)
}

// deviations are those of every view; docs/semantics.md tells users.
var deviations = map[string]deviation{
	"ChmodSetUID":       {"a view is nosuid; the file would have the bit on the host", setUIDIsDropped},
	"MknodDevice":       {"a view is nodev; the device would work on the host", devicesAreRefused},
	"XattrTrusted":      {"trusted attributes are the host administrator's", foreignAttribute("trusted.x", unix.ENOTSUP)},
	"XattrCapability":   {"security attributes give a file powers on the host", foreignAttribute("security.capability", unix.ENODATA)},
	"AccessList":        {"the transport cannot negotiate access control lists", foreignAttribute("system.posix_acl_access", unix.ENOTSUP)},
	"RenameNoReplace":   {"the transport drops the flags of a rename", renameWithFlags(unix.RENAME_NOREPLACE)},
	"RenameExchange":    {"the transport drops the flags of a rename", renameWithFlags(unix.RENAME_EXCHANGE)},
	"TemporaryFile":     {"the transport does not carry O_TMPFILE", noTemporaryFile},
	"BirthTime":         {"the transport does not carry statx", noBirthTime},
	"FileFlags":         {"a forwarded ioctl would run with the daemon's rights", noFileFlags},
	"AccessTime":        {"a view keeps no access times", noAccessTime},
	"WriteClearsSetGID": {"fallocate does not say that its caller may keep set-gid", allocateClearsSetGID},
}

// deviationsOfMemory are further ones of a view of a backing in memory.
var deviationsOfMemory = map[string]deviation{
	"ZeroRange": {"the backing in memory lacks it", noZeroRange},
}

// deviationsOfOwner are further ones of a view that shows root's files as a user's.
var deviationsOfOwner = map[string]deviation{
	"ChmodBits":   {"the group on the host is not the one that is shown", ownedBits},
	"ChmodSetUID": {"the group on the host is not the one that is shown", ownedBits},
}

func TestDeviationsAreOfTheSuite(t *testing.T) {
	for _, list := range []map[string]deviation{deviations, deviationsOfMemory, deviationsOfOwner} {
		for name, d := range list {
			if posixtest.All[name] == nil && posixtest.Root[name] == nil {
				t.Errorf("there is no test %s to deviate from", name)
			}
			if d.reason == "" {
				t.Errorf("%s: a deviation needs a reason", name)
			}
		}
	}
}

// check ends the test unless a call gave the error that was wanted.
func check(t *testing.T, got, want error, call string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", call, got, want)
	}
}

// makeFile makes a file with that content.
func makeFile(t *testing.T, path, content string) {
	t.Helper()
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	check(t, err, nil, "open("+path+", O_CREAT)")
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(content))
	check(t, err, nil, "write("+path+")")
}

func lstat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	check(t, unix.Lstat(path, &st), nil, "lstat("+path+")")
	return st
}

func ownedBits(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	check(t, unix.Mkdir(dir+"/dir", 0o755), nil, "mkdir")
	for _, mode := range []uint32{0o755, 0o600, 0o4755, 0o2755, 0o6711, 0o1777, 0} {
		for name, want := range map[string]uint32{"/file": mode &^ 0o6000, "/dir": mode &^ 0o4000} {
			check(t, unix.Chmod(dir+name, mode), nil, "chmod")
			if got := lstat(t, dir+name).Mode & 0o7777; got != want {
				t.Errorf("chmod of %s to %#o makes %#o, want %#o", name, mode, got, want)
			}
		}
	}
}

func setUIDIsDropped(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	check(t, unix.Chmod(dir+"/file", 0o6755), nil, "chmod(06755)")
	check(t, unix.Mknod(dir+"/node", unix.S_IFREG|0o4755, 0), nil, "mknod(04755)")
	check(t, unix.Mkdir(dir+"/sub", 0o4755), nil, "mkdir(04755)")
	fd, err := unix.Open(dir+"/made", unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o4755)
	check(t, err, nil, "open(O_CREAT, 04755)")
	unix.Close(fd)
	for name, want := range map[string]uint32{"/file": 0o2755, "/node": 0o755, "/sub": 0o755, "/made": 0o755} {
		if got := lstat(t, dir+name).Mode & 0o7777; got != want {
			t.Errorf("mode of %s = %#o, want %#o", name, got, want)
		}
	}
}

func devicesAreRefused(t *testing.T, dir string) {
	for _, kind := range []uint32{unix.S_IFCHR, unix.S_IFBLK} {
		check(t, unix.Mknod(dir+"/device", kind|0o666, int(unix.Mkdev(1, 3))), unix.EPERM, "mknod of a device")
	}
	check(t, unix.Lstat(dir+"/device", new(unix.Stat_t)), unix.ENOENT, "lstat(device)")
}

func foreignAttribute(name string, get error) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		makeFile(t, dir+"/file", "")
		value := []byte("\x00\x00\x00\x02" + strings.Repeat("\x00", 16)) // of no capabilities: the kernel reads it
		if strings.HasPrefix(name, "system.") {
			value = []byte("\x02\x00\x00\x00") // an empty access control list
		}
		check(t, unix.Setxattr(dir+"/file", name, value, 0), unix.ENOTSUP, "setxattr("+name+")")
		_, err := unix.Getxattr(dir+"/file", name, make([]byte, 99))
		check(t, err, get, "getxattr("+name+")")
		check(t, unix.Removexattr(dir+"/file", name), unix.ENOTSUP, "removexattr("+name+")")
		if n, err := unix.Listxattr(dir+"/file", nil); n != 0 || err != nil {
			t.Errorf("listxattr = %d bytes, %v", n, err)
		}
	}
}

func renameWithFlags(flags uint) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		makeFile(t, dir+"/a", "a")
		err := unix.Renameat2(unix.AT_FDCWD, dir+"/a", unix.AT_FDCWD, dir+"/b", unix.RENAME_NOREPLACE)
		check(t, err, unix.EINVAL, "renameat2 to a new name")
		makeFile(t, dir+"/b", "bb")
		err = unix.Renameat2(unix.AT_FDCWD, dir+"/a", unix.AT_FDCWD, dir+"/b", flags)
		if err != unix.EINVAL && (flags != unix.RENAME_NOREPLACE || err != unix.EEXIST) {
			t.Errorf("renameat2(%#x) = %v", flags, err)
		}
		if a, b := lstat(t, dir+"/a"), lstat(t, dir+"/b"); a.Size != 1 || b.Size != 2 {
			t.Errorf("sizes after it = %d and %d, want 1 and 2", a.Size, b.Size)
		}
	}
}

func noTemporaryFile(t *testing.T, dir string) {
	_, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	check(t, err, unix.EOPNOTSUPP, "open(O_TMPFILE)")
}

func noBirthTime(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	var sx unix.Statx_t
	check(t, unix.Statx(unix.AT_FDCWD, dir+"/file", 0, unix.STATX_BTIME|unix.STATX_BASIC_STATS, &sx), nil, "statx")
	if sx.Mask&unix.STATX_BTIME != 0 || sx.Mask&unix.STATX_BASIC_STATS != unix.STATX_BASIC_STATS {
		t.Errorf("statx: mask %#x", sx.Mask)
	}
}

func noFileFlags(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	fd, err := unix.Open(dir+"/file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	defer unix.Close(fd)
	_, err = unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	check(t, err, unix.ENOTTY, "ioctl(FS_IOC_GETFLAGS)")
}

func noAccessTime(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "text")
	old := unix.Timespec{Sec: 1}
	check(t, unix.UtimesNano(dir+"/file", []unix.Timespec{old, {Sec: 2}}), nil, "utimensat")
	fd, err := unix.Open(dir+"/file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	defer unix.Close(fd)
	_, err = unix.Read(fd, make([]byte, 9))
	check(t, err, nil, "read")
	if got := lstat(t, dir+"/file").Atim; got != old {
		t.Errorf("atime after a read = %v, want %v", got, old)
	}
}

func allocateClearsSetGID(t *testing.T, dir string) {
	for name, act := range map[string]func(fd int) error{
		"write":     func(fd int) error { _, err := unix.Write(fd, []byte("x")); return err },
		"ftruncate": func(fd int) error { return unix.Ftruncate(fd, 1) },
		"fallocate": func(fd int) error { return unix.Fallocate(fd, 0, 0, 100) },
	} {
		fd, err := unix.Open(dir+"/"+name, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o2755)
		check(t, err, nil, "open(O_CREAT, 02755)")
		defer unix.Close(fd)
		check(t, act(fd), nil, name)
		want := uint32(0o755)
		if unix.Geteuid() == 0 && name != "fallocate" {
			want = 0o2755
		}
		if got := lstat(t, dir+"/"+name).Mode & 0o7777; got != want {
			t.Errorf("mode after %s of a file of mode 02755 = %#o, want %#o", name, got, want)
		}
	}
}

func noZeroRange(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "text")
	fd, err := unix.Open(dir+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	defer unix.Close(fd)
	check(t, unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE, 0, 2), unix.EOPNOTSUPP, "fallocate(ZERO_RANGE)")
}
