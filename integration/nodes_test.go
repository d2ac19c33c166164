package integration

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestSpecialFiles has FIFOs and sockets work between processes, and devices
// be refused, to root as well. X-07.
func TestSpecialFiles(t *testing.T) {
	w := newWorld(t)
	m := w.view(allowAll)
	got := command{dir: m.Path}.run(t, "sh", "-c", `mkfifo p && (echo through > p &) && cat p`)
	if got != "through\n" {
		t.Errorf("read from a FIFO = %q, want through", got)
	}
	if got := modeOf(t, w.path("root/p")); !strings.HasPrefix(got, "0644") {
		t.Errorf("FIFO on the host = %s, want mode 0644", got)
	}
	t.Chdir(m.Path) // the path of a socket has to be short
	l, err := net.Listen("unix", "s")
	must(t, err)
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			c.Write([]byte("hello"))
			c.Close()
		}
	}()
	c, err := net.Dial("unix", "s")
	must(t, err)
	defer c.Close()
	buf := make([]byte, 5)
	if _, err := c.Read(buf); err != nil || string(buf) != "hello" {
		t.Errorf("read from a socket = %q, %v", buf, err)
	}
	for name, mode := range map[string]uint32{"char": unix.S_IFCHR, "block": unix.S_IFBLK} {
		wantErrno(t, "mknod of a "+name+" device", unix.Mknod(name, mode|0o666, int(unix.Mkdev(1, 3))), unix.EPERM)
	}
}

// TestHostDevice has a device file that lies in the source not be opened.
func TestHostDevice(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	must(t, unix.Mknod(w.path("root/null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	m := w.view(allowAll)
	if err := open(unix.O_RDWR)(m.Path + "/null"); err == nil {
		t.Error("open of a device on the view = ok, want a refusal")
	}
}

// Requests of ioctl(2) that a forwarding daemon would run as root.
const (
	fsIocGetFlags = 0x80086601
	fsIocSetFlags = 0x40086602
	fsIocShutdown = 0x8004587d
	fsIocImmune   = 0x10 // FS_IMMUTABLE_FL
)

// TestIoctl has no ioctl reach the backing. It works on a file system of its
// own, which a forwarded shutdown would end. X-07.
func TestIoctl(t *testing.T) {
	w := newWorld(t)
	disk := w.loopFS("ext4", "disk")
	must(t, os.WriteFile(disk+"/f", []byte("x"), 0o644))
	m := w.mount(disk)
	for _, name := range []string{"/f", "/"} {
		fd, err := unix.Open(m.Path+name, unix.O_RDONLY, 0)
		must(t, err)
		flags := uint64(fsIocImmune)
		for call, request := range map[string]uintptr{"FS_IOC_SETFLAGS": fsIocSetFlags, "FS_IOC_SHUTDOWN": fsIocShutdown, "FS_IOC_GETFLAGS": fsIocGetFlags} {
			if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&flags))); e == 0 && request != fsIocGetFlags {
				t.Errorf("%s(%s) = ok, want a refusal", call, name)
			}
		}
		unix.Close(fd)
	}
	must(t, os.WriteFile(disk+"/f", []byte("still here"), 0o644))
	eventually(t, "the file system goes on", func() error { return differs(m.Path+"/f", "still here") })
}

