package treetest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// unlinkedFile asserts that an open file goes on when its name is gone.
func unlinkedFile(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "content")
	id := describe(t, f)
	check(t, root.UnlinkAt("file"), nil, "UnlinkAt(file)")
	makeFile(t, root, "file", "another")

	wantContent(t, f, "content")
	writeAt(t, f, "C", 0)
	_, err := f.Append([]byte("!"))
	check(t, err, nil, "Append")
	check(t, f.Chmod(0o600), nil, "Chmod")
	check(t, f.Chown(-1, -1), nil, "Chown")
	old := unix.Timespec{Sec: 1000}
	check(t, f.Utimes(old, old), nil, "Utimes")
	if err := f.Setxattr("user.late", nil, 0); err != unix.EOPNOTSUPP {
		check(t, err, nil, "Setxattr")
	}
	st := describe(t, f)
	if st.ID() != id.ID() || st.Nlink != 0 || st.Mode != unix.S_IFREG|0o600 || st.Mtime != old || st.Size != 8 {
		t.Errorf("Stat() of the unlinked file = %+v", st)
	}
	check(t, f.Truncate(3), nil, "Truncate(3)")
	wantContent(t, f, "Con")
	wantContent(t, openFile(t, root, "file", unix.O_RDONLY), "another")
}

func objectOutlivesName(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "content")
	o := openObject(t, root, "file")
	id := describe(t, o)
	makeFile(t, root, "new", "another")
	check(t, root.RenameAt("new", root, "file"), nil, "RenameAt(new, file)")
	check(t, o.Chmod(0o600), nil, "Chmod")
	check(t, o.Truncate(1), nil, "Truncate(1)")
	if st := describe(t, o); st.ID() != id.ID() || st.Mode != unix.S_IFREG|0o600 || st.Size != 1 || st.Nlink != 0 {
		t.Errorf("Stat() of the replaced object = %+v", st)
	}
	wantMode(t, describeAt(t, root, "file"), unix.S_IFREG|0o644)
	wantContent(t, openFile(t, root, "file", unix.O_RDONLY), "another")
}

func closed(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeDir(t, root, "dir")
	f := makeFile(t, root, "file", "")
	o := openObject(t, root, "file")
	d, err := root.DirAt("dir")
	check(t, err, nil, "DirAt(dir)")
	for range 2 {
		check(t, f.Close(), nil, "File.Close()")
		check(t, o.Close(), nil, "Object.Close()")
		check(t, d.Close(), nil, "Dir.Close()")
	}
	for name, o := range map[string]backing.Object{"File": f, "Object": o, "Dir": d} {
		_, err = o.Stat()
		check(t, err, unix.EBADF, "closed %s.Stat()", name)
		check(t, o.Chmod(0), unix.EBADF, "closed %s.Chmod", name)
		_, err = o.Listxattr(nil)
		check(t, err, unix.EBADF, "closed %s.Listxattr", name)
		check(t, o.Truncate(0), unix.EBADF, "closed %s.Truncate", name)
		check(t, o.LinkTo(root, "new"), unix.EBADF, "closed %s.LinkTo", name)
	}
	_, err = f.ReadAt(nil, 0)
	check(t, err, unix.EBADF, "closed ReadAt")
	_, err = f.WriteAt(nil, 0)
	check(t, err, unix.EBADF, "closed WriteAt")
	_, err = f.Append(nil)
	check(t, err, unix.EBADF, "closed Append")
	check(t, f.Flock(unix.LOCK_SH), unix.EBADF, "closed Flock")
	for call, err := range everyAtClosed(d) {
		check(t, err, unix.EBADF, "closed %s", call)
	}
	check(t, openObject(t, root, "file").LinkTo(d, "new"), unix.EBADF, "LinkTo in a closed Dir")
	check(t, root.RenameAt("file", d, "new"), unix.EBADF, "RenameAt to a closed Dir")
}

func everyAtClosed(d backing.Dir) map[string]error {
	_, stat := d.StatAt("x")
	_, object := d.ObjectAt("x")
	_, open := d.OpenAt("x", unix.O_RDONLY)
	_, create := d.CreateAt("x", unix.O_RDWR, 0o600)
	_, dir := d.DirAt("x")
	_, list := d.ReadDir()
	_, statfs := d.Statfs()
	return map[string]error{
		"StatAt": stat, "ObjectAt": object, "OpenAt": open, "CreateAt": create, "DirAt": dir, "ReadDir": list,
		"Statfs": statfs, "Sync": d.Sync(), "MkdirAt": d.MkdirAt("x", 0o700), "UnlinkAt": d.UnlinkAt("x"),
	}
}

// closeDuringUse closes directories while they are in use and others are
// opened: a call must never work on another directory, which is what a
// descriptor number that was given out again would be.
func closeDuringUse(t *testing.T, tree backing.Tree) {
	const rounds = 300
	root := rootOf(t, tree)
	for _, name := range []string{"a", "b"} {
		makeFile(t, makeDir(t, root, name), name, "")
	}
	for range rounds {
		d, err := root.DirAt("a")
		check(t, err, nil, "DirAt(a)")
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for range 20 {
					if _, err := d.StatAt("a"); err != nil && err != unix.EBADF {
						t.Errorf("StatAt(a) while it is closed = %v, want nil or EBADF", err)
					}
				}
			})
		}
		group.Go(func() {
			d.Close()
			other, err := root.DirAt("b")
			if err != nil {
				t.Errorf("DirAt(b) = %v", err)
				return
			}
			other.Close()
		})
		group.Wait()
	}
}

// noLeak counts the descriptors of the process over all that opens one, with
// and without success.
func noLeak(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, makeDir(t, makeDir(t, root, "a"), "b"), "file", "")
	makeLink(t, root, "a", "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	round := func(i int) {
		for _, rel := range []string{"", "a/b", "a/b/file", "a/none", "link/b", "none"} {
			if d, err := tree.Dir(rel); err == nil {
				d.ReadDir()
				d.Sync()
				d.Close()
			}
		}
		for _, name := range []string{"a", "link", "fifo", "none"} {
			if o, err := root.ObjectAt(name); err == nil {
				o.Chmod(0o755)
				o.Listxattr(nil)
				o.Close()
			}
			if f, err := root.OpenAt(name, unix.O_RDONLY); err == nil {
				f.Close()
			}
			if d, err := root.DirAt(name); err == nil {
				d.Close()
			}
		}
		if f, err := root.CreateAt(fmt.Sprint(i), unix.O_RDWR|unix.O_APPEND, 0o600); err == nil {
			f.Append([]byte("x"))
			f.LinkTo(root, fmt.Sprint("link to ", i))
			f.Close()
		}
	}
	round(-1)
	before := openDescriptors(t)
	for i := range 200 {
		round(i)
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors are open after 200 rounds, %d before", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
