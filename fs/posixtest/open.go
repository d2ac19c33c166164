package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

func openCreate(t *testing.T, dir string) {
	const create = unix.O_CREAT | unix.O_WRONLY
	check(t, openErr(dir+"/file", unix.O_WRONLY), unix.ENOENT, "open(file)")
	check(t, openErr(dir+"/file", create|unix.O_EXCL), nil, "open(file, O_EXCL)")
	check(t, openErr(dir+"/file", create|unix.O_EXCL), unix.EEXIST, "open(file, O_EXCL) again")
	check(t, openErr(dir+"/file", create), nil, "open(file, O_CREAT) of what is there")
	makeDir(t, dir+"/dir")
	makeLink(t, "file", dir+"/link")
	makeLink(t, "target", dir+"/dangling")
	for _, name := range []string{"/dir", "/link", "/dangling"} {
		check(t, openErr(dir+name, create|unix.O_EXCL), unix.EEXIST, "open(%s, O_EXCL)", name)
	}
	wantAbsent(t, dir+"/target")
	check(t, openErr(dir+"/dangling", create), nil, "open(dangling, O_CREAT)")
	wantMode(t, dir+"/target", unix.S_IFREG|0o644)
	check(t, openErr(dir+"/dir", create), unix.EISDIR, "open(dir, O_CREAT)")
	check(t, openErr(dir+"/none/file", create), unix.ENOENT, "open(none/file, O_CREAT)")
	check(t, openErr(dir+"/file/x", create), unix.ENOTDIR, "open(file/x, O_CREAT)")
	check(t, openErr(dir+"/new/", create), unix.EISDIR, "open(new/, O_CREAT)")
	wantAbsent(t, dir+"/new")
}

func openCreateKeeps(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	check(t, unix.Chmod(dir+"/file", 0o600), nil, "chmod")
	fd, err := unix.Open(dir+"/file", unix.O_CREAT|unix.O_RDWR, 0o777)
	check(t, err, nil, "open(O_CREAT)")
	defer unix.Close(fd)
	wantMode(t, dir+"/file", unix.S_IFREG|0o600)
	if got := pread(t, fd, 20, 0); got != "content" {
		t.Errorf("content = %q after open with O_CREAT", got)
	}
}

func openTruncate(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	for _, flags := range []int{unix.O_WRONLY, unix.O_RDWR, unix.O_RDONLY, unix.O_WRONLY | unix.O_CREAT, unix.O_WRONLY | unix.O_APPEND} {
		pwrite(t, fd, "content", 0)
		check(t, openErr(dir+"/file", flags|unix.O_TRUNC), nil, "open(%#x, O_TRUNC)", flags)
		wantSize(t, dir+"/file", 0)
		if got := pread(t, fd, 20, 0); got != "" {
			t.Errorf("content after open(%#x, O_TRUNC) = %q", flags, got)
		}
	}
	pwrite(t, fd, "content", 0)
	check(t, openErr(dir+"/file", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_TRUNC), unix.EEXIST, "open(O_EXCL|O_TRUNC)")
	wantContent(t, dir+"/file", "content")
}

func openDirectory(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	sub := makeDir(t, dir+"/sub")
	makeLink(t, "sub", dir+"/link")
	for _, c := range []struct {
		name  string
		flags int
		want  error
	}{
		{"/sub", unix.O_RDONLY | unix.O_DIRECTORY, nil}, {"/link", unix.O_RDONLY | unix.O_DIRECTORY, nil},
		{"/link", unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW, unix.ENOTDIR},
		{"/file", unix.O_RDONLY | unix.O_DIRECTORY, unix.ENOTDIR}, {"/file/", unix.O_RDONLY, unix.ENOTDIR},
		{"/sub", unix.O_RDONLY, nil}, {"/sub", unix.O_WRONLY, unix.EISDIR}, {"/sub", unix.O_RDWR, unix.EISDIR},
		{"/sub", unix.O_RDONLY | unix.O_TRUNC, unix.EISDIR}, {"/none", unix.O_RDONLY | unix.O_DIRECTORY, unix.ENOENT},
	} {
		check(t, openErr(dir+c.name, c.flags), c.want, "open(%s, %#x)", c.name, c.flags)
	}
	fd := open(t, sub, unix.O_RDONLY)
	_, err := unix.Read(fd, make([]byte, 10))
	check(t, err, unix.EISDIR, "read(directory)")
	_, err = unix.Write(fd, []byte("x"))
	check(t, err, unix.EBADF, "write(directory)")
	check(t, unix.Ftruncate(fd, 0), unix.EINVAL, "ftruncate(directory)")
}

