package posixtest

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func truncateSizes(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "0123456789")
	want := "0123456789"
	for i, size := range []int{4, 20, 20, 5000, 4097, 4096, 1, 0, 8191, 3} {
		if i%2 == 0 {
			check(t, unix.Truncate(dir+"/file", int64(size)), nil, "truncate(%d)", size)
		} else {
			check(t, unix.Ftruncate(fd, int64(size)), nil, "ftruncate(%d)", size)
		}
		want = (want + strings.Repeat("\x00", 10000))[:size]
		wantSize(t, dir+"/file", int64(size))
		wantContent(t, dir+"/file", want)
		if got := pread(t, fd, 10000, 0); got != want {
			t.Errorf("content by the descriptor differs after a truncate to %d", size)
		}
	}
}

func truncateErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
	for _, c := range []struct {
		name string
		size int64
		want error
	}{
		{"/file", -1, unix.EINVAL}, {"", 0, unix.EISDIR}, {"/none", 0, unix.ENOENT}, {"/fifo", 0, unix.EINVAL},
	} {
		check(t, unix.Truncate(dir+c.name, c.size), c.want, "truncate(%q, %d)", c.name, c.size)
	}
	check(t, unix.Ftruncate(open(t, dir+"/file", unix.O_RDONLY), 0), unix.EINVAL, "ftruncate(reader)")
	check(t, unix.Ftruncate(open(t, dir+"/file", unix.O_PATH), 0), unix.EBADF, "ftruncate(O_PATH)")
	wantContent(t, dir+"/file", "content")
}

// truncateAfterChmod cuts a file by a descriptor that is older than the loss of
// the right to write it.
func truncateAfterChmod(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	check(t, unix.Chmod(dir+"/file", 0o444), nil, "chmod(0444)")
	check(t, unix.Ftruncate(fd, 3), nil, "ftruncate")
	pwrite(t, fd, "CON", 0)
	if !isRoot() {
		check(t, unix.Truncate(dir+"/file", 0), unix.EACCES, "truncate of mode 0444")
	}
	wantContent(t, dir+"/file", "CON")
}

func holes(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	const far = 64 << 20
	pwrite(t, fd, "end", far)
	wantSize(t, dir+"/file", far+3)
	if st := fstat(t, fd); st.Blocks*512 > 1<<20 {
		t.Errorf("a file with a hole of 64 MiB takes %d KiB", st.Blocks/2)
	}
	for _, off := range []int64{0, 4095, far / 2, far - 10} {
		if got := pread(t, fd, 10, off); got != strings.Repeat("\x00", 10) {
			t.Errorf("content of the hole at %d = %q", off, got)
		}
	}
	pwrite(t, fd, "middle", far/2)
	if got := pread(t, fd, 12, far/2-3); got != "\x00\x00\x00middle\x00\x00\x00" {
		t.Errorf("content around the middle = %q", got)
	}
}

func largeOffset(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	for _, off := range []int64{1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 39} {
		pwrite(t, fd, "text", off)
		if got := pread(t, fd, 10, off); got != "text" {
			t.Errorf("content at %d = %q", off, got)
		}
		wantSize(t, dir+"/file", off+4)
	}
	_, err := unix.Pwrite(fd, []byte("x"), -1)
	check(t, err, unix.EINVAL, "pwrite at -1")
	if got := pread(t, fd, 10, 1<<40); got != "" {
		t.Errorf("content behind the end = %q", got)
	}
}

func fallocate(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	check(t, unix.Fallocate(fd, 0, 0, 8192), nil, "fallocate(0, 8192)")
	wantSize(t, dir+"/file", 8192)
	check(t, unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 8192, 100000), nil, "fallocate(KEEP_SIZE)")
	wantSize(t, dir+"/file", 8192)
	if got := pread(t, fd, 10, 0); got != "content\x00\x00\x00" {
		t.Errorf("content = %q", got)
	}
	for _, c := range [][2]int64{{-1, 10}, {0, 0}, {0, -5}} {
		check(t, unix.Fallocate(fd, 0, c[0], c[1]), unix.EINVAL, "fallocate%v", c)
	}
}

