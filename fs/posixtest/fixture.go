package posixtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// check ends the test unless a call gave the error that was wanted, which may
// be nil.
func check(t *testing.T, got, want error, call string, args ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", fmt.Sprintf(call, args...), got, want)
	}
}

// oneOf ends the test unless got is one of want.
func oneOf(t *testing.T, got error, want []error, call string) {
	t.Helper()
	if !slices.Contains(want, got) {
		t.Fatalf("%s = %v, want one of %v", call, got, want)
	}
}

// open opens a file until the end of the test; one that is made has mode 0644.
func open(t *testing.T, path string, flags int) int {
	t.Helper()
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	check(t, err, nil, "open(%q, %#x)", path, flags)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// openErr returns the error of an open.
func openErr(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// makeFile makes a file with that content and leaves it open for both.
func makeFile(t *testing.T, path, content string) int {
	t.Helper()
	fd := open(t, path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)
	if content != "" {
		write(t, fd, content)
	}
	return fd
}

func makeDir(t *testing.T, path string) string {
	t.Helper()
	check(t, unix.Mkdir(path, 0o755), nil, "mkdir(%q)", path)
	return path
}

func makeLink(t *testing.T, target, path string) {
	t.Helper()
	check(t, unix.Symlink(target, path), nil, "symlink(%q, %q)", target, path)
}

func write(t *testing.T, fd int, content string) {
	t.Helper()
	n, err := unix.Write(fd, []byte(content))
	check(t, err, nil, "write(%.20q)", content)
	if n != len(content) {
		t.Fatalf("write of %d bytes = %d", len(content), n)
	}
}

func pwrite(t *testing.T, fd int, content string, off int64) {
	t.Helper()
	n, err := unix.Pwrite(fd, []byte(content), off)
	check(t, err, nil, "pwrite(%.20q, %d)", content, off)
	if n != len(content) {
		t.Fatalf("pwrite of %d bytes at %d = %d", len(content), off, n)
	}
}

// pread returns up to n bytes from off.
func pread(t *testing.T, fd, n int, off int64) string {
	t.Helper()
	buf := make([]byte, n)
	n, err := unix.Pread(fd, buf, off)
	check(t, err, nil, "pread(%d, %d)", len(buf), off)
	return string(buf[:n])
}

// content returns the first megabyte of a file.
func content(t *testing.T, path string) string {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open(%q)", path)
	defer unix.Close(fd)
	return pread(t, fd, 1<<20, 0)
}

func wantContent(t *testing.T, path, want string) {
	t.Helper()
	if got := content(t, path); got != want {
		t.Fatalf("content of %q = %.100q, want %.100q", path, got, want)
	}
}

func lstat(t *testing.T, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	check(t, unix.Lstat(path, &st), nil, "lstat(%q)", path)
	return st
}

func fstat(t *testing.T, fd int) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	check(t, unix.Fstat(fd, &st), nil, "fstat")
	return st
}

func wantMode(t *testing.T, path string, want uint32) {
	t.Helper()
	if got := lstat(t, path).Mode; got != want {
		t.Fatalf("mode of %q = %#o, want %#o", path, got, want)
	}
}

func wantSize(t *testing.T, path string, want int64) {
	t.Helper()
	if got := lstat(t, path).Size; got != want {
		t.Fatalf("size of %q = %d, want %d", path, got, want)
	}
}

func wantLinks(t *testing.T, path string, want int) {
	t.Helper()
	if got := lstat(t, path).Nlink; int(got) != want {
		t.Fatalf("nlink of %q = %d, want %d", path, got, want)
	}
}

func wantAbsent(t *testing.T, path string) {
	t.Helper()
	var st unix.Stat_t
	check(t, unix.Lstat(path, &st), unix.ENOENT, "lstat(%q)", path)
}

// list returns the names in a directory, sorted, without "." and "..".
func list(t *testing.T, dir string) []string {
	t.Helper()
	names := readNames(t, open(t, dir, unix.O_RDONLY|unix.O_DIRECTORY))
	slices.Sort(names)
	return names
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := list(t, dir); !slices.Equal(got, want) {
		t.Fatalf("names in %q = %.200q, want %.200q", dir, got, want)
	}
}

// moves reports whether act changed the mtime and the ctime of path.
func moves(t *testing.T, path string, act func()) (mtime, ctime bool) {
	t.Helper()
	before := lstat(t, path)
	time.Sleep(12 * time.Millisecond) // file systems keep time in ticks of the kernel
	act()
	after := lstat(t, path)
	return before.Mtim != after.Mtim, before.Ctim != after.Ctim
}

// eventually ends the test unless ok comes true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within ten seconds", what)
		}
	}
}

// isRoot reports whether the process has root's rights.
func isRoot() bool { return unix.Geteuid() == 0 }
