package treetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func readWrite(t *testing.T, tree backing.Tree) {
	f := makeFile(t, rootOf(t, tree), "file", "0123456789")
	for _, c := range []struct {
		size int
		off  int64
		want string
	}{
		{4, 0, "0123"}, {4, 8, "89"}, {4, 10, ""}, {4, 1 << 30, ""}, {0, 0, ""}, {100, 0, "0123456789"},
	} {
		buf := make([]byte, c.size)
		n, err := f.ReadAt(buf, c.off)
		check(t, err, nil, "ReadAt(%d, %d)", c.size, c.off)
		if string(buf[:n]) != c.want {
			t.Errorf("ReadAt(%d, %d) = %q, want %q", c.size, c.off, buf[:n], c.want)
		}
	}
	writeAt(t, f, "AB", 4)
	wantContent(t, f, "0123AB6789")
	writeAt(t, f, "end", 9000)
	hole := strings.Repeat("\x00", 9000-10)
	wantContent(t, f, "0123AB6789"+hole+"end")

	buf := make([]byte, 1)
	n, err := f.ReadAt(buf, -1)
	check(t, err, unix.EINVAL, "ReadAt(-1)")
	if n != 0 {
		t.Errorf("ReadAt(-1) = %d bytes, want 0", n)
	}
	n, err = f.WriteAt(buf, -1)
	check(t, err, unix.EINVAL, "WriteAt(-1)")
	if n != 0 {
		t.Errorf("WriteAt(-1) = %d bytes, want 0", n)
	}
}

// writeAtKeepsOffset guards the page write-back of a file that was opened to
// append: Linux's pwrite on O_APPEND goes to the end.
func writeAtKeepsOffset(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	made, err := root.CreateAt("made", unix.O_RDWR|unix.O_APPEND, 0o600)
	check(t, err, nil, "CreateAt(made, O_APPEND)")
	closeLater(t, made)
	makeFile(t, root, "opened", "")
	for _, f := range []backing.File{made, openFile(t, root, "opened", unix.O_RDWR|unix.O_APPEND)} {
		writeAt(t, f, "0123456789", 0)
		writeAt(t, f, "AB", 4)
		wantContent(t, f, "0123AB6789")
	}
}

func appendEnd(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	one := makeFile(t, root, "log", "")
	two := openFile(t, root, "log", unix.O_WRONLY|unix.O_APPEND)
	for i, f := range []backing.File{one, two, one, two} {
		n, err := f.Append([]byte{byte('a' + i)})
		check(t, err, nil, "Append")
		if n != 1 {
			t.Errorf("Append = %d bytes, want 1", n)
		}
	}
	wantContent(t, one, "abcd")
	writeAt(t, one, "X", 0)
	check(t, two.Truncate(2), nil, "Truncate(2)")
	_, err := two.Append([]byte("end"))
	check(t, err, nil, "Append")
	wantContent(t, one, "Xbend")
}

func appendLosesNothing(t *testing.T, tree backing.Tree) {
	const writers, lines = 4, 500
	root := rootOf(t, tree)
	makeFile(t, root, "log", "")
	var group sync.WaitGroup
	for w := range writers {
		f := openFile(t, root, "log", unix.O_WRONLY)
		group.Go(func() {
			for i := range lines {
				if _, err := f.Append(fmt.Appendf(nil, "%d %d\n", w, i)); err != nil {
					t.Errorf("Append = %v", err)
				}
			}
		})
	}
	group.Wait()
	next := [writers]int{}
	for line := range strings.Lines(content(t, openFile(t, root, "log", unix.O_RDONLY))) {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d %d\n", &w, &i); err != nil || i != next[w] {
			t.Fatalf("line %q, want number %d of its writer (%v)", line, next[w], err)
		}
		next[w]++
	}
	for w, n := range next {
		if n != lines {
			t.Errorf("writer %d has %d lines, want %d", w, n, lines)
		}
	}
}

func truncate(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "0123456789")
	for name, o := range map[string]backing.Object{
		"read-write file": f,
		"read-only file":  openFile(t, root, "file", unix.O_RDONLY),
		"write-only file": openFile(t, root, "file", unix.O_WRONLY),
		"object":          openObject(t, root, "file"),
	} {
		writeAt(t, f, "0123456789", 0)
		check(t, o.Truncate(4), nil, "%s: Truncate(4)", name)
		wantContent(t, f, "0123")
		check(t, o.Truncate(8), nil, "%s: Truncate(8)", name)
		wantContent(t, f, "0123\x00\x00\x00\x00")
		check(t, o.Truncate(-1), unix.EINVAL, "%s: Truncate(-1)", name)
		check(t, o.Truncate(0), nil, "%s: Truncate(0)", name)
		wantContent(t, f, "")
	}
	check(t, f.Truncate(1<<33), nil, "Truncate(8 GiB)")
	if st := describe(t, f); st.Size != 1<<33 || st.Blocks > 64 {
		t.Errorf("size %d in %d blocks after Truncate(8 GiB), want a hole", st.Size, st.Blocks)
	}
}

