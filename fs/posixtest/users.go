package posixtest

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Two users without rights, each with a group of its own.
const (
	alice = 1001
	bob   = 1002
)

// as calls act with this thread's identity towards file systems changed to that
// user and group, without further groups. It needs root.
func as(t *testing.T, id int, act func()) {
	t.Helper()
	runtime.LockOSThread()
	groups, err := unix.Getgroups()
	check(t, err, nil, "getgroups")
	check(t, unix.Setgroups(nil), nil, "setgroups")
	unix.SetfsgidRetGid(id)
	unix.SetfsuidRetUid(id)
	defer func() {
		unix.SetfsuidRetUid(0)
		unix.SetfsgidRetGid(0)
		check(t, unix.Setgroups(groups), nil, "setgroups")
		runtime.UnlockOSThread()
	}()
	act()
}

// makeAs makes a file of that user's with mode 0644.
func makeAs(t *testing.T, id int, path string) {
	t.Helper()
	as(t, id, func() { makeFile(t, path, "content") })
}

// openTo lets everybody into a directory.
func openTo(t *testing.T, dir string, mode uint32) string {
	t.Helper()
	check(t, unix.Chmod(dir, mode), nil, "chmod(%q, %#o)", dir, mode)
	return dir
}

func newFilesBelongToCaller(t *testing.T, dir string) {
	openTo(t, dir, 0o777)
	as(t, alice, func() {
		makeFile(t, dir+"/file", "")
		makeDir(t, dir+"/sub")
		makeLink(t, "x", dir+"/link")
		check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
		check(t, unix.Mknod(dir+"/node", unix.S_IFREG|0o600, 0), nil, "mknod")
	})
	for _, name := range []string{"/file", "/sub", "/link", "/fifo", "/node"} {
		if st := lstat(t, dir+name); st.Uid != alice || st.Gid != alice {
			t.Errorf("owner of %s = %d:%d, want %d:%d", name, st.Uid, st.Gid, alice, alice)
		}
	}
	openTo(t, dir, 0o2777)
	makeAs(t, bob, dir+"/grouped")
	if st := lstat(t, dir+"/grouped"); st.Uid != bob || st.Gid != 0 {
		t.Errorf("owner in a set-gid directory of group 0 = %d:%d, want %d:0", st.Uid, st.Gid, bob)
	}
}

func stickyDirectory(t *testing.T, dir string) {
	openTo(t, dir, 0o1777)
	makeAs(t, alice, dir+"/alice")
	makeAs(t, bob, dir+"/bob")
	as(t, alice, func() { makeDir(t, dir+"/sub") })
	as(t, bob, func() {
		check(t, unix.Unlink(dir+"/alice"), unix.EPERM, "unlink of another's file")
		check(t, unix.Rmdir(dir+"/sub"), unix.EPERM, "rmdir of another's directory")
		check(t, unix.Rename(dir+"/alice", dir+"/mine"), unix.EPERM, "rename of another's file")
		check(t, unix.Rename(dir+"/bob", dir+"/alice"), unix.EPERM, "rename onto another's file")
		check(t, unix.Rename(dir+"/bob", dir+"/bob2"), nil, "rename of one's own")
		check(t, unix.Unlink(dir+"/bob2"), nil, "unlink of one's own")
	})
	as(t, alice, func() { check(t, unix.Unlink(dir+"/alice"), nil, "unlink by the owner") })
	openTo(t, dir, 0o777)
	as(t, bob, func() { check(t, unix.Rmdir(dir+"/sub"), nil, "rmdir without the sticky bit") })
}

func changesOfOthersFiles(t *testing.T, dir string) {
	openTo(t, dir, 0o777)
	makeAs(t, alice, dir+"/file")
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	as(t, bob, func() {
		for name, c := range map[string]struct{ got, want error }{
			"chmod":             {unix.Chmod(dir+"/file", 0o777), unix.EPERM},
			"chown":             {unix.Chown(dir+"/file", bob, -1), unix.EPERM},
			"chgrp":             {unix.Chown(dir+"/file", -1, bob), unix.EPERM},
			"utimensat":         {unix.UtimesNano(dir+"/file", []unix.Timespec{{Sec: 1}, {Sec: 1}}), unix.EPERM},
			"utimensat to now":  {unix.UtimesNano(dir+"/file", []unix.Timespec{now, now}), unix.EACCES},
			"truncate":          {unix.Truncate(dir+"/file", 0), unix.EACCES},
			"open to write":     {openErr(dir+"/file", unix.O_WRONLY), unix.EACCES},
			"open, truncating":  {openErr(dir+"/file", unix.O_RDONLY|unix.O_TRUNC), unix.EACCES},
			"setxattr":          {unix.Setxattr(dir+"/file", "user.x", nil, 0), unix.EACCES},
			"open with NOATIME": {openErr(dir+"/file", unix.O_RDONLY|unix.O_NOATIME), unix.EPERM},
			"open to read":      {openErr(dir+"/file", unix.O_RDONLY), nil},
			"unlink":            {unix.Unlink(dir + "/file"), nil}, // the directory's mode decides
		} {
			check(t, c.got, c.want, "%s", name)
		}
	})
}

