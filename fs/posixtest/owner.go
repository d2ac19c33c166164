package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

func chownToSelf(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	uid, gid := unix.Geteuid(), unix.Getegid()
	for _, ids := range [][2]int{{-1, -1}, {uid, -1}, {-1, gid}, {uid, gid}} {
		check(t, unix.Chown(dir+"/file", ids[0], ids[1]), nil, "chown(file, %v)", ids)
		check(t, unix.Fchown(fd, ids[0], ids[1]), nil, "fchown(%v)", ids)
	}
	if st := fstat(t, fd); int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("owner = %d:%d, want %d:%d", st.Uid, st.Gid, uid, gid)
	}
	if !isRoot() {
		check(t, unix.Chown(dir+"/file", 0, -1), unix.EPERM, "chown to root")
		check(t, unix.Fchown(fd, -1, 0), unix.EPERM, "fchown to root's group")
	}
}

func chown(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	makeLink(t, "file", dir+"/link")
	makeDir(t, dir+"/dir")
	wantOwner := func(name string, uid, gid uint32) {
		t.Helper()
		if st := lstat(t, dir+name); st.Uid != uid || st.Gid != gid {
			t.Errorf("owner of %s = %d:%d, want %d:%d", name, st.Uid, st.Gid, uid, gid)
		}
	}
	check(t, unix.Chown(dir+"/link", 1001, 1002), nil, "chown(link)")
	wantOwner("/file", 1001, 1002)
	wantOwner("/link", 0, 0)
	check(t, unix.Lchown(dir+"/link", 1003, 1004), nil, "lchown(link)")
	wantOwner("/file", 1001, 1002)
	wantOwner("/link", 1003, 1004)
	check(t, unix.Fchown(fd, 1005, -1), nil, "fchown")
	wantOwner("/file", 1005, 1002)
	check(t, unix.Chown(dir+"/dir", -1, 4294967294), nil, "chown(dir) to a large group")
	wantOwner("/dir", 0, 4294967294)
}

// chownClearsSetGID holds for root too: the kernel drops the bit of a file that
// its group may execute, and leaves directories alone.
func chownClearsSetGID(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	for _, name := range []string{"/file", "/dir"} {
		check(t, unix.Chmod(dir+name, 0o2755), nil, "chmod(%s)", name)
		check(t, unix.Chown(dir+name, 1001, 1001), nil, "chown(%s)", name)
	}
	wantMode(t, dir+"/file", unix.S_IFREG|0o755)
	wantMode(t, dir+"/dir", unix.S_IFDIR|0o2755)
}
