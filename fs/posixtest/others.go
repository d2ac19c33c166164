package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// stickyOwners removes and moves in a sticky directory as the owner of the
// directory, of the file, and of neither.
func stickyOwners(t *testing.T, dir string) {
	openTo(t, dir, 0o755)
	sticky, free := makeDir(t, dir+"/sticky"), makeDir(t, dir+"/free")
	check(t, unix.Chown(sticky, alice, alice), nil, "chown")
	openTo(t, sticky, 0o1777)
	openTo(t, free, 0o777)
	for _, kind := range []string{"file", "dir", "link"} {
		for _, c := range []struct {
			of, by int
			want   error
		}{{bob, alice, nil}, {bob, bob, nil}, {bob, 1003, unix.EPERM}, {1003, bob, unix.EPERM}} {
			name := sticky + "/" + kind
			as(t, c.of, func() { makeKind(t, kind, name) })
			as(t, c.by, func() {
				// A directory's .. changes with its place: that needs write on it too.
				away := c.want
				if kind == "dir" && c.by != c.of {
					away = unix.EACCES
					if c.want != nil {
						away = c.want
					}
				}
				check(t, unix.Rename(name, free+"/away"), away, "rename away of %s of %d as %d", kind, c.of, c.by)
				if away == nil {
					check(t, unix.Rename(free+"/away", name), nil, "rename back")
				}
				check(t, removeKind(kind, name), c.want, "removal of %s of %d as %d", kind, c.of, c.by)
			})
			if c.want != nil {
				check(t, removeKind(kind, name), nil, "removal as root")
			}
		}
	}
}

func makeKind(t *testing.T, kind, name string) {
	t.Helper()
	switch kind {
	case "file":
		check(t, unix.Mknod(name, unix.S_IFREG|0o644, 0), nil, "mknod")
	case "dir":
		makeDir(t, name)
	case "link":
		makeLink(t, "x", name)
	}
}

func removeKind(kind, name string) error {
	if kind == "dir" {
		return unix.Rmdir(name)
	}
	return unix.Unlink(name)
}

// timesByWriter: who may write to a file of another may set its times to now,
// and to nothing else.
func timesByWriter(t *testing.T, dir string) {
	openTo(t, dir, 0o755)
	makeFile(t, dir+"/file", "")
	check(t, unix.Chown(dir+"/file", alice, alice), nil, "chown")
	check(t, unix.Chmod(dir+"/file", 0o666), nil, "chmod")
	old := unix.Timespec{Sec: 1}
	setTimes(t, dir+"/file", old, old)
	now, omit := unix.Timespec{Nsec: unix.UTIME_NOW}, unix.Timespec{Nsec: unix.UTIME_OMIT}
	as(t, bob, func() {
		for _, c := range []struct {
			times []unix.Timespec
			want  error
		}{
			{[]unix.Timespec{old, old}, unix.EPERM}, {[]unix.Timespec{now, old}, unix.EPERM}, {[]unix.Timespec{now, omit}, unix.EPERM},
			{[]unix.Timespec{omit, omit}, nil}, {[]unix.Timespec{now, now}, nil},
		} {
			check(t, unix.UtimesNano(dir+"/file", c.times), c.want, "utimensat(%v)", c.times)
		}
	})
	if st := lstat(t, dir+"/file"); st.Mtim.Sec == 1 || st.Atim.Sec == 1 {
		t.Error("utimensat to now left the times")
	}
}