// TestNames makes files of every kind of name, at the limit of length and
// beyond, and has a refusal of one be one harmless line. X-14.
func TestNames(t *testing.T) {
	w := newWorld(t)
	m := w.view(rule("no", "deny", "read, write", "/**/*no*"), allowAll)
	odd := []string{"new\nline", "esc\x1b[31mred", "bad\xff\xfeutf8", "ünï-漢字", " space ", "-dash", "back\\slash", `quote"'`, "*?[glob]", "..."}
	for _, name := range odd {
		must(t, os.WriteFile(m.Path+"/"+name, []byte(name), 0o644))
		if got := read(t, w.path("root")+"/"+name); got != name {
			t.Errorf("backing of %q = %q", name, got)
		}
		denied := name + "-no"
		w.write("root/"+denied, "x")
		wantErrno(t, fmt.Sprintf("open(%q)", denied), open(unix.O_RDONLY)(m.Path+"/"+denied), unix.EACCES)
	}
	got, want := names(t, m.Path), names(t, m.Backing)
	if !slices.Equal(got, want) {
		t.Errorf("list(/) = %q, want %q", got, want)
	}
	eventually(t, "an event for each refusal", func() error {
		if n := len(m.events()); n < len(odd) {
			return fmt.Errorf("%d events", n)
		}
		return nil
	})
	if written := read(t, m.audit) + m.output.text(); strings.Contains(written, "\x1b") || !utf8.ValidString(written) {
		t.Error("a raw escape or invalid byte reached the audit file or the terminal")
	}

	long := strings.Repeat("n", 255)
	must(t, os.WriteFile(m.Path+"/"+long, nil, 0o644))
	for call, err := range map[string]error{
		"open":    open(unix.O_RDONLY)(m.Path + "/" + long + "x"),
		"create":  open(unix.O_CREAT | unix.O_WRONLY)(m.Path + "/" + long + "x"),
		"mkdir":   unix.Mkdir(m.Path+"/"+long+"x", 0o755),
		"rename":  unix.Rename(m.Path+"/"+long, m.Path+"/"+long+"x"),
		"link":    unix.Link(m.Path+"/"+long, m.Path+"/"+long+"x"),
		"symlink": unix.Symlink("x", m.Path+"/"+long+"x"),
	} {
		wantErrno(t, call+" of a name of 256 bytes", err, unix.ENAMETOOLONG)
	}
}

// TestLongPaths uses a path of the greatest length that the kernel takes; on
// the host the same file's path is longer.
func TestLongPaths(t *testing.T) {
	w := newWorld(t)
	m := w.mount(w.mkdir("a-root-with-a-longer-name-than-the-mountpoint"))
	dir := m.Path
	for len(dir)+1+200 < 4095-20 {
		dir += "/" + strings.Repeat("d", 199)
		must(t, os.Mkdir(dir, 0o755))
	}
	file := dir + "/" + strings.Repeat("f", 4095-len(dir)-1)
	for call, err := range map[string]error{"create": open(unix.O_CREAT | unix.O_WRONLY)(file), "chmod": unix.Chmod(file, 0o600), "truncate": unix.Truncate(file, 3)} {
		wantErrno(t, fmt.Sprintf("%s of a path of %d bytes", call, len(file)), err, 0)
	}
	wantErrno(t, "unlink of a path of 4095 bytes", unix.Unlink(file), 0)
	must(t, os.RemoveAll(filepath.Join(m.Path, strings.Repeat("d", 199))))
}

// TestManyFiles walks and reads more files, in more directories, than the
// daemon may have descriptors.
func TestManyFiles(t *testing.T) {
	w := newWorld(t)
	const dirs, each = 1250, 20
	for i := range dirs {
		dir := w.mkdir(fmt.Sprintf("root/%03d/%d", i/25, i))
		for j := range each {
			must(t, os.WriteFile(fmt.Sprintf("%s/%d", dir, j), []byte("x"), 0o644))
		}
	}
	m := w.mount(w.path("root"), underLimit(512))
	got := command{dir: m.Path}.run(t, "sh", "-c", "find . -type f | wc -l; cat */*/* | wc -c; ls -lR . | grep -c ^-")
	if want := fmt.Sprintf("%d\n%d\n%d\n", dirs*each, dirs*each, dirs*each); got != want {
		t.Errorf("files found, bytes read, files listed = %q, want %q", got, want)
	}
}

// TestBigDirectory lists a directory of 20,000 names, whole and once each, and
// removes them while listing.
func TestBigDirectory(t *testing.T) {
	const count = 20_000
	w := newWorld(t)
	for i := range count {
		must(t, os.WriteFile(fmt.Sprintf("%s/file-%d", w.mkdir("root/big"), i), nil, 0o644))
	}
	m := w.view(allowAll)
	for range 2 {
		if got := len(dirents(t, m.Path+"/big")) - 2; got != count {
			t.Errorf("list of a big directory = %d names, want %d", got, count)
		}
	}
	command{dir: m.Path}.run(t, "rm", "-r", "big")
	if _, err := os.Lstat(w.path("root/big")); err == nil {
		t.Error("rm -r left the directory")
	}
}
