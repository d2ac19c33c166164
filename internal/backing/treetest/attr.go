package treetest

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func chmod(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "")
	d := makeDir(t, root, "dir")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	for name, o := range map[string]backing.Object{
		"file": f, "dir": d, "fifo": openObject(t, root, "fifo"),
	} {
		kind := describe(t, o).Mode & unix.S_IFMT
		for _, mode := range []uint32{0, 0o111, 0o644, 0o1777, 0o2755, 0o4755, 0o6711, 0o7777} {
			check(t, o.Chmod(mode), nil, "%s: Chmod(%#o)", name, mode)
			wantMode(t, describeAt(t, root, name), kind|mode)
		}
	}
	check(t, d.Chmod(0o755), nil, "Chmod(0755)")
}

// chmodOfLink changes neither the link nor what it points to.
func chmodOfLink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "")
	makeLink(t, root, "file", "link")
	link := describeAt(t, root, "link")
	check(t, openObject(t, root, "link").Chmod(0o600), unix.EOPNOTSUPP, "Chmod of a link")
	wantMode(t, describeAt(t, root, "link"), link.Mode)
	wantMode(t, describeAt(t, root, "file"), unix.S_IFREG|0o644)
}

func chown(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "")
	makeLink(t, root, "file", "link")
	own := describeAt(t, root, "file")
	for _, name := range []string{"file", "link"} {
		o := openObject(t, root, name)
		check(t, o.Chown(-1, -1), nil, "%s: Chown(-1, -1)", name)
		check(t, o.Chown(int(own.Uid), int(own.Gid)), nil, "%s: Chown to its owner", name)
	}
	if own.Uid != 0 {
		return // only root gives files away
	}
	for _, c := range []struct {
		name             string
		uid, gid         int
		wantUid, wantGid uint32
	}{
		{"link", 1234, 5678, 1234, 5678},
		{"file", 1000, -1, 1000, own.Gid},
		{"file", -1, 1001, 1000, 1001},
		{"link", -1, 9, 1234, 9},
	} {
		check(t, openObject(t, root, c.name).Chown(c.uid, c.gid), nil, "%s: Chown(%d, %d)", c.name, c.uid, c.gid)
		if st := describeAt(t, root, c.name); st.Uid != c.wantUid || st.Gid != c.wantGid {
			t.Errorf("%s: Chown(%d, %d) left %d:%d", c.name, c.uid, c.gid, st.Uid, st.Gid)
		}
	}
	if st := describeAt(t, root, "file"); st.Uid != 1000 || st.Gid != 1001 {
		t.Errorf("the file behind the link is %d:%d, want 1000:1001", st.Uid, st.Gid)
	}
}

func chownSetID(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "")
	own := describe(t, f)
	check(t, f.Chmod(0o6755), nil, "Chmod(06755)")
	check(t, f.Chown(int(own.Uid), int(own.Gid)), nil, "Chown")
	wantMode(t, describe(t, f), unix.S_IFREG|0o755)
}

func utimes(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "")
	d := makeDir(t, root, "dir")
	old := unix.Timespec{Sec: 1_000_000_000, Nsec: 123_456_789}
	older := unix.Timespec{Sec: -86_400, Nsec: 1}
	omit := unix.Timespec{Nsec: unix.UTIME_OMIT}
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	for name, o := range map[string]backing.Object{
		"file": f, "object": openObject(t, root, "file"), "read-only file": openFile(t, root, "file", unix.O_RDONLY),
		"dir": d,
	} {
		check(t, o.Utimes(old, older), nil, "%s: Utimes", name)
		wantTimes(t, o, old, older)
		check(t, o.Utimes(omit, old), nil, "%s: Utimes(omit, old)", name)
		wantTimes(t, o, old, old)
		check(t, o.Utimes(older, omit), nil, "%s: Utimes(older, omit)", name)
		wantTimes(t, o, older, old)
		check(t, o.Utimes(omit, omit), nil, "%s: Utimes(omit, omit)", name)
		wantTimes(t, o, older, old)

		check(t, o.Utimes(now, omit), nil, "%s: Utimes(now, omit)", name)
		st := describe(t, o)
		if age := time.Since(time.Unix(st.Atime.Unix())); age < -time.Minute || age > time.Minute {
			t.Errorf("%s: atime is %v old after Utimes(now, omit)", name, age)
		}
		wantTimes(t, o, st.Atime, old)
		bad := unix.Timespec{Nsec: 1_000_000_000}
		check(t, o.Utimes(bad, omit), unix.EINVAL, "%s: Utimes(nsec 1e9)", name)
	}
}

func wantTimes(t *testing.T, o backing.Object, atime, mtime unix.Timespec) {
	t.Helper()
	if st := describe(t, o); st.Atime != atime || st.Mtime != mtime {
		t.Fatalf("times = %v %v, want %v %v", st.Atime, st.Mtime, atime, mtime)
	}
}

func utimesOfLink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "")
	makeLink(t, root, "file", "link")
	before := describeAt(t, root, "file")
	old := unix.Timespec{Sec: 1000, Nsec: 7}
	link := openObject(t, root, "link")
	check(t, link.Utimes(old, old), nil, "Utimes of a link")
	wantTimes(t, link, old, old)
	if after := describeAt(t, root, "file"); after != before {
		t.Errorf("the file behind the link went from %+v to %+v", before, after)
	}
}

// changeTime asserts that what changes a file moves its times, and only those.
func changeTime(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "0123456789")
	old := unix.Timespec{Sec: 1000}
	for _, c := range []struct {
		call    string
		do      func() error
		content bool
	}{
		{"WriteAt", func() error { _, err := f.WriteAt([]byte("x"), 0); return err }, true},
		{"Append", func() error { _, err := f.Append([]byte("x")); return err }, true},
		{"Truncate", func() error { return f.Truncate(3) }, true},
		{"Chmod", func() error { return f.Chmod(0o600) }, false},
		{"LinkTo", func() error { return f.LinkTo(root, "other") }, false},
		{"UnlinkAt", func() error { return root.UnlinkAt("other") }, false},
	} {
		check(t, f.Utimes(old, old), nil, "Utimes")
		before := describe(t, f)
		time.Sleep(12 * time.Millisecond) // longer than a tick of the kernel's coarse clock
		check(t, c.do(), nil, "%s", c.call)
		after := describe(t, f)
		if moved := after.Mtime != old; moved != c.content {
			t.Errorf("%s: mtime moved = %v, want %v", c.call, moved, c.content)
		}
		if after.Ctime == before.Ctime {
			t.Errorf("%s: ctime did not move", c.call)
		}
		if after.Btime != before.Btime {
			t.Errorf("%s: birth time moved", c.call)
		}
	}
}
