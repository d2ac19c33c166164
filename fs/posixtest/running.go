package posixtest

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// runningProgram: a program that runs cannot be written to, and can be removed
// and replaced.
func runningProgram(t *testing.T, dir string) {
	program, err := os.ReadFile("/proc/self/exe")
	check(t, err, nil, "read a program")
	fd, err := unix.Open(dir+"/program", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o755)
	check(t, err, nil, "open(O_CREAT)")
	for rest := program; len(rest) > 0; {
		n, err := unix.Write(fd, rest[:min(len(rest), 1<<20)])
		check(t, err, nil, "write")
		rest = rest[n:]
	}
	check(t, unix.Close(fd), nil, "close")

	makeFile(t, dir+"/held", "")
	cmd := exec.Command("/bin/sh", "-c", `exec "$0"`, dir+"/program")
	cmd.Env = append(os.Environ(), actionVariable+"=flock shared", pathVariable+"="+dir+"/held", "GORACE=atexit_sleep_ms=0")
	hold, err := cmd.StdinPipe()
	check(t, err, nil, "pipe")
	out, err := cmd.StdoutPipe()
	check(t, err, nil, "pipe")
	check(t, cmd.Start(), nil, "start")
	ended := false
	end := func() {
		if !ended {
			ended = true
			hold.Close()
			check(t, cmd.Wait(), nil, "wait for the program")
		}
	}
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "done\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	check(t, openErr(dir+"/program", unix.O_WRONLY), unix.ETXTBSY, "open(O_WRONLY)")
	check(t, openErr(dir+"/program", unix.O_RDWR), unix.ETXTBSY, "open(O_RDWR)")
	check(t, openErr(dir+"/program", unix.O_WRONLY|unix.O_TRUNC), unix.ETXTBSY, "open(O_TRUNC)")
	check(t, unix.Truncate(dir+"/program", 0), unix.ETXTBSY, "truncate")
	check(t, openErr(dir+"/program", unix.O_RDONLY), nil, "open(O_RDONLY)")
	check(t, unix.Rename(dir+"/program", dir+"/moved"), nil, "rename")
	check(t, unix.Unlink(dir+"/moved"), nil, "unlink")
	end()
	wantAbsent(t, dir+"/moved")
}

// directAndMapped writes without the page cache what a mapping shows, and through
// a mapping what is read without the page cache.
func directAndMapped(t *testing.T, dir string) {
	const page = 4096
	fd := makeFile(t, dir+"/file", string(make([]byte, 2*page)))
	direct, err := unix.Open(dir+"/file", unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err == unix.EINVAL {
		t.Log("the file system has no O_DIRECT")
		return
	}
	check(t, err, nil, "open(O_DIRECT)")
	t.Cleanup(func() { unix.Close(direct) })
	m := mapping(t, fd, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	buf, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	check(t, err, nil, "mmap")
	t.Cleanup(func() { unix.Munmap(buf) })

	copy(buf, "direct")
	_ = m[page] // the page is there before it is overwritten
	_, err = unix.Pwrite(direct, buf, page)
	check(t, err, nil, "pwrite(O_DIRECT)")
	if got := string(m[page : page+6]); got != "direct" {
		t.Errorf("the mapping after a direct write = %q", got)
	}
	if got := pread(t, fd, 6, page); got != "direct" {
		t.Errorf("pread after a direct write = %q", got)
	}
	copy(m, "mapped")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync")
	check(t, unix.Fsync(fd), nil, "fsync")
	_, err = unix.Pread(direct, buf, 0)
	check(t, err, nil, "pread(O_DIRECT)")
	if got := string(buf[:6]); got != "mapped" {
		t.Errorf("a direct read after msync = %q", got)
	}
}

// tooLarge asks for more than a file can hold.
func tooLarge(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "text")
	const most = 1<<63 - 1
	oneOf(t, unix.Truncate(dir+"/file", most), []error{nil, unix.EFBIG, unix.EINVAL}, "truncate to the largest size")
	check(t, unix.Truncate(dir+"/file", 4), nil, "truncate back")
	check(t, unix.Fallocate(fd, 0, most, 1), unix.EFBIG, "fallocate behind the largest offset")
	_, err := unix.Pwrite(fd, []byte("xx"), most-1)
	oneOf(t, err, []error{unix.EFBIG, unix.EINVAL}, "pwrite behind the largest offset")
	wantContent(t, dir+"/file", "text")
}
