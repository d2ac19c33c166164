package posixtest

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func copyFileRange(t *testing.T, dir string) {
	text := strings.Repeat("0123456789", 30000)
	in := makeFile(t, dir+"/in", text)
	out := makeFile(t, dir+"/out", "start:")
	var copied int64
	for from := int64(0); ; {
		to := 6 + copied
		n, err := unix.CopyFileRange(in, &from, out, &to, 100000, 0)
		check(t, err, nil, "copy_file_range at %d", from)
		if n == 0 {
			break
		}
		copied += int64(n)
	}
	wantContent(t, dir+"/out", "start:"+text)
	from, to := int64(0), int64(5)
	_, err := unix.CopyFileRange(in, &from, in, &to, 100, 0)
	check(t, err, unix.EINVAL, "copy_file_range onto itself")
	_, err = unix.CopyFileRange(in, nil, open(t, dir+"/out", unix.O_RDONLY), nil, 10, 0)
	check(t, err, unix.EBADF, "copy_file_range to a reader")
	_, err = unix.CopyFileRange(in, nil, open(t, dir+"/out", unix.O_WRONLY|unix.O_APPEND), nil, 10, 0)
	check(t, err, unix.EBADF, "copy_file_range to an appender")
}

func sendfile(t *testing.T, dir string) {
	text := strings.Repeat("0123456789", 30000)
	in, out := makeFile(t, dir+"/in", text), makeFile(t, dir+"/out", "")
	off := int64(10)
	for off < int64(len(text)) {
		n, err := unix.Sendfile(out, in, &off, 100000)
		check(t, err, nil, "sendfile at %d", off)
		if n == 0 {
			break
		}
	}
	wantContent(t, dir+"/out", text[10:])
}

// splice takes a file through a pipe to another.
func splice(t *testing.T, dir string) {
	text := strings.Repeat("0123456789", 5000)
	in, out := makeFile(t, dir+"/in", text), makeFile(t, dir+"/out", "")
	var pipe [2]int
	check(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC), nil, "pipe2")
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	from, to := int64(0), int64(0)
	for to < int64(len(text)) {
		n, err := unix.Splice(in, &from, pipe[1], nil, 30000, 0)
		check(t, err, nil, "splice from the file at %d", from)
		for n > 0 {
			m, err := unix.Splice(pipe[0], nil, out, &to, int(n), 0)
			check(t, err, nil, "splice to the file at %d", to)
			n -= m
		}
	}
	wantContent(t, dir+"/out", text)
}

// fileFlags asks for the flags that chattr shows.
func fileFlags(t *testing.T, dir string) {
	_, err := unix.IoctlGetInt(makeFile(t, dir+"/file", ""), unix.FS_IOC_GETFLAGS)
	check(t, err, nil, "ioctl(FS_IOC_GETFLAGS)")
}
