package integration

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHardLinkCoherence has both names of one file show the same content and
// attributes at once, whatever was cached through either.
func TestHardLinkCoherence(t *testing.T) {
	w := newWorld(t)
	w.write("root/a", "one\n")
	w.mkdir("root/d")
	m := w.view(allowAll)
	a, b := m.Path+"/a", m.Path+"/d/b"
	must(t, os.Link(a, b))
	for _, p := range []string{a, b} {
		if got := read(t, p); got != "one\n" {
			t.Fatalf("read(%s) = %q", p, got)
		}
	}
	must(t, appendTo(a, "two\n"))
	if got := read(t, b); got != "one\ntwo\n" {
		t.Errorf("read of the other name after an append = %q, want both lines", got)
	}
	must(t, os.Truncate(b, 4))
	must(t, os.Chmod(b, 0o600))
	var sa, sb unix.Stat_t
	must(t, unix.Stat(a, &sa))
	must(t, unix.Stat(b, &sb))
	if sa.Size != 4 || sa.Mode != sb.Mode || sa.Ino != sb.Ino || sa.Nlink != 2 || sb.Nlink != 2 {
		t.Errorf("stat of the two names = %+v and %+v, want one file of 4 bytes with 2 links", sa, sb)
	}
	must(t, os.Remove(a))
	must(t, unix.Stat(b, &sb))
	if sb.Nlink != 1 || read(t, b) != "one\n" {
		t.Errorf("after the other name's unlink: nlink %d, %q", sb.Nlink, read(t, b))
	}
}

// TestOpenFileWithoutItsName has every call on a descriptor reach its own file
// after the name was removed, or leads to another file.
func TestOpenFileWithoutItsName(t *testing.T) {
	for _, how := range []string{"unlink", "rename over", "host unlink", "host rename over"} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.write("root/f", "old content")
			w.write("root/g", "the other file")
			m := w.view(allowAll)
			fd, err := unix.Open(m.Path+"/f", unix.O_RDWR, 0)
			must(t, err)
			defer unix.Close(fd)
			dir := map[bool]string{true: m.Backing, false: m.Path}[strings.HasPrefix(how, "host")]
			if strings.HasSuffix(how, "unlink") {
				must(t, unix.Unlink(dir+"/f"))
			} else {
				must(t, unix.Rename(dir+"/g", dir+"/f"))
			}
			usable(t, fd)
			if strings.HasSuffix(how, "over") {
				eventually(t, "the file under the name", func() error { return differs(m.Path+"/f", "the other file") })
				var st unix.Stat_t
				must(t, unix.Stat(w.path("root/f"), &st))
				if st.Mode&0o777 != 0o644 || st.Size != 14 {
					t.Errorf("the other file has mode %o and %d bytes, want 644 and 14: a call reached the wrong one", st.Mode&0o777, st.Size)
				}
			}
		})
	}
}

// usable tries the calls on a descriptor whose name is gone.
func usable(t *testing.T, fd int) {
	t.Helper()
	var st unix.Stat_t
	buf := make([]byte, 100)
	_, err := unix.Pwrite(fd, []byte("new"), 0)
	wantErrno(t, "pwrite", err, 0)
	wantErrno(t, "ftruncate", unix.Ftruncate(fd, 7), 0)
	wantErrno(t, "fchmod", unix.Fchmod(fd, 0o640), 0)
	wantErrno(t, "futimens", unix.UtimesNanoAt(fd, "", []unix.Timespec{{Sec: 5}, {Sec: 6}}, unix.AT_EMPTY_PATH), 0)
	wantErrno(t, "fsetxattr", unix.Fsetxattr(fd, "user.a", []byte("v"), 0), 0)
	wantErrno(t, "fsync", unix.Fsync(fd), 0)
	wantErrno(t, "fstat", unix.Fstat(fd, &st), 0)
	n, err := unix.Pread(fd, buf, 0)
	wantErrno(t, "pread", err, 0)
	if got := string(buf[:n]); got != "new con" || st.Size != 7 || st.Nlink != 0 || st.Mode&0o777 != 0o640 || st.Mtim.Sec != 6 {
		t.Errorf("the descriptor's file = %q, size %d, nlink %d, mode %o, mtime %d, want \"new con\", 7, 0, 640, 6",
			got, st.Size, st.Nlink, st.Mode&0o777, st.Mtim.Sec)
	}
}

