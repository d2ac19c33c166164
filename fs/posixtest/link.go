package posixtest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func linkSharesFile(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/a", "first")
	makeDir(t, dir+"/sub")
	check(t, unix.Link(dir+"/a", dir+"/sub/b"), nil, "link(a, sub/b)")
	a, b := lstat(t, dir+"/a"), lstat(t, dir+"/sub/b")
	if a.Ino != b.Ino || a.Nlink != 2 || b.Nlink != 2 {
		t.Errorf("inodes %d, %d with nlink %d, %d; want one with 2", a.Ino, b.Ino, a.Nlink, b.Nlink)
	}
	check(t, unix.Unlink(dir+"/a"), nil, "unlink(a)")
	wantLinks(t, dir+"/sub/b", 1)
	if got := fstat(t, fd).Nlink; got != 1 {
		t.Errorf("fstat: nlink %d after unlink of one of two names", got)
	}
	wantContent(t, dir+"/sub/b", "first")
}

// linkCoherence changes a file by one name and looks at once by the other.
func linkCoherence(t *testing.T, dir string) {
	makeFile(t, dir+"/a", "")
	check(t, unix.Link(dir+"/a", dir+"/b"), nil, "link(a, b)")
	names := []string{dir + "/a", dir + "/b"}
	var want string
	for i := range 20 {
		by, other := names[i%2], names[(i+1)%2]
		wantContent(t, other, want)
		fd := open(t, by, unix.O_WRONLY|unix.O_APPEND)
		text := fmt.Sprintf("line %d\n", i)
		write(t, fd, text)
		want += text
		wantSize(t, other, int64(len(want)))
		wantContent(t, other, want)
		check(t, unix.Chmod(by, 0o600+uint32(i)), nil, "chmod")
		wantMode(t, other, unix.S_IFREG|0o600+uint32(i))
		setTimes(t, by, unix.Timespec{Sec: 1}, unix.Timespec{Sec: int64(i)})
		wantTimes(t, other, unix.Timespec{Sec: 1}, unix.Timespec{Sec: int64(i)})
		check(t, unix.Chmod(by, 0o644), nil, "chmod")
	}
	check(t, unix.Truncate(names[0], 3), nil, "truncate(a)")
	wantContent(t, names[1], "lin")
}

func linkCoherenceOpen(t *testing.T, dir string) {
	a := makeFile(t, dir+"/a", "0123456789")
	check(t, unix.Link(dir+"/a", dir+"/b"), nil, "link(a, b)")
	b := open(t, dir+"/b", unix.O_RDWR)
	pwrite(t, a, "A", 0)
	pwrite(t, b, "B", 9)
	for _, fd := range []int{a, b} {
		if got := pread(t, fd, 20, 0); got != "A12345678B" {
			t.Errorf("content = %q", got)
		}
	}
	check(t, unix.Ftruncate(b, 4), nil, "ftruncate(b)")
	if got := pread(t, a, 20, 0); got != "A123" || fstat(t, a).Size != 4 {
		t.Errorf("content by the other name = %q after ftruncate", got)
	}
}

func linkErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	makeLink(t, "nowhere", dir+"/dangling")
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"/file", "/file", unix.EEXIST}, {"/file", "/dir", unix.EEXIST}, {"/file", "/dangling", unix.EEXIST},
		{"/none", "/new", unix.ENOENT}, {"/file", "/none/new", unix.ENOENT}, {"/file", "/file/new", unix.ENOTDIR},
		{"/dir", "/new", unix.EPERM}, {"/dir/.", "/new", unix.EPERM},
	} {
		check(t, unix.Link(dir+c.from, dir+c.to), c.want, "link(%s, %s)", c.from, c.to)
	}
	wantNames(t, dir, "dangling", "dir", "file")
	wantLinks(t, dir+"/file", 1)
}

func linkOfSymlink(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeLink(t, "file", dir+"/link")
	check(t, unix.Link(dir+"/link", dir+"/again"), nil, "link(link, again)")
	if a, b := lstat(t, dir+"/link"), lstat(t, dir+"/again"); a.Ino != b.Ino || b.Mode != unix.S_IFLNK|0o777 {
		t.Errorf("the link is inode %d, its hard link %d with mode %#o", a.Ino, b.Ino, b.Mode)
	}
	err := unix.Linkat(unix.AT_FDCWD, dir+"/link", unix.AT_FDCWD, dir+"/followed", unix.AT_SYMLINK_FOLLOW)
	check(t, err, nil, "linkat(link, AT_SYMLINK_FOLLOW)")
	wantMode(t, dir+"/followed", unix.S_IFREG|0o644)
	wantLinks(t, dir+"/file", 2)
}

func linkOfDescriptor(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "text")
	linkat := func(name string) error {
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, dir+name, unix.AT_SYMLINK_FOLLOW)
	}
	check(t, linkat("/new"), nil, "linkat of a descriptor")
	wantContent(t, dir+"/new", "text")
	wantLinks(t, dir+"/file", 2)
	check(t, unix.Unlink(dir+"/file"), nil, "unlink(file)")
	check(t, linkat("/third"), nil, "linkat of a descriptor whose first name is gone")
	check(t, unix.Unlink(dir+"/new"), nil, "unlink(new)")
	check(t, unix.Unlink(dir+"/third"), nil, "unlink(third)")
	check(t, linkat("/late"), unix.ENOENT, "linkat of a file without a name")
}

func linkMany(t *testing.T, dir string) {
	const many = 200
	name := func(i int) string { return fmt.Sprintf("%s/%d", dir, i) }
	fd := makeFile(t, name(0), "text")
	for i := 1; i < many; i++ {
		check(t, unix.Link(name(i-1), name(i)), nil, "link %d", i)
		if got := fstat(t, fd).Nlink; int(got) != i+1 {
			t.Fatalf("nlink = %d after %d links", got, i)
		}
	}
	for i := range many {
		if got := fstat(t, fd).Nlink; int(got) != many-i {
			t.Fatalf("nlink = %d after %d of %d unlinks", got, i, many)
		}
		wantContent(t, name(i), "text")
		check(t, unix.Unlink(name(i)), nil, "unlink %d", i)
	}
	if got := fstat(t, fd).Nlink; got != 0 {
		t.Errorf("nlink = %d after the last unlink", got)
	}
}

func linkOfSpecial(t *testing.T, dir string) {
	check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
	check(t, unix.Link(dir+"/fifo", dir+"/again"), nil, "link(fifo, again)")
	wantMode(t, dir+"/again", unix.S_IFIFO|0o600)
	wantLinks(t, dir+"/fifo", 2)
	check(t, unix.Unlink(dir+"/fifo"), nil, "unlink(fifo)")
	wantLinks(t, dir+"/again", 1)
}
