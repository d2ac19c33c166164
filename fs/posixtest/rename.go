package posixtest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func renameFile(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/a", "content")
	ino := fstat(t, fd).Ino
	sub := makeDir(t, dir+"/sub")
	for _, c := range [][2]string{{"/a", "/b"}, {"/b", "/sub/c"}, {"/sub/c", "/sub/d"}, {"/sub/d", "/a"}} {
		check(t, unix.Rename(dir+c[0], dir+c[1]), nil, "rename(%s, %s)", c[0], c[1])
		wantAbsent(t, dir+c[0])
		wantContent(t, dir+c[1], "content")
		if st := lstat(t, dir+c[1]); st.Ino != ino || st.Nlink != 1 {
			t.Errorf("after rename to %s: inode %d, nlink %d; want %d and 1", c[1], st.Ino, st.Nlink, ino)
		}
	}
	pwrite(t, fd, "CONTENT", 0)
	wantContent(t, dir+"/a", "CONTENT")
	wantNames(t, sub)
}

func renameOntoItself(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	makeDir(t, dir+"/sub")
	check(t, unix.Rename(dir+"/file", dir+"/file"), nil, "rename(file, file)")
	check(t, unix.Rename(dir+"/sub", dir+"/sub"), nil, "rename(sub, sub)")
	check(t, unix.Rename(dir+"/sub/", dir+"/sub"), nil, "rename(sub/, sub)")
	wantNames(t, dir, "file", "sub")
	check(t, unix.Link(dir+"/file", dir+"/sub/twin"), nil, "link(file, sub/twin)")
	check(t, unix.Rename(dir+"/file", dir+"/sub/twin"), nil, "rename onto a hard link of itself")
	wantContent(t, dir+"/file", "content")
	wantContent(t, dir+"/sub/twin", "content")
	wantLinks(t, dir+"/file", 2)
}

func renameReplaces(t *testing.T, dir string) {
	makeFile(t, dir+"/new", "new")
	old := makeFile(t, dir+"/old", "old")
	check(t, unix.Link(dir+"/old", dir+"/link"), nil, "link(old, link)")
	check(t, unix.Rename(dir+"/new", dir+"/old"), nil, "rename(new, old)")
	wantAbsent(t, dir+"/new")
	wantContent(t, dir+"/old", "new")
	wantContent(t, dir+"/link", "old")
	wantLinks(t, dir+"/link", 1)
	check(t, unix.Rename(dir+"/old", dir+"/link"), nil, "rename(old, link)")
	if got := pread(t, old, 10, 0); got != "old" || fstat(t, old).Nlink != 0 {
		t.Errorf("the replaced file = %q with nlink %d, want old and 0", got, fstat(t, old).Nlink)
	}
	makeLink(t, "nowhere", dir+"/symlink")
	check(t, unix.Rename(dir+"/link", dir+"/symlink"), nil, "rename(link, symlink)")
	wantMode(t, dir+"/symlink", unix.S_IFREG|0o644)
	wantAbsent(t, dir+"/nowhere")
	wantNames(t, dir, "symlink")
}

