package posixtest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func setTimes(t *testing.T, path string, atime, mtime unix.Timespec) {
	t.Helper()
	err := unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{atime, mtime}, unix.AT_SYMLINK_NOFOLLOW)
	check(t, err, nil, "utimensat(%q, %v, %v)", path, atime, mtime)
}

func wantTimes(t *testing.T, path string, atime, mtime unix.Timespec) {
	t.Helper()
	if st := lstat(t, path); st.Atim != atime || st.Mtim != mtime {
		t.Errorf("times of %q = %v, %v; want %v, %v", path, st.Atim, st.Mtim, atime, mtime)
	}
}

func utimensExact(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	makeLink(t, "file", dir+"/link")
	for _, name := range []string{"/file", "/dir", "/link"} {
		for _, ts := range [][2]unix.Timespec{
			{{Sec: 0}, {Sec: 0}}, {{Sec: 1, Nsec: 1}, {Sec: 2, Nsec: 999999999}},
			{{Sec: 1700000000, Nsec: 123456789}, {Sec: 2147483647}},
		} {
			setTimes(t, dir+name, ts[0], ts[1])
			wantTimes(t, dir+name, ts[0], ts[1])
		}
	}
}

func utimensBefore1970(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	for _, ts := range []unix.Timespec{{Sec: -1}, {Sec: -1, Nsec: 1}, {Sec: -86400 * 365, Nsec: 999999999}, {Sec: -2147483648}} {
		setTimes(t, dir+"/file", ts, ts)
		wantTimes(t, dir+"/file", ts, ts)
	}
}

// utimensAfter2106 allows for a file system whose times end in 2038, which the
// kernel then clamps to.
func utimensAfter2106(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	last := unix.Timespec{Sec: 2147483647}
	for _, ts := range []unix.Timespec{{Sec: 2147483648, Nsec: 5}, {Sec: 4294967295}, {Sec: 4294967296, Nsec: 7}, {Sec: 7258118400}} {
		setTimes(t, dir+"/file", ts, ts)
		if st := lstat(t, dir+"/file"); st.Mtim != ts && st.Mtim != last {
			t.Errorf("mtime = %v, want %v", st.Mtim, ts)
		}
	}
}

func utimensOmit(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	omit, a, b, c := unix.Timespec{Nsec: unix.UTIME_OMIT}, unix.Timespec{Sec: 1}, unix.Timespec{Sec: 2}, unix.Timespec{Sec: 3}
	setTimes(t, dir+"/file", a, b)
	setTimes(t, dir+"/file", omit, c)
	wantTimes(t, dir+"/file", a, c)
	setTimes(t, dir+"/file", b, omit)
	wantTimes(t, dir+"/file", b, c)
	_, changed := moves(t, dir+"/file", func() { setTimes(t, dir+"/file", omit, omit) })
	if changed {
		t.Error("utimensat with both times omitted changed ctime")
	}
	wantTimes(t, dir+"/file", b, c)
}

func utimensNow(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	now, old := unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Sec: 5}
	recent := func(ts unix.Timespec) bool { return time.Since(time.Unix(ts.Unix())).Abs() < time.Minute }
	for _, c := range []struct {
		give         [2]unix.Timespec
		atime, mtime bool // are set to the present time
	}{
		{[2]unix.Timespec{now, now}, true, true},
		{[2]unix.Timespec{now, old}, true, false},
		{[2]unix.Timespec{old, now}, false, true},
	} {
		setTimes(t, dir+"/file", old, old)
		setTimes(t, dir+"/file", c.give[0], c.give[1])
		st := lstat(t, dir+"/file")
		if recent(st.Atim) != c.atime || recent(st.Mtim) != c.mtime {
			t.Errorf("utimensat(%v) set %v, %v", c.give, st.Atim, st.Mtim)
		}
	}
	check(t, unix.UtimesNano(dir+"/file", []unix.Timespec{{Nsec: 1e9}, old}), unix.EINVAL, "utimensat with a second of nanoseconds")
}

func futimens(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	ts := []unix.Timespec{{Sec: 10, Nsec: 1}, {Sec: 20, Nsec: 2}}
	for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR} {
		ts[0].Sec++
		check(t, utimensFD(open(t, dir+"/file", flags), ts), nil, "futimens(%#x)", flags)
		wantTimes(t, dir+"/file", ts[0], ts[1])
	}
	check(t, utimensFD(open(t, dir, unix.O_RDONLY), ts), nil, "futimens(directory)")
	wantTimes(t, dir, ts[0], ts[1])
}