func ownChanges(t *testing.T, dir string) {
	openTo(t, dir, 0o777)
	makeAs(t, alice, dir+"/file")
	as(t, alice, func() {
		check(t, unix.Chmod(dir+"/file", 0o600), nil, "chmod")
		check(t, unix.Chown(dir+"/file", alice, alice), nil, "chown to oneself")
		check(t, unix.Chown(dir+"/file", bob, -1), unix.EPERM, "chown to another")
		check(t, unix.Chown(dir+"/file", -1, bob), unix.EPERM, "chgrp to a group one is not in")
		check(t, unix.Chmod(dir+"/file", 0o2755), nil, "chmod(02755)")
		check(t, unix.UtimesNano(dir+"/file", []unix.Timespec{{Sec: 1}, {Sec: 2}}), nil, "utimensat")
		check(t, openErr(dir+"/file", unix.O_RDONLY|unix.O_NOATIME), nil, "open(O_NOATIME)")
		check(t, unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, 0x103), unix.EPERM, "mknod(S_IFCHR)")
	})
	wantMode(t, dir+"/file", unix.S_IFREG|0o2755)
	wantTimes(t, dir+"/file", unix.Timespec{Sec: 1}, unix.Timespec{Sec: 2})
	as(t, bob, func() {
		check(t, unix.Chmod(dir+"/file", 0o777), unix.EPERM, "chmod by another")
	})
}

// setGIDOfForeignGroup sets the bit on a file of a group that one is not in:
// the kernel leaves it out.
func setGIDOfForeignGroup(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	check(t, unix.Chown(dir+"/file", alice, bob), nil, "chown")
	as(t, alice, func() { check(t, unix.Chmod(dir+"/file", 0o2755), nil, "chmod(02755)") })
	wantMode(t, dir+"/file", unix.S_IFREG|0o755)
}

// modeBits opens one file as its owner, its group and somebody else.
func modeBits(t *testing.T, dir string) {
	openTo(t, dir, 0o755)
	makeFile(t, dir+"/file", "content")
	check(t, unix.Chown(dir+"/file", alice, bob), nil, "chown")
	for _, c := range []struct {
		mode        uint32
		who         int
		read, write error
	}{
		{0o600, alice, nil, nil}, {0o600, bob, unix.EACCES, unix.EACCES}, {0o600, 1003, unix.EACCES, unix.EACCES},
		{0o640, bob, nil, unix.EACCES}, {0o060, alice, unix.EACCES, unix.EACCES}, {0o060, bob, nil, nil},
		{0o604, bob, unix.EACCES, unix.EACCES}, {0o604, 1003, nil, unix.EACCES}, {0o006, 1003, nil, nil}, {0o007, alice, unix.EACCES, unix.EACCES},
	} {
		check(t, unix.Chmod(dir+"/file", c.mode), nil, "chmod(%#o)", c.mode)
		as(t, c.who, func() {
			check(t, openErr(dir+"/file", unix.O_RDONLY), c.read, "open of mode %#o to read as %d", c.mode, c.who)
			check(t, openErr(dir+"/file", unix.O_WRONLY), c.write, "open of mode %#o to write as %d", c.mode, c.who)
			check(t, openErr(dir+"/file", unix.O_RDWR|unix.O_CREAT), c.write, "open(O_CREAT) of mode %#o as %d", c.mode, c.who)
		})
	}
}

// directoryBits needs search, read and write permission on a directory.
func directoryBits(t *testing.T, dir string) {
	openTo(t, dir, 0o755)
	sub := makeDir(t, dir+"/sub")
	makeFile(t, sub+"/file", "")
	for _, c := range []struct {
		mode               uint32
		search, list, make error
	}{
		{0o700, unix.EACCES, unix.EACCES, unix.EACCES}, {0o705, nil, nil, unix.EACCES}, {0o701, nil, unix.EACCES, unix.EACCES},
		{0o704, unix.EACCES, nil, unix.EACCES}, {0o706, unix.EACCES, nil, unix.EACCES}, {0o703, nil, unix.EACCES, nil}, {0o707, nil, nil, nil},
	} {
		openTo(t, sub, c.mode)
		as(t, alice, func() {
			check(t, unix.Stat(sub+"/file", new(unix.Stat_t)), c.search, "stat below mode %#o", c.mode)
			check(t, openErr(sub, unix.O_RDONLY), c.list, "open of a directory of mode %#o", c.mode)
			check(t, unix.Rename(sub+"/file", sub+"/moved"), c.make, "rename in a directory of mode %#o", c.mode)
			if c.make == nil {
				check(t, unix.Rename(sub+"/moved", sub+"/file"), nil, "rename back")
			}
		})
	}
}