// TestDirectoryWithoutItsName has a directory that is open and removed behave
// as on any file system.
func TestDirectoryWithoutItsName(t *testing.T) {
	w := newWorld(t)
	w.mkdir("root/d")
	m := w.view(allowAll)
	fd, err := unix.Open(m.Path+"/d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(fd)
	must(t, unix.Rmdir(m.Path+"/d"))
	wantErrno(t, "fstat of a removed directory", unix.Fstat(fd, new(unix.Stat_t)), 0)
	_, err = unix.Openat(fd, "f", unix.O_CREAT|unix.O_WRONLY, 0o644)
	wantErrno(t, "create in a removed directory", err, unix.ENOENT)
	must(t, unix.Mkdir(m.Path+"/d", 0o755))
	wantErrno(t, "create in the next of that name", open(unix.O_CREAT|unix.O_WRONLY)(m.Path+"/d/f"), 0)
}

// TestRenameMovesWhoeverIsInside has a process keep its directory when that is
// renamed, and see the new path.
func TestRenameMovesWhoeverIsInside(t *testing.T) {
	w := newWorld(t)
	w.write("root/d/sub/f", "x")
	m := w.view(allowAll)
	got := command{dir: m.Path + "/d/sub"}.run(t, "sh", "-c", `mv "$1/d" "$1/e" && cat f && /bin/pwd && ls ..`, "sh", m.Path)
	if want := "x" + m.Path + "/e/sub\nsub\n"; got != want {
		t.Errorf("inside a renamed directory = %q, want %q", got, want)
	}
}

// TestTimes sets one of two times, the clock's, and nanoseconds.
func TestTimes(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	omit, now := unix.Timespec{Nsec: unix.UTIME_OMIT}, unix.Timespec{Nsec: unix.UTIME_NOW}
	set := func(at, mt unix.Timespec) unix.Stat_t {
		t.Helper()
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, m.Path+"/f", []unix.Timespec{at, mt}, 0))
		var view, host unix.Stat_t
		must(t, unix.Stat(m.Path+"/f", &view))
		must(t, unix.Stat(w.path("root/f"), &host))
		if view.Atim != host.Atim || view.Mtim != host.Mtim || view.Ctim != host.Ctim {
			t.Errorf("times on the view %v %v %v, on the host %v %v %v", view.Atim, view.Mtim, view.Ctim, host.Atim, host.Mtim, host.Ctim)
		}
		return view
	}
	early, late := unix.Timespec{Sec: 1000, Nsec: 123456789}, unix.Timespec{Sec: 2000, Nsec: 987654321}
	if st := set(early, late); st.Atim != early || st.Mtim != late {
		t.Errorf("both times = %v %v, want %v %v", st.Atim, st.Mtim, early, late)
	}
	if st := set(late, omit); st.Atim != late || st.Mtim != late {
		t.Errorf("mtime omitted = %v %v, want it left at %v", st.Atim, st.Mtim, late)
	}
	if st := set(omit, now); st.Atim != late || st.Mtim.Sec <= late.Sec {
		t.Errorf("atime omitted, mtime now = %v %v", st.Atim, st.Mtim)
	}
}

// TestSharedMapping writes through a shared mapping; the host and a second
// mapping see it.
func TestSharedMapping(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", strings.Repeat("a", 8192))
	m := w.view(allowAll)
	got := command{dir: m.Path}.run(t, "python3", "-c", `
import mmap
files = [open("f", "r+b") for _ in range(2)]
one, two = (mmap.mmap(f.fileno(), 0) for f in files)
one[4096:4103] = b"changed"
print(two[4096:4103].decode(), open("f").read()[4096:4103])
one.flush()
`)
	if got != "changed changed\n" {
		t.Errorf("other mapping and read = %q, want changed", got)
	}
	if got := read(t, w.path("root/f"))[4096:4103]; got != "changed" {
		t.Errorf("host = %q, want changed", got)
	}
}