// timesMove says what each change does to the times of a file.
func timesMove(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "text")
	for _, c := range []struct {
		name         string
		mtime, ctime bool
		act          func() error
	}{
		{"stat", false, false, func() error { return unix.Access(dir+"/file", unix.F_OK) }},
		{"pwrite", true, true, func() error { _, err := unix.Pwrite(fd, []byte("x"), 0); return err }},
		{"pwrite of the same", true, true, func() error { _, err := unix.Pwrite(fd, []byte("x"), 0); return err }},
		{"ftruncate", true, true, func() error { return unix.Ftruncate(fd, 100) }},
		{"truncate", true, true, func() error { return unix.Truncate(dir+"/file", 50) }},
		{"open with O_TRUNC", true, true, func() error { return openErr(dir+"/file", unix.O_WRONLY|unix.O_TRUNC) }},
		{"fallocate", true, true, func() error { return unix.Fallocate(fd, 0, 0, 200) }},
		{"chmod", false, true, func() error { return unix.Chmod(dir+"/file", 0o600) }},
		{"chown", false, true, func() error { return unix.Chown(dir+"/file", unix.Geteuid(), -1) }},
		{"setxattr", false, true, func() error { return unix.Setxattr(dir+"/file", "user.x", []byte("1"), 0) }},
		{"link", false, true, func() error { return unix.Link(dir+"/file", dir+"/link") }},
		{"unlink", false, true, func() error { return unix.Unlink(dir + "/link") }},
		{"open for reading", false, false, func() error { return openErr(dir+"/file", unix.O_RDONLY) }},
	} {
		mtime, ctime := moves(t, dir+"/file", func() { check(t, c.act(), nil, "%s", c.name) })
		if mtime != c.mtime || ctime != c.ctime {
			t.Errorf("%s: mtime moved %t, ctime %t; want %t, %t", c.name, mtime, ctime, c.mtime, c.ctime)
		}
	}
}

// directoryTimesMove says what moves the times of the directory that holds a name.
func directoryTimesMove(t *testing.T, dir string) {
	makeFile(t, dir+"/there", "")
	for _, c := range []struct {
		name  string
		moved bool
		act   func() error
	}{
		{"creat", true, func() error { return openErr(dir+"/file", unix.O_CREAT|unix.O_WRONLY) }},
		{"creat of what is there", false, func() error { return openErr(dir+"/file", unix.O_CREAT|unix.O_WRONLY) }},
		{"chmod", false, func() error { return unix.Chmod(dir+"/file", 0o600) }},
		{"link", true, func() error { return unix.Link(dir+"/file", dir+"/link") }},
		{"rename", true, func() error { return unix.Rename(dir+"/link", dir+"/moved") }},
		{"rename over", true, func() error { return unix.Rename(dir+"/there", dir+"/file") }},
		{"unlink", true, func() error { return unix.Unlink(dir + "/moved") }},
		{"symlink", true, func() error { return unix.Symlink("x", dir+"/symlink") }},
		{"mkfifo", true, func() error { return unix.Mkfifo(dir+"/fifo", 0o600) }},
		{"mkdir", true, func() error { return unix.Mkdir(dir+"/sub", 0o755) }},
		{"creat below", false, func() error { return openErr(dir+"/sub/file", unix.O_CREAT|unix.O_WRONLY) }},
		{"rename away", true, func() error { return unix.Rename(dir+"/file", dir+"/sub/moved") }},
	} {
		mtime, ctime := moves(t, dir, func() { check(t, c.act(), nil, "%s", c.name) })
		if mtime != c.moved || ctime != c.moved {
			t.Errorf("%s: mtime moved %t, ctime %t; want %t", c.name, mtime, ctime, c.moved)
		}
	}
}

// accessTime is for file systems that keep one, if only relative to mtime.
func accessTime(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "text")
	setTimes(t, dir+"/file", unix.Timespec{Sec: 1}, unix.Timespec{Sec: 2})
	wantContent(t, dir+"/file", "text")
	if st := lstat(t, dir+"/file"); st.Atim.Sec == 1 {
		t.Error("a read left an atime that is older than mtime")
	}
}
