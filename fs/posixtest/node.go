package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

func mkfifo(t *testing.T, dir string) {
	name := dir + "/fifo"
	check(t, unix.Mkfifo(name, 0o640), nil, "mkfifo")
	wantMode(t, name, unix.S_IFIFO|0o640)
	check(t, unix.Mkfifo(name, 0o600), unix.EEXIST, "mkfifo again")
	check(t, openErr(name, unix.O_WRONLY|unix.O_NONBLOCK), unix.ENXIO, "open of a FIFO that nobody reads")
	r := open(t, name, unix.O_RDONLY|unix.O_NONBLOCK)
	w := open(t, name, unix.O_WRONLY|unix.O_NONBLOCK)
	write(t, w, "through the pipe")
	buf := make([]byte, 100)
	n, err := unix.Read(r, buf)
	check(t, err, nil, "read(fifo)")
	if string(buf[:n]) != "through the pipe" {
		t.Errorf("read from the FIFO = %q", buf[:n])
	}
	_, err = unix.Seek(w, 0, unix.SEEK_SET)
	check(t, err, unix.ESPIPE, "lseek(fifo)")
	check(t, unix.Unlink(name), nil, "unlink(fifo)")
	write(t, w, "still there")
}

func mknodRegular(t *testing.T, dir string) {
	check(t, unix.Mknod(dir+"/file", unix.S_IFREG|0o640, 0), nil, "mknod(S_IFREG)")
	wantMode(t, dir+"/file", unix.S_IFREG|0o640)
	check(t, unix.Mknod(dir+"/bare", 0o600, 0), nil, "mknod without a type")
	wantMode(t, dir+"/bare", unix.S_IFREG|0o600)
	check(t, unix.Mknod(dir+"/file", unix.S_IFREG|0o640, 0), unix.EEXIST, "mknod again")
	check(t, unix.Mknod(dir+"/dir", unix.S_IFDIR|0o700, 0), unix.EPERM, "mknod(S_IFDIR)")
	check(t, unix.Mknod(dir+"/x", 0o120000|0o700, 0), unix.EINVAL, "mknod(S_IFLNK)")
	pwrite(t, open(t, dir+"/file", unix.O_WRONLY), "text", 0)
	wantContent(t, dir+"/file", "text")
}

// unixSocket binds a socket to a name and talks through it. The address holds
// the name by a descriptor: it has no room for a long path.
func unixSocket(t *testing.T, dir string) {
	check(t, unix.Mknod(dir+"/node", unix.S_IFSOCK|0o600, 0), nil, "mknod(S_IFSOCK)")
	wantMode(t, dir+"/node", unix.S_IFSOCK|0o600)
	at := &unix.SockaddrUnix{Name: descriptorPath(open(t, dir, unix.O_PATH)) + "/socket"}
	server := socket(t)
	check(t, unix.Bind(server, at), nil, "bind")
	check(t, unix.Listen(server, 1), nil, "listen")
	if got := lstat(t, dir+"/socket").Mode & unix.S_IFMT; got != unix.S_IFSOCK {
		t.Errorf("type of a bound socket = %#o", got)
	}
	client := socket(t)
	check(t, unix.Connect(client, at), nil, "connect")
	accepted, _, err := unix.Accept(server)
	check(t, err, nil, "accept")
	defer unix.Close(accepted)
	write(t, client, "hello")
	buf := make([]byte, 10)
	if n, err := unix.Read(accepted, buf); err != nil || string(buf[:n]) != "hello" {
		t.Errorf("read = %q, %v", buf[:n], err)
	}
	check(t, unix.Bind(socket(t), at), unix.EADDRINUSE, "bind again")
	check(t, openErr(dir+"/socket", unix.O_RDWR), unix.ENXIO, "open(socket)")
	check(t, unix.Unlink(dir+"/socket"), nil, "unlink(socket)")
	check(t, unix.Connect(socket(t), at), unix.ENOENT, "connect after unlink")
}

func socket(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	check(t, err, nil, "socket")
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func mknodDevice(t *testing.T, dir string) {
	null := int(unix.Mkdev(1, 3))
	check(t, unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, null), nil, "mknod(S_IFCHR)")
	wantMode(t, dir+"/null", unix.S_IFCHR|0o666)
	if got := lstat(t, dir+"/null").Rdev; int(got) != null {
		t.Errorf("rdev = %#x, want %#x", got, null)
	}
	check(t, unix.Mknod(dir+"/block", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))), nil, "mknod(S_IFBLK)")
	wantMode(t, dir+"/block", unix.S_IFBLK|0o600)
}
