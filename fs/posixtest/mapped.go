package posixtest

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mapping maps a file until the end of the test.
func mapping(t *testing.T, fd, length, prot, flags int) []byte {
	t.Helper()
	m, err := unix.Mmap(fd, 0, length, prot, flags)
	check(t, err, nil, "mmap(%d)", length)
	t.Cleanup(func() { unix.Munmap(m) })
	return m
}

func mapShared(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", strings.Repeat("x", 10000))
	m := mapping(t, fd, 10000, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	copy(m[5000:], "mapped")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync")
	if got := pread(t, fd, 8, 4999); got != "xmappedx" {
		t.Errorf("pread after msync = %q", got)
	}
	wantSize(t, dir+"/file", 10000)
	pwrite(t, fd, "written", 100)
	if got := string(m[99:108]); got != "xwrittenx" {
		t.Errorf("the mapping after pwrite = %q", got)
	}
	other := mapping(t, open(t, dir+"/file", unix.O_RDONLY), 10000, unix.PROT_READ, unix.MAP_SHARED)
	copy(m, "both")
	if !bytes.Equal(m, other) {
		t.Error("two mappings of one file differ")
	}
}

func mapPrivate(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	m := mapping(t, open(t, dir+"/file", unix.O_RDONLY), 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	copy(m, "CON")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync")
	if got := pread(t, fd, 10, 0); got != "content" {
		t.Errorf("content after a write to a private mapping = %q", got)
	}
}

// mapOutlivesDescriptor writes to a file through a mapping alone.
func mapOutlivesDescriptor(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	fd, err := unix.Open(dir+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	m := mapping(t, fd, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	unix.Close(fd)
	copy(m, "CON")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync")
	wantContent(t, dir+"/file", "CONtent")
	check(t, unix.Unlink(dir+"/file"), nil, "unlink")
	copy(m, "xyz")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync after unlink")
	if string(m) != "xyztent" {
		t.Errorf("the mapping = %q", m)
	}
}

func mapGrows(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	check(t, unix.Ftruncate(fd, 4096), nil, "ftruncate(4096)")
	m := mapping(t, fd, 3*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	copy(m, "first")
	check(t, unix.Ftruncate(fd, 3*4096), nil, "ftruncate(12288)")
	copy(m[2*4096:], "third")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync")
	want := "first" + strings.Repeat("\x00", 2*4096-5) + "third" + strings.Repeat("\x00", 4091)
	wantContent(t, dir+"/file", want)
	check(t, unix.Ftruncate(fd, 3), nil, "ftruncate(3)")
	check(t, unix.Ftruncate(fd, 10), nil, "ftruncate(10)")
	if got := string(m[:10]); got != "fir\x00\x00\x00\x00\x00\x00\x00" {
		t.Errorf("the mapping after a cut and a growth = %q", got)
	}
}

func mapErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	for _, c := range []struct {
		name              string
		open, prot, flags int
		want              error
	}{
		{"/file", unix.O_RDONLY, unix.PROT_WRITE, unix.MAP_SHARED, unix.EACCES},
		{"/file", unix.O_WRONLY, unix.PROT_READ, unix.MAP_SHARED, unix.EACCES},
		{"/file", unix.O_WRONLY, unix.PROT_READ, unix.MAP_PRIVATE, unix.EACCES},
		{"", unix.O_RDONLY, unix.PROT_READ, unix.MAP_SHARED, unix.ENODEV},
	} {
		m, err := unix.Mmap(open(t, dir+c.name, c.open), 0, 4096, c.prot, c.flags)
		check(t, err, c.want, "mmap(%q, %#x, %#x, %#x)", c.name, c.open, c.prot, c.flags)
		if err == nil {
			unix.Munmap(m)
		}
	}
}

// mapAppend changes a mapping of a descriptor that appends: pages go where they
// are mapped, and only what is written goes to the end.
func mapAppend(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	fd := open(t, dir+"/file", unix.O_RDWR|unix.O_APPEND)
	m := mapping(t, fd, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	copy(m, "CON")
	check(t, unix.Msync(m, unix.MS_SYNC), nil, "msync")
	check(t, unix.Fsync(fd), nil, "fsync")
	wantContent(t, dir+"/file", "CONtent")
	wantSize(t, dir+"/file", 7)
	write(t, fd, "+")
	wantContent(t, dir+"/file", "CONtent+")
}