// truncateAfterChmod does what git does with its object files: the descriptor
// that was opened for writing goes on writing whatever the mode has become.
func truncateAfterChmod(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f, err := root.CreateAt("file", unix.O_RDWR, 0o444)
	check(t, err, nil, "CreateAt(0444)")
	closeLater(t, f)
	writeAt(t, f, "0123456789", 0)
	check(t, f.Truncate(3), nil, "Truncate(3) of a read-only file open for writing")
	wantContent(t, f, "012")
}

func truncateNotRegular(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "dir")
	makeFile(t, root, "file", "kept")
	makeLink(t, root, "file", "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	check(t, d.Truncate(0), unix.EISDIR, "Dir.Truncate(0)")
	check(t, openObject(t, root, "dir").Truncate(0), unix.EISDIR, "Truncate(0) of a directory")
	check(t, openObject(t, root, "link").Truncate(0), unix.EINVAL, "Truncate(0) of a link")
	check(t, openObject(t, root, "fifo").Truncate(0), unix.EINVAL, "Truncate(0) of a FIFO")
	wantContent(t, openFile(t, root, "file", unix.O_RDONLY), "kept")
}

func allocate(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "")
	check(t, f.Allocate(0, 0, 8192), nil, "Allocate(0, 0, 8192)")
	if st := describe(t, f); st.Size != 8192 {
		t.Errorf("size = %d after Allocate, want 8192", st.Size)
	}
	check(t, f.Allocate(unix.FALLOC_FL_KEEP_SIZE, 8192, 8192), nil, "Allocate(KEEP_SIZE)")
	if st := describe(t, f); st.Size != 8192 {
		t.Errorf("size = %d after Allocate(KEEP_SIZE), want 8192", st.Size)
	}
	writeAt(t, f, strings.Repeat("x", 8192), 0)
	const punch = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	check(t, f.Allocate(punch, 100, 5000), nil, "Allocate(PUNCH_HOLE, 100, 5000)")
	wantContent(t, f, strings.Repeat("x", 100)+strings.Repeat("\x00", 5000)+strings.Repeat("x", 8192-5100))
	check(t, f.Allocate(0, 0, 0), unix.EINVAL, "Allocate(0, 0, 0)")
	check(t, f.Allocate(0, -1, 1), unix.EINVAL, "Allocate(0, -1, 1)")
	check(t, openFile(t, root, "file", unix.O_RDONLY).Allocate(0, 0, 1), unix.EBADF, "Allocate, read-only")
}

func fsync(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "x")
	check(t, f.Sync(true), nil, "File.Sync(true)")
	check(t, f.Sync(false), nil, "File.Sync(false)")
	check(t, openFile(t, root, "file", unix.O_RDONLY).Sync(false), nil, "read-only File.Sync(false)")
	check(t, root.Sync(), nil, "Dir.Sync()")
}

func flock(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	a := makeFile(t, root, "file", "")
	b := openFile(t, root, "file", unix.O_RDONLY)
	for _, c := range []struct {
		call string
		f    backing.File
		how  int
		want error
	}{
		{"a shared", a, unix.LOCK_SH, nil},
		{"b shared", b, unix.LOCK_SH, nil},
		{"a exclusive, b shares", a, unix.LOCK_EX, unix.EWOULDBLOCK},
		{"b exclusive, a lost its own", b, unix.LOCK_EX, nil},
		{"b exclusive again", b, unix.LOCK_EX, nil},
		{"a shared, b exclusive", a, unix.LOCK_SH, unix.EWOULDBLOCK},
		{"b shared", b, unix.LOCK_SH, nil},
		{"a shared", a, unix.LOCK_SH, nil},
		{"b unlocks", b, unix.LOCK_UN, nil},
		{"b unlocks again", b, unix.LOCK_UN, nil},
		{"a exclusive", a, unix.LOCK_EX, nil},
		{"no such lock", a, 0, unix.EINVAL},
	} {
		check(t, c.f.Flock(c.how), c.want, "%s: Flock(%d)", c.call, c.how)
	}
}

func flockEndsAtClose(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	a := makeFile(t, root, "file", "")
	b := openFile(t, root, "file", unix.O_RDONLY)
	check(t, a.Flock(unix.LOCK_EX), nil, "a.Flock(LOCK_EX)")
	check(t, b.Flock(unix.LOCK_EX), unix.EWOULDBLOCK, "b.Flock(LOCK_EX)")
	check(t, a.Close(), nil, "a.Close()")
	check(t, b.Flock(unix.LOCK_EX), nil, "b.Flock(LOCK_EX) after a.Close()")
}
