package posixtest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func mkdirErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	makeLink(t, "nowhere", dir+"/dangling")
	for name, want := range map[string]error{
		"/file": unix.EEXIST, "/dir": unix.EEXIST, "/dir/": unix.EEXIST, "/dir/.": unix.EEXIST, "/dir/..": unix.EEXIST,
		"/dangling": unix.EEXIST, "/none/sub": unix.ENOENT, "/file/sub": unix.ENOTDIR, "/dangling/sub": unix.ENOENT,
	} {
		check(t, unix.Mkdir(dir+name, 0o755), want, "mkdir(%s)", name)
	}
	check(t, unix.Mkdir(dir+"/slash/", 0o755), nil, "mkdir(slash/)")
	wantNames(t, dir, "dangling", "dir", "file", "slash")
	wantNames(t, dir+"/slash")
}

// directoryLinks allows for file systems whose directories always have one link.
func directoryLinks(t *testing.T, dir string) {
	start := lstat(t, dir).Nlink
	want := func(subdirs uint64) {
		t.Helper()
		if got := lstat(t, dir).Nlink; got != start+subdirs && got != 1 {
			t.Errorf("nlink of a directory = %d, want %d", got, start+subdirs)
		}
	}
	makeFile(t, dir+"/file", "")
	want(0)
	makeDir(t, dir+"/a")
	makeDir(t, dir+"/a/sub")
	want(1)
	check(t, unix.Rename(dir+"/a/sub", dir+"/b"), nil, "rename(a/sub, b)")
	want(2)
	check(t, unix.Rename(dir+"/b", dir+"/a"), nil, "rename(b, a)")
	want(1)
	check(t, unix.Rmdir(dir+"/a"), nil, "rmdir(a)")
	want(0)
}

func rmdirErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/full")
	makeFile(t, dir+"/full/file", "")
	makeDir(t, dir+"/empty")
	makeLink(t, "empty", dir+"/link")
	for name, want := range map[string]error{
		"/none": unix.ENOENT, "/file": unix.ENOTDIR, "/link": unix.ENOTDIR, "/link/": unix.ENOTDIR, "/full": unix.ENOTEMPTY,
		"/empty/.": unix.EINVAL, "/empty/..": unix.ENOTEMPTY, "/file/sub": unix.ENOTDIR,
	} {
		check(t, unix.Rmdir(dir+name), want, "rmdir(%s)", name)
	}
	for name, want := range map[string]error{"/empty": unix.EISDIR, "/full": unix.EISDIR, "/none": unix.ENOENT, "/file/sub": unix.ENOTDIR} {
		check(t, unix.Unlink(dir+name), want, "unlink(%s)", name)
	}
	check(t, unix.Rmdir(dir+"/empty"), nil, "rmdir(empty)")
	wantNames(t, dir, "file", "full", "link")
}

func removedDirectory(t *testing.T, dir string) {
	fd := open(t, makeDir(t, dir+"/sub"), unix.O_RDONLY|unix.O_DIRECTORY)
	check(t, unix.Rmdir(dir+"/sub"), nil, "rmdir(sub)")
	wantAbsent(t, dir+"/sub")
	for name, err := range map[string]error{
		"openat":    openatErr(fd, "file", unix.O_CREAT|unix.O_WRONLY),
		"mkdirat":   unix.Mkdirat(fd, "sub", 0o755),
		"symlinkat": unix.Symlinkat("x", fd, "link"),
		"mknodat":   unix.Mknodat(fd, "node", unix.S_IFIFO|0o600, 0),
		"fstatat":   unix.Fstatat(fd, "file", new(unix.Stat_t), 0),
	} {
		check(t, err, unix.ENOENT, "%s in a removed directory", name)
	}
	if got := fstat(t, fd).Nlink; got != 0 {
		t.Errorf("nlink of a removed directory = %d", got)
	}
	makeDir(t, dir+"/sub")
	makeFile(t, dir+"/sub/new", "")
	check(t, unix.Fstatat(fd, "new", new(unix.Stat_t), 0), unix.ENOENT, "fstatat in the removed directory after another took its name")
}

func deepTree(t *testing.T, dir string) {
	const depth = 60
	name := "directory-with-a-name-of-some-length-so-that-the-path-gets-longer-than-any-call-takes"
	fd := open(t, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	fds := []int{fd}
	for i := range depth {
		check(t, unix.Mkdirat(fd, name, 0o755), nil, "mkdirat at depth %d", i)
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		check(t, err, nil, "openat at depth %d", i)
		defer unix.Close(next)
		fd, fds = next, append(fds, next)
	}
	check(t, openatErr(fd, "file", unix.O_CREAT|unix.O_WRONLY), nil, "openat(file) at depth %d", depth)
	check(t, unix.Unlinkat(fd, "file", 0), nil, "unlinkat(file) at depth %d", depth)
	for i := depth - 1; i >= 0; i-- {
		check(t, unix.Unlinkat(fds[i], name, unix.AT_REMOVEDIR), nil, "unlinkat at depth %d", i)
	}
	wantNames(t, dir)
}

func makeAndRemove(t *testing.T, dir string) {
	for i := range 30 {
		name := fmt.Sprintf("%s/%d", dir, i%3)
		makeDir(t, name)
		makeFile(t, name+"/file", "")
		check(t, unix.Rmdir(name), unix.ENOTEMPTY, "rmdir of a full directory")
		check(t, unix.Unlink(name+"/file"), nil, "unlink")
		check(t, unix.Rmdir(name), nil, "rmdir")
		wantAbsent(t, name)
		makeFile(t, name, "now a file")
		wantContent(t, name, "now a file")
		check(t, unix.Unlink(name), nil, "unlink")
	}
}

// openatErr returns the error of an open below a directory.
func openatErr(dir int, name string, flags int) error {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0o644)
	if err == nil {
		unix.Close(fd)
	}
	return err
}