// replace puts a new file in the place of path n times, with numbers for content.
func replace(path string, n int) error {
	for i := range n {
		name := fmt.Sprintf("%s-new%d", path, i)
		fd, err := unix.Open(name, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return err
		}
		if _, err = unix.Write(fd, []byte(fmt.Sprint(i))); err == nil {
			err = unix.Rename(name, path)
		}
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// renameIsAtomic replaces a file again and again while it is read by name.
func renameIsAtomic(t *testing.T, dir string) {
	const times = 150
	makeFile(t, dir+"/file", "0")
	done := make(chan error, 1)
	go func() { done <- replace(dir+"/file", times) }()
	for last := 0; last < times-1; {
		var now int
		if _, err := fmt.Sscan(content(t, dir+"/file"), &now); err != nil || now < last {
			t.Fatalf("read %d after %d: %v", now, last, err)
		}
		last = now
	}
	check(t, <-done, nil, "replacing")
	wantNames(t, dir, "file")
}

func renameDirectory(t *testing.T, dir string) {
	fd := open(t, makeDir(t, dir+"/a"), unix.O_RDONLY|unix.O_DIRECTORY)
	makeDir(t, dir+"/a/sub")
	makeFile(t, dir+"/a/sub/file", "content")
	makeDir(t, dir+"/other")
	check(t, unix.Rename(dir+"/a", dir+"/other/b"), nil, "rename(a, other/b)")
	wantContent(t, dir+"/other/b/sub/file", "content")
	wantAbsent(t, dir+"/a")
	check(t, openatErr(fd, "sub/file", unix.O_RDONLY), nil, "openat below the moved directory")
	check(t, openatErr(fd, "made", unix.O_CREAT|unix.O_WRONLY), nil, "openat(O_CREAT) in the moved directory")
	wantNames(t, dir+"/other/b", "made", "sub")
	var above unix.Stat_t
	check(t, unix.Fstatat(fd, "..", &above, 0), nil, "fstatat(..)")
	if want := lstat(t, dir+"/other").Ino; above.Ino != want {
		t.Errorf("inode of .. = %d, want that of the new parent, %d", above.Ino, want)
	}
	makeDir(t, dir+"/a")
	wantNames(t, dir+"/a")
}

func renameOntoDirectory(t *testing.T, dir string) {
	makeDir(t, dir+"/full")
	makeFile(t, dir+"/full/file", "")
	makeDir(t, dir+"/other")
	makeFile(t, dir+"/other/file", "")
	empty := open(t, makeDir(t, dir+"/empty"), unix.O_RDONLY)
	oneOf(t, unix.Rename(dir+"/full", dir+"/other"), []error{unix.ENOTEMPTY, unix.EEXIST}, "rename(full, other)")
	oneOf(t, unix.Rename(dir+"/empty", dir+"/full"), []error{unix.ENOTEMPTY, unix.EEXIST}, "rename(empty, full)")
	check(t, unix.Rename(dir+"/full", dir+"/empty"), nil, "rename(full, empty)")
	wantNames(t, dir, "empty", "other")
	wantNames(t, dir+"/empty", "file")
	if got := fstat(t, empty).Nlink; got != 0 {
		t.Errorf("nlink of the replaced directory = %d, want 0", got)
	}
}

func renameErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	makeDir(t, dir+"/dir/sub")
	makeLink(t, "dir", dir+"/link")
	for _, c := range []struct {
		from, to string
		want     error
	}{
		{"/none", "/new", unix.ENOENT}, {"/none", "/file", unix.ENOENT}, {"/file", "/none/new", unix.ENOENT},
		{"/file", "/dir", unix.EISDIR}, {"/dir", "/file", unix.ENOTDIR}, {"/dir", "/link", unix.ENOTDIR},
		{"/file", "/file/new", unix.ENOTDIR}, {"/file/x", "/new", unix.ENOTDIR},
		{"/dir", "/dir/new", unix.EINVAL}, {"/dir", "/dir/sub/new", unix.EINVAL}, {"/dir", "/dir/sub", unix.EINVAL},
		{"/dir/sub", "/dir", unix.ENOTEMPTY}, {"/file", "/new/", unix.ENOTDIR}, {"/file/", "/new", unix.ENOTDIR},
		{"/dir/.", "/new", unix.EBUSY}, {"/dir/..", "/new", unix.EBUSY}, {"/file", "/dir/.", unix.EBUSY},
	} {
		check(t, unix.Rename(dir+c.from, dir+c.to), c.want, "rename(%s, %s)", c.from, c.to)
	}
	check(t, unix.Rename(dir+"/dir", dir+"/new/"), nil, "rename(dir, new/)")
	wantNames(t, dir, "file", "link", "new")
}

func renameSymlink(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	makeLink(t, "file", dir+"/link")
	check(t, unix.Rename(dir+"/link", dir+"/moved"), nil, "rename(link, moved)")
	wantMode(t, dir+"/moved", unix.S_IFLNK|0o777)
	wantContent(t, dir+"/moved", "content")
	check(t, unix.Rename(dir+"/file", dir+"/moved"), nil, "rename(file, moved)")
	wantMode(t, dir+"/moved", unix.S_IFREG|0o644)
	wantNames(t, dir, "moved")
}

func renameSpecial(t *testing.T, dir string) {
	check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
	makeFile(t, dir+"/file", "content")
	check(t, unix.Rename(dir+"/fifo", dir+"/file"), nil, "rename(fifo, file)")
	wantMode(t, dir+"/file", unix.S_IFIFO|0o600)
	wantNames(t, dir, "file")
}

func renameNoReplace(t *testing.T, dir string) {
	makeFile(t, dir+"/a", "a")
	makeFile(t, dir+"/b", "b")
	rename := func(from, to string) error {
		return unix.Renameat2(unix.AT_FDCWD, dir+from, unix.AT_FDCWD, dir+to, unix.RENAME_NOREPLACE)
	}
	check(t, rename("/a", "/b"), unix.EEXIST, "renameat2(a, b, RENAME_NOREPLACE)")
	check(t, rename("/a", "/c"), nil, "renameat2(a, c, RENAME_NOREPLACE)")
	wantContent(t, dir+"/b", "b")
	wantContent(t, dir+"/c", "a")
}

func renameExchange(t *testing.T, dir string) {
	makeFile(t, dir+"/a", "a")
	makeDir(t, dir+"/b")
	err := unix.Renameat2(unix.AT_FDCWD, dir+"/a", unix.AT_FDCWD, dir+"/b", unix.RENAME_EXCHANGE)
	check(t, err, nil, "renameat2(a, b, RENAME_EXCHANGE)")
	wantMode(t, dir+"/a", unix.S_IFDIR|0o755)
	wantContent(t, dir+"/b", "a")
}
