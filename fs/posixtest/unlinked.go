package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// useNameless does to a descriptor whatever can be done to a file that has no
// name any more.
func useNameless(t *testing.T, fd int) {
	t.Helper()
	if st := fstat(t, fd); st.Nlink != 0 || st.Size != 7 {
		t.Errorf("fstat = nlink %d, size %d; want 0 and 7", st.Nlink, st.Size)
	}
	if got := pread(t, fd, 20, 0); got != "content" {
		t.Errorf("content = %q", got)
	}
	pwrite(t, fd, "CONTENT and more", 0)
	check(t, unix.Ftruncate(fd, 11), nil, "ftruncate")
	check(t, unix.Fchmod(fd, 0o604), nil, "fchmod")
	check(t, unix.Fchown(fd, unix.Geteuid(), unix.Getegid()), nil, "fchown")
	check(t, utimensFD(fd, []unix.Timespec{{Sec: 1}, {Sec: 2, Nsec: 3}}), nil, "futimens")
	check(t, unix.Fsetxattr(fd, "user.x", []byte("1"), 0), nil, "fsetxattr")
	if got := getxattr(t, descriptorPath(fd), "user.x"); got != "1" {
		t.Errorf("the attribute = %q", got)
	}
	check(t, unix.Fremovexattr(fd, "user.x"), nil, "fremovexattr")
	check(t, utimensFD(fd, []unix.Timespec{{Sec: 1}, {Sec: 2, Nsec: 3}}), nil, "futimens")
	st := fstat(t, fd)
	if st.Mode != unix.S_IFREG|0o604 || st.Size != 11 || (st.Mtim != unix.Timespec{Sec: 2, Nsec: 3}) || st.Nlink != 0 {
		t.Errorf("fstat = mode %#o, size %d, mtime %v, nlink %d", st.Mode, st.Size, st.Mtim, st.Nlink)
	}
	check(t, unix.Fallocate(fd, 0, 0, 5000), nil, "fallocate")
	check(t, unix.Fsync(fd), nil, "fsync")
	if got := pread(t, fd, 11, 0); got != "CONTENT and" {
		t.Errorf("content = %q", got)
	}
}

func unlinkedFile(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	check(t, unix.Unlink(dir+"/file"), nil, "unlink")
	wantAbsent(t, dir+"/file")
	makeFile(t, dir+"/file", "another")
	useNameless(t, fd)
	wantContent(t, dir+"/file", "another")
	wantMode(t, dir+"/file", unix.S_IFREG|0o644)
}

func replacedFile(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	makeFile(t, dir+"/new", "another")
	check(t, unix.Rename(dir+"/new", dir+"/file"), nil, "rename(new, file)")
	useNameless(t, fd)
	wantContent(t, dir+"/file", "another")
	wantMode(t, dir+"/file", unix.S_IFREG|0o644)
	if got := lstat(t, dir+"/file").Size; got != 7 {
		t.Errorf("size of the new file = %d", got)
	}
}

// unlinkedByOtherName removes both names of a file, the second by another way
// than the one it was opened by.
func unlinkedByOtherName(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/a", "content")
	sub := makeDir(t, dir+"/sub")
	check(t, unix.Link(dir+"/a", sub+"/b"), nil, "link(a, sub/b)")
	check(t, unix.Unlink(dir+"/a"), nil, "unlink(a)")
	check(t, unix.Rename(sub+"/b", sub+"/c"), nil, "rename(b, c)")
	pwrite(t, fd, "CONTENT", 0)
	wantContent(t, sub+"/c", "CONTENT")
	pwrite(t, fd, "content", 0)
	check(t, unix.Unlink(sub+"/c"), nil, "unlink(c)")
	useNameless(t, fd)
}

// unlinkedReader has only a descriptor that reads.
func unlinkedReader(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	fd := open(t, dir+"/file", unix.O_RDONLY)
	check(t, unix.Unlink(dir+"/file"), nil, "unlink")
	check(t, unix.Fchmod(fd, 0o600), nil, "fchmod")
	check(t, unix.Fsetxattr(fd, "user.x", []byte("1"), 0), nil, "fsetxattr")
	if got := pread(t, fd, 20, 0); got != "content" {
		t.Errorf("content = %q", got)
	}
	if st := fstat(t, fd); st.Mode != unix.S_IFREG|0o600 || st.Nlink != 0 {
		t.Errorf("fstat = mode %#o, nlink %d", st.Mode, st.Nlink)
	}
	again := open(t, descriptorPath(fd), unix.O_RDWR)
	pwrite(t, again, "CON", 0)
	if got := pread(t, fd, 20, 0); got != "CONtent" {
		t.Errorf("content after a write by way of /proc = %q", got)
	}
}

// unlinkedPath holds a file by a descriptor that opened nothing.
func unlinkedPath(t *testing.T, dir string) {
	check(t, openErr(dir+"/file", unix.O_CREAT|unix.O_WRONLY), nil, "open(O_CREAT)")
	fd := open(t, dir+"/file", unix.O_PATH)
	check(t, unix.Unlink(dir+"/file"), nil, "unlink")
	if got := fstat(t, fd).Nlink; got != 0 {
		t.Errorf("nlink = %d", got)
	}
	check(t, openErr(descriptorPath(fd), unix.O_RDONLY), nil, "open by way of /proc")
}

func unlinkSpecial(t *testing.T, dir string) {
	check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
	makeLink(t, "target", dir+"/link")
	makeFile(t, dir+"/target", "")
	check(t, unix.Unlink(dir+"/link"), nil, "unlink(link)")
	check(t, unix.Unlink(dir+"/fifo"), nil, "unlink(fifo)")
	wantNames(t, dir, "target")
	check(t, unix.Unlink(dir+"/target/"), unix.ENOTDIR, "unlink(target/)")
	check(t, unix.Unlink(dir+"/target"), nil, "unlink(target)")
	check(t, unix.Unlink(dir+"/target"), unix.ENOENT, "unlink again")
}

// descriptorsOutliveNames holds many files open that share one name in turn: an
// inode number may be used again as soon as the last descriptor is closed.
func descriptorsOutliveNames(t *testing.T, dir string) {
	var fds []int
	for i := range 20 {
		fd := makeFile(t, dir+"/file", string(rune('a'+i)))
		fds = append(fds, fd)
		check(t, unix.Unlink(dir+"/file"), nil, "unlink")
		if i%4 == 3 {
			unix.Close(fds[0])
			fds = fds[1:]
		}
	}
	for i, fd := range fds {
		if got := pread(t, fd, 5, 0); got != string(rune('a'+i+5)) {
			t.Errorf("content of descriptor %d = %q", i, got)
		}
	}
}
