package bazil

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"bazil.org/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// TestReplySizes compares the sizes of replies with those of the structures of
// linux/fuse.h, and the payload of an errno with nothing.
func TestReplySizes(t *testing.T) {
	w := newWire(t, mount(t, allowAll()))
	read := func() (syscall.Errno, int) {
		buf := make([]byte, headerSize+maxReply)
		n, err := unix.Read(w.answers, buf)
		check(t, err, nil, "read of the answer")
		return syscall.Errno(-int32(order.Uint32(buf[4:]))), n - headerSize
	}
	for name, c := range map[string]struct {
		send func(errno syscall.Errno)
		size int
	}{
		"fuse_entry_out":           {func(e syscall.Errno) { w.replyEntry(e, &fs.Entry{Node: 2}) }, 128},
		"fuse_attr_out":            {func(e syscall.Errno) { w.replyAttr(e, &fs.Attr{}) }, 104},
		"fuse_open_out":            {func(e syscall.Errno) { w.replyOpen(e, &fs.Opened{}) }, 16},
		"entry and open":           {func(e syscall.Errno) { w.replyCreate(e, &fs.Entry{Node: 2}, &fs.Opened{}) }, 144},
		"fuse_statfs_out":          {func(e syscall.Errno) { w.replyStatfs(e, &backing.StatFS{}) }, 80},
		"fuse_getxattr_out":        {func(e syscall.Errno) { w.replyXattr(e, make([]byte, 1000), 0) }, 8},
		"a value":                  {func(e syscall.Errno) { w.replyXattr(e, make([]byte, 1000), 1000) }, 1000},
		"a value of the full size": {func(e syscall.Errno) { w.replyXattr(e, make([]byte, 1<<16), 1<<16) }, 1 << 16},
		"the target of a link":     {func(e syscall.Errno) { w.replyBytes(e, make([]byte, 4095)) }, 4095},
		"the largest read":         {func(e syscall.Errno) { w.reply(e, maxReply) }, 128 << 10},
		"nothing but the header":   {func(e syscall.Errno) { w.reply(e, 0) }, 0},
	} {
		c.send(0)
		if errno, size := read(); errno != 0 || size != c.size {
			t.Errorf("%s: errno %v and %d bytes, want 0 and %d", name, errno, size, c.size)
		}
		c.send(syscall.EACCES)
		if errno, size := read(); errno != syscall.EACCES || size != 0 {
			t.Errorf("%s: errno %v and %d bytes, want EACCES and 0", name, errno, size)
		}
	}
	w.replyXattr(0, make([]byte, 10), 9)
	if errno, size := read(); errno != syscall.ERANGE || size != 0 {
		t.Errorf("a value that does not fit: errno %v and %d bytes, want ERANGE", errno, size)
	}
	w.replyEntry(syscall.ENOENT, &fs.Entry{Valid: time.Second})
	if errno, size := read(); errno != 0 || size != 128 {
		t.Errorf("a name known not to exist: errno %v and %d bytes, want 0 and an entry", errno, size)
	}
	w.replyEntry(syscall.ENOENT, &fs.Entry{})
	if errno, size := read(); errno != syscall.ENOENT || size != 0 {
		t.Errorf("a hidden name: errno %v and %d bytes, want ENOENT", errno, size)
	}
}

// TestErrnoOfTheKernelsOwn has the backing fail with a number that no program
// is meant to see.
func TestErrnoOfTheKernelsOwn(t *testing.T) {
	tree := backing.NewMemory()
	tree.Fail = func(op, name string) error {
		if name == "odd" {
			return syscall.Errno(524) // ENOTSUPP of the kernel
		}
		return nil
	}
	w := mountView(t, "/memory", rootView(t, "/memory", allowAll()), tree)
	ended := make(chan error, 1)
	go func() { ended <- unix.Lstat(w.at+"/odd", new(unix.Stat_t)) }()
	select {
	case err := <-ended:
		check(t, err, syscall.EIO, "lstat")
	case <-time.After(20 * time.Second):
		unix.Unmount(w.at, unix.MNT_FORCE) // ends what waits, and fails
		t.Error("a caller waits for an answer that the kernel did not take")
	}
}