func punchHole(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", strings.Repeat("x", 3*4096))
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	check(t, unix.Fallocate(fd, mode, 4096, 4096), nil, "fallocate(PUNCH_HOLE)")
	want := strings.Repeat("x", 4096) + strings.Repeat("\x00", 4096) + strings.Repeat("x", 4096)
	wantContent(t, dir+"/file", want)
	check(t, unix.Fallocate(fd, mode, 10, 5), nil, "fallocate(PUNCH_HOLE) within a page")
	if got := pread(t, fd, 7, 9); got != "x\x00\x00\x00\x00\x00x" {
		t.Errorf("content around the small hole = %q", got)
	}
	check(t, unix.Fallocate(fd, mode, 2*4096, 1<<30), nil, "fallocate(PUNCH_HOLE) past the end")
	wantSize(t, dir+"/file", 3*4096)
	check(t, unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE, 0, 10), unix.EOPNOTSUPP, "fallocate(PUNCH_HOLE) without KEEP_SIZE")
}

func zeroRange(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", strings.Repeat("x", 100))
	check(t, unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE, 10, 80), nil, "fallocate(ZERO_RANGE)")
	want := strings.Repeat("x", 10) + strings.Repeat("\x00", 80) + strings.Repeat("x", 10)
	wantContent(t, dir+"/file", want)
	check(t, unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE|unix.FALLOC_FL_KEEP_SIZE, 90, 1000), nil, "fallocate(ZERO_RANGE|KEEP_SIZE)")
	wantSize(t, dir+"/file", 100)
	check(t, unix.Fallocate(fd, unix.FALLOC_FL_ZERO_RANGE, 0, 200), nil, "fallocate(ZERO_RANGE) past the end")
	wantContent(t, dir+"/file", strings.Repeat("\x00", 200))
}

// seekData goes through a file from data to hole: the parts follow one another,
// end with a hole at the end of the file, and what is no data reads as zeros.
func seekData(t *testing.T, dir string) {
	const size = 3<<20 + 100
	fd := makeFile(t, dir+"/file", strings.Repeat("a", 100))
	pwrite(t, fd, strings.Repeat("b", 5000), 1<<20)
	check(t, unix.Ftruncate(fd, size), nil, "ftruncate")
	check(t, unix.Fsync(fd), nil, "fsync")
	for at := int64(0); at < size; {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			data = size
		} else {
			check(t, err, nil, "lseek(%d, SEEK_DATA)", at)
		}
		if got := pread(t, fd, int(data-at), at); strings.Trim(got, "\x00") != "" {
			t.Errorf("from %d to %d there is data, where SEEK_DATA found none", at, data)
		}
		if data == size {
			break
		}
		hole, err := unix.Seek(fd, data, unix.SEEK_HOLE)
		check(t, err, nil, "lseek(%d, SEEK_HOLE)", data)
		if data < at || hole <= data || hole > size {
			t.Fatalf("from %d: data at %d, hole at %d", at, data, hole)
		}
		at = hole
	}
	_, err := unix.Seek(fd, size, unix.SEEK_DATA)
	check(t, err, unix.ENXIO, "lseek(size, SEEK_DATA)")
}

func seek(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "0123456789")
	for _, c := range []struct {
		off    int64
		whence int
		want   int64
		err    error
	}{
		{3, unix.SEEK_SET, 3, nil}, {2, unix.SEEK_CUR, 5, nil}, {-1, unix.SEEK_END, 9, nil}, {100, unix.SEEK_END, 110, nil},
		{-1, unix.SEEK_SET, -1, unix.EINVAL}, {-200, unix.SEEK_CUR, -1, unix.EINVAL}, {0, 9, -1, unix.EINVAL}, {0, unix.SEEK_CUR, 110, nil},
	} {
		got, err := unix.Seek(fd, c.off, c.whence)
		if got != c.want || err != c.err {
			t.Errorf("lseek(%d, %d) = %d, %v; want %d, %v", c.off, c.whence, got, err, c.want, c.err)
		}
	}
	write(t, fd, "x")
	wantSize(t, dir+"/file", 111)
}