func openNoFollow(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/sub")
	makeFile(t, dir+"/sub/file", "")
	makeLink(t, "file", dir+"/link")
	makeLink(t, "sub", dir+"/dir")
	check(t, openErr(dir+"/file", unix.O_RDONLY|unix.O_NOFOLLOW), nil, "open(file, O_NOFOLLOW)")
	check(t, openErr(dir+"/link", unix.O_RDONLY|unix.O_NOFOLLOW), unix.ELOOP, "open(link, O_NOFOLLOW)")
	check(t, openErr(dir+"/link", unix.O_CREAT|unix.O_RDWR|unix.O_NOFOLLOW), unix.ELOOP, "open(link, O_CREAT|O_NOFOLLOW)")
	check(t, openErr(dir+"/dir/file", unix.O_RDONLY|unix.O_NOFOLLOW), nil, "open(dir/file, O_NOFOLLOW)")
	fd := open(t, dir+"/link", unix.O_PATH|unix.O_NOFOLLOW)
	if got := fstat(t, fd).Mode; got != unix.S_IFLNK|0o777 {
		t.Errorf("mode of a link opened with O_PATH = %#o", got)
	}
}

func openPath(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	check(t, unix.Chmod(dir+"/file", 0), nil, "chmod(0)")
	fd := open(t, dir+"/file", unix.O_PATH) // needs no permission on the file
	buf := make([]byte, 10)
	_, err := unix.Read(fd, buf)
	check(t, err, unix.EBADF, "read")
	_, err = unix.Write(fd, buf)
	check(t, err, unix.EBADF, "write")
	check(t, unix.Ftruncate(fd, 0), unix.EBADF, "ftruncate")
	check(t, unix.Fsetxattr(fd, "user.x", buf, 0), unix.EBADF, "fsetxattr")
	if st := fstat(t, fd); st.Size != 7 || st.Ino != lstat(t, dir+"/file").Ino {
		t.Errorf("fstat = size %d, inode %d", st.Size, st.Ino)
	}
	d := open(t, dir, unix.O_PATH)
	check(t, openatErr(d, "new", unix.O_CREAT|unix.O_WRONLY), nil, "openat below O_PATH")
	check(t, unix.Chmod(dir+"/file", 0o644), nil, "chmod")
	again := open(t, descriptorPath(fd), unix.O_RDONLY)
	if got := pread(t, again, 10, 0); got != "content" {
		t.Errorf("content by way of O_PATH = %q", got)
	}
}

func openAccessMode(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	buf := make([]byte, 4)
	r, w := open(t, dir+"/file", unix.O_RDONLY), open(t, dir+"/file", unix.O_WRONLY)
	_, err := unix.Write(r, buf)
	check(t, err, unix.EBADF, "write(reader)")
	check(t, unix.Ftruncate(r, 0), unix.EINVAL, "ftruncate(reader)")
	check(t, unix.Fallocate(r, 0, 0, 10), unix.EBADF, "fallocate(reader)")
	_, err = unix.Read(w, buf)
	check(t, err, unix.EBADF, "read(writer)")
	_, err = unix.Pread(w, buf, 0)
	check(t, err, unix.EBADF, "pread(writer)")
	check(t, unix.Fsync(r), nil, "fsync(reader)")
	check(t, openErr(dir+"/file", unix.O_CREAT|unix.O_DIRECTORY), unix.EINVAL, "open(O_CREAT|O_DIRECTORY)")
	wantContent(t, dir+"/file", "content")
}