// TestPutEntry reads an entry back field by field, in the order of linux/fuse.h.
func TestPutEntry(t *testing.T) {
	b := []byte(strings.Repeat("\xff", entrySize)) // buffers are used again
	putEntry(b, &fs.Entry{Node: 5, Valid: 1500 * time.Millisecond, Attr: fs.Attr{
		Ino: 6, Size: 7, Blocks: 8, Mode: unix.S_IFREG | 0o1644, Nlink: 9, Uid: 10, Gid: 11, Rdev: 12, Blksize: 13,
		Atime: unix.Timespec{Sec: -1, Nsec: 14}, Mtime: unix.Timespec{Sec: 1 << 33, Nsec: 15}, Ctime: unix.Timespec{Sec: 16, Nsec: 17},
		Valid: 2 * time.Second,
	}})
	minus := int64(-1)
	for i, want := range []uint64{5, 0, 1, 2, 0, 6, 7, 8, uint64(minus), 1 << 33, 16} {
		at := 8 * i
		if i == 4 {
			if got := order.Uint32(b[32:]); got != 500000000 {
				t.Errorf("entry_valid_nsec = %d", got)
			}
			if got := order.Uint32(b[36:]); got != 0 {
				t.Errorf("attr_valid_nsec = %d", got)
			}
			continue
		}
		if got := order.Uint64(b[at:]); got != want {
			t.Errorf("64 bits at %d = %d, want %d", at, got, want)
		}
	}
	for i, want := range []uint32{14, 15, 17, unix.S_IFREG | 0o1644, 9, 10, 11, 12, 13, 0} {
		if got := order.Uint32(b[88+4*i:]); got != want {
			t.Errorf("32 bits at %d = %d, want %d", 88+4*i, got, want)
		}
	}
}

func TestPutDirent(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
	}{{"a", 32}, {"12345678", 32}, {"123456789", 40}, {strings.Repeat("n", 255), 280}} {
		b := []byte(strings.Repeat("\xff", 300))
		e := fs.DirEntry{Name: c.name, Ino: 7, Type: syscall.DT_REG}
		if got := putDirent(b, e, 9); got != c.size {
			t.Errorf("putDirent of %d bytes = %d, want %d", len(c.name), got, c.size)
			continue
		}
		if order.Uint64(b) != 7 || order.Uint64(b[8:]) != 9 || int(order.Uint32(b[16:])) != len(c.name) || order.Uint32(b[20:]) != syscall.DT_REG {
			t.Errorf("the entry of %q begins with % x", c.name, b[:24])
		}
		if got := string(b[24:c.size]); got != c.name+strings.Repeat("\x00", c.size-24-len(c.name)) {
			t.Errorf("the name and what pads it = %q", got)
		}
		if b[c.size] != 0xff {
			t.Errorf("putDirent of %d bytes wrote past its end", len(c.name))
		}
		if got := putDirent(b[:c.size-1], e, 9); got != 0 {
			t.Errorf("putDirent without room = %d, want 0", got)
		}
	}
}

// TestReaddirFillsTheBuffer reads a listing in buffers of a given size: each
// answer fits, and together they hold every name once.
func TestReaddirFillsTheBuffer(t *testing.T) {
	v := mount(t, allowAll())
	for i := range 50 {
		makeFile(t, v.backing+"/"+strings.Repeat("n", 5*i+1), "")
	}
	w := newWire(t, v)
	_, open := w.ask(t, &fuse.OpenRequest{Header: fuse.Header{Node: 1}, Dir: true})
	handle := fuse.HandleID(order.Uint64(open))
	for _, size := range []int{280, 300, 1000, 4096, maxReply, maxReply * 4} {
		seen := make(map[string]bool)
		for off := uint64(0); ; {
			errno, b := w.ask(t, &fuse.ReadRequest{Dir: true, Handle: handle, Size: size, Offset: int64(off)})
			if errno != 0 || len(b) > size {
				t.Fatalf("readdir of %d bytes = %v and %d bytes", size, errno, len(b))
			}
			if len(b) == 0 {
				break
			}
			for len(b) > 0 {
				n := int(order.Uint32(b[16:]))
				name := string(b[24 : 24+n])
				if seen[name] {
					t.Errorf("in buffers of %d bytes %q comes twice", size, name)
				}
				seen[name], off = true, order.Uint64(b[8:])
				b = b[(24+n+7)&^7:]
			}
		}
		if len(seen) != 52 {
			t.Errorf("in buffers of %d bytes there are %d names, want 52", size, len(seen))
		}
	}
	w.ask(t, &fuse.ReleaseRequest{Dir: true, Handle: handle})
}

// TestRawMode takes modes as the library gives them.
func TestRawMode(t *testing.T) {
	for mode, want := range map[os.FileMode]uint32{
		0o644: unix.S_IFREG | 0o644, 0o777 | os.ModeSetuid: unix.S_IFREG | 0o4777, os.ModeSetgid | 0o755: unix.S_IFREG | 0o2755,
		os.ModeDir | os.ModeSticky | 0o777: unix.S_IFDIR | 0o1777, os.ModeSymlink | 0o777: unix.S_IFLNK | 0o777,
		os.ModeNamedPipe | 0o600: unix.S_IFIFO | 0o600, os.ModeSocket | 0o600: unix.S_IFSOCK | 0o600,
		os.ModeDevice | 0o600: unix.S_IFBLK | 0o600, os.ModeDevice | os.ModeCharDevice | 0o600: unix.S_IFCHR | 0o600,
		os.ModeIrregular | 0o600: 0o600,
	} {
		if got := rawMode(mode); got != want {
			t.Errorf("rawMode(%v) = %#o, want %#o", mode, got, want)
		}
	}
}