// TestSpace tries fallocate, holes, SEEK_DATA, copy_file_range, O_TMPFILE and
// statfs: each works, or says that it does not. X-07.
func TestSpace(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", strings.Repeat("a", 16384))
	m := w.view(allowAll)
	fd, err := unix.Open(m.Path+"/f", unix.O_RDWR, 0)
	must(t, err)
	defer unix.Close(fd)
	wantErrno(t, "fallocate that grows", unix.Fallocate(fd, 0, 0, 32768), 0)
	wantErrno(t, "fallocate that keeps the size", unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 32768, 65536), 0)
	wantErrno(t, "punch a hole", unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE|unix.FALLOC_FL_PUNCH_HOLE, 4096, 4096), 0)
	want := strings.Repeat("a", 4096) + strings.Repeat("\x00", 4096) + strings.Repeat("a", 8192) + strings.Repeat("\x00", 16384)
	for side, dir := range map[string]string{"view": m.Path, "host": m.Backing} {
		if got := read(t, dir+"/f"); got != want {
			t.Errorf("content on the %s after fallocate differs from what it must be", side)
		}
	}
	if _, err := unix.Seek(fd, 0, unix.SEEK_DATA); err != nil {
		t.Errorf("SEEK_DATA = %v", err)
	}
	out, err := unix.Open(m.Path+"/copy", unix.O_RDWR|unix.O_CREAT, 0o644)
	must(t, err)
	defer unix.Close(out)
	n, err := unix.CopyFileRange(fd, new(int64), out, new(int64), 32768, 0)
	if err != nil || n != 32768 || read(t, m.Path+"/copy") != want {
		t.Errorf("copy_file_range = %d, %v, want 32768 bytes alike", n, err)
	}
	wantErrno(t, "open(O_TMPFILE)", open(unix.O_TMPFILE|unix.O_WRONLY)(m.Path), unix.EOPNOTSUPP)
	var view, host unix.Statfs_t
	must(t, unix.Statfs(m.Path, &view))
	must(t, unix.Statfs(m.Backing, &host))
	if view.Blocks*uint64(view.Frsize) != host.Blocks*uint64(host.Frsize) || view.Namelen != host.Namelen {
		t.Errorf("statfs = %d blocks of %d, names of %d, want the host's %d of %d, %d", view.Blocks, view.Frsize, view.Namelen, host.Blocks, host.Frsize, host.Namelen)
	}
}

// TestAttributes stores, lists, replaces and removes extended attributes, up to
// what the backing takes; ACLs are refused in the right words.
func TestAttributes(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	f, big := m.Path+"/f", bytes.Repeat([]byte("v"), 2000)
	must(t, unix.Setxattr(f, "user.big", big, unix.XATTR_CREATE))
	wantErrno(t, "setxattr(XATTR_CREATE) again", unix.Setxattr(f, "user.big", big, unix.XATTR_CREATE), unix.EEXIST)
	wantErrno(t, "setxattr(XATTR_REPLACE) of none", unix.Setxattr(f, "user.none", big, unix.XATTR_REPLACE), unix.ENODATA)
	buf := make([]byte, 4096)
	if n, err := unix.Getxattr(f, "user.big", buf); err != nil || !bytes.Equal(buf[:n], big) {
		t.Errorf("getxattr = %d bytes, %v, want 2000 alike", n, err)
	}
	if n, err := unix.Getxattr(f, "user.big", nil); err != nil || n != len(big) {
		t.Errorf("getxattr of the size = %d, %v, want 2000", n, err)
	}
	_, err := unix.Getxattr(f, "user.big", make([]byte, 10))
	wantErrno(t, "getxattr into too little", err, unix.ERANGE)
	_, err = unix.Getxattr(f, "user.none", buf)
	wantErrno(t, "getxattr of none", err, unix.ENODATA)
	must(t, unix.Removexattr(f, "user.big"))
	wantErrno(t, "removexattr of none", unix.Removexattr(f, "user.big"), unix.ENODATA)
	wantErrno(t, "set an ACL", unix.Setxattr(f, "system.posix_acl_access", []byte("\x02\x00\x00\x00"), 0), unix.EOPNOTSUPP)
}
