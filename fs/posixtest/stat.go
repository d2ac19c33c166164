package posixtest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func statFields(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "content")
	a, b := lstat(t, dir+"/file"), fstat(t, fd)
	if a != b {
		t.Errorf("lstat = %+v, fstat = %+v", a, b)
	}
	if a.Size != 7 || a.Nlink != 1 || int(a.Uid) != unix.Geteuid() || int(a.Gid) != unix.Getegid() || a.Blksize <= 0 || a.Rdev != 0 {
		t.Errorf("lstat = %+v", a)
	}
	if d := lstat(t, dir); d.Dev != a.Dev || d.Mode&unix.S_IFMT != unix.S_IFDIR {
		t.Errorf("the directory is on device %#x, the file on %#x", d.Dev, a.Dev)
	}
	check(t, unix.Fsync(fd), nil, "fsync")
	pwrite(t, fd, string(make([]byte, 100000)), 0)
	check(t, unix.Fsync(fd), nil, "fsync")
	if st := fstat(t, fd); st.Blocks*512 < 100000 {
		t.Errorf("100,000 bytes take %d blocks", st.Blocks)
	}
	var sx unix.Statx_t
	check(t, unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &sx), nil, "statx")
	if sx.Ino != a.Ino || sx.Size != 100000 || uint32(sx.Mode) != a.Mode || sx.Mask&unix.STATX_BASIC_STATS != unix.STATX_BASIC_STATS {
		t.Errorf("statx = %+v", sx)
	}
}

func birthTime(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	var sx unix.Statx_t
	check(t, unix.Statx(unix.AT_FDCWD, dir+"/file", 0, unix.STATX_BTIME, &sx), nil, "statx(STATX_BTIME)")
	if sx.Mask&unix.STATX_BTIME == 0 || sx.Btime.Sec == 0 {
		t.Errorf("statx: mask %#x, btime %v", sx.Mask, sx.Btime)
	}
}

// inodesDiffer makes many files and compares their numbers.
func inodesDiffer(t *testing.T, dir string) {
	seen := make(map[uint64]string)
	for i := range 60 {
		name := fmt.Sprintf("%s/%d", dir, i)
		switch i % 4 {
		case 0:
			makeFile(t, name, "")
		case 1:
			makeDir(t, name)
		case 2:
			makeLink(t, "x", name)
		case 3:
			check(t, unix.Mkfifo(name, 0o600), nil, "mkfifo")
		}
		ino := lstat(t, name).Ino
		if other := seen[ino]; other != "" {
			t.Errorf("%s and %s are both inode %d", other, name, ino)
		}
		seen[ino] = name
	}
	for ino, name := range seen {
		if got := lstat(t, name).Ino; got != ino {
			t.Errorf("%s was inode %d and is %d", name, ino, got)
		}
	}
}

func statfs(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	var a, b unix.Statfs_t
	check(t, unix.Statfs(dir+"/file", &a), nil, "statfs")
	check(t, unix.Fstatfs(fd, &b), nil, "fstatfs")
	if a.Type != b.Type || a.Blocks != b.Blocks || a.Bsize != b.Bsize {
		t.Errorf("statfs = %+v, fstatfs = %+v", a, b)
	}
	if a.Bsize <= 0 || a.Namelen != 255 || a.Bfree > a.Blocks || a.Bavail > a.Bfree || a.Ffree > a.Files {
		t.Errorf("statfs = %+v", a)
	}
	check(t, unix.Statfs(dir+"/none", &a), unix.ENOENT, "statfs(none)")
}

func access(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	const r, w, x = unix.R_OK, unix.W_OK, unix.X_OK
	for mode := range uint32(8) {
		check(t, unix.Chmod(dir+"/file", mode<<6), nil, "chmod(%#o)", mode<<6)
		for _, ask := range []uint32{unix.F_OK, r, w, x, r | w, r | w | x} {
			var want error
			if missing := ask &^ mode; missing != 0 && (!isRoot() || missing&x != 0) {
				want = unix.EACCES
			}
			check(t, unix.Access(dir+"/file", ask), want, "access(%d) of mode %#o", ask, mode<<6)
			check(t, unix.Faccessat2(unix.AT_FDCWD, dir+"/file", ask, unix.AT_EACCESS), want, "faccessat2(%d, AT_EACCESS) of mode %#o", ask, mode<<6)
		}
	}
	check(t, unix.Access(dir+"/none", unix.F_OK), unix.ENOENT, "access(none)")
	makeLink(t, "none", dir+"/link")
	check(t, unix.Access(dir+"/link", unix.F_OK), unix.ENOENT, "access(dangling link)")
}

// staleNever changes a file and looks by descriptor and by name after each step.
func staleNever(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	size := int64(0)
	for i := range 40 {
		switch i % 3 {
		case 0:
			pwrite(t, fd, "0123456789", size)
			size += 10
		case 1:
			size -= 3
			check(t, unix.Truncate(dir+"/file", size), nil, "truncate(%d)", size)
		case 2:
			check(t, unix.Rename(dir+"/file", dir+"/other"), nil, "rename")
			check(t, unix.Rename(dir+"/other", dir+"/file"), nil, "rename back")
		}
		if got := fstat(t, fd).Size; got != size {
			t.Fatalf("step %d: fstat = %d, want %d", i, got, size)
		}
		wantSize(t, dir+"/file", size)
		if got := len(content(t, dir+"/file")); int64(got) != size {
			t.Fatalf("step %d: %d bytes read, want %d", i, got, size)
		}
	}
}