// openMode0 opens what permits nothing. Root may all the same.
func openMode0(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	var want error = unix.EACCES
	if isRoot() {
		want = nil
	}
	for _, c := range []struct {
		mode  uint32
		flags int
		want  error
	}{
		{0, unix.O_RDONLY, want}, {0, unix.O_WRONLY, want}, {0o400, unix.O_WRONLY, want}, {0o200, unix.O_RDONLY, want},
		{0o200, unix.O_RDWR, want}, {0o400, unix.O_RDONLY, nil}, {0o200, unix.O_WRONLY, nil}, {0o077, unix.O_RDONLY, want},
		{0o400, unix.O_RDONLY | unix.O_TRUNC, want},
	} {
		check(t, unix.Chmod(dir+"/file", c.mode), nil, "chmod(%#o)", c.mode)
		check(t, openErr(dir+"/file", c.flags), c.want, "open(%#x) of mode %#o", c.flags, c.mode)
	}
}

func openDup(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "0123456789")
	_, err := unix.Seek(fd, 2, unix.SEEK_SET)
	check(t, err, nil, "lseek")
	twin, err := unix.Dup(fd)
	check(t, err, nil, "dup")
	other := open(t, dir+"/file", unix.O_RDONLY)
	read := func(fd int, want string) {
		t.Helper()
		buf := make([]byte, 3)
		if n, err := unix.Read(fd, buf); err != nil || string(buf[:n]) != want {
			t.Errorf("read = %q, %v; want %q", buf[:n], err, want)
		}
	}
	read(twin, "234")
	read(fd, "567")
	read(other, "012")
	check(t, unix.Close(twin), nil, "close(twin)")
	read(fd, "89")
	read(fd, "")
	check(t, unix.Close(twin), unix.EBADF, "close again")
}

func openSync(t *testing.T, dir string) {
	for _, flags := range []int{unix.O_SYNC, unix.O_DSYNC, unix.O_NOATIME, unix.O_LARGEFILE, unix.O_NONBLOCK} {
		fd := open(t, dir+"/file", unix.O_RDWR|unix.O_CREAT|flags)
		pwrite(t, fd, "text", 0)
		if got := pread(t, fd, 10, 0); got != "text" {
			t.Errorf("content with flags %#x = %q", flags, got)
		}
	}
	fd := open(t, dir+"/file", unix.O_RDWR)
	check(t, unix.Fsync(fd), nil, "fsync")
	check(t, unix.Fdatasync(fd), nil, "fdatasync")
	check(t, unix.SyncFileRange(fd, 0, 4, unix.SYNC_FILE_RANGE_WRITE), nil, "sync_file_range")
	check(t, unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED), nil, "posix_fadvise")
	check(t, unix.Fsync(open(t, dir, unix.O_RDONLY)), nil, "fsync(directory)")
	check(t, unix.Syncfs(fd), nil, "syncfs")
}

func temporaryFile(t *testing.T, dir string) {
	fd := open(t, dir, unix.O_TMPFILE|unix.O_RDWR)
	pwrite(t, fd, "text", 0)
	wantNames(t, dir)
	if got := fstat(t, fd).Nlink; got != 0 {
		t.Errorf("nlink = %d", got)
	}
}

// execute runs a script by its name.
func execute(t *testing.T, dir string) {
	script := dir + "/script"
	fd, err := unix.Open(script, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o755)
	check(t, err, nil, "open(O_CREAT)")
	write(t, fd, "#!/bin/sh\nexit 7\n")
	unix.Close(fd)
	if got := run(t, script); got != 7 {
		t.Errorf("exit code of the script = %d, want 7", got)
	}
	check(t, unix.Chmod(script, 0o644), nil, "chmod")
	if got := run(t, script); got == 7 {
		t.Error("a script without the execute bit ran")
	}
}
