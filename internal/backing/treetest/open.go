package treetest

import (
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func stat(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "12345")
	makeDir(t, root, "dir")
	makeLink(t, root, "file", "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o640)

	st := describeAt(t, root, "file")
	wantMode(t, st, unix.S_IFREG|0o644)
	if st.Size != 5 || st.Nlink != 1 || st.Ino == 0 || st.Blksize == 0 {
		t.Errorf("StatAt(file) = %+v", st)
	}
	seen := map[backing.ID]string{}
	for _, name := range []string{"file", "dir", "link", "fifo"} {
		at := describeAt(t, root, name)
		if held := describe(t, openObject(t, root, name)); held != at {
			t.Errorf("ObjectAt(%q).Stat() = %+v, StatAt = %+v", name, held, at)
		}
		if other, ok := seen[at.ID()]; ok {
			t.Errorf("%s and %s have one ID", name, other)
		}
		seen[at.ID()] = name
	}
	if held := describe(t, f); held != st {
		t.Errorf("File.Stat() = %+v, StatAt = %+v", held, st)
	}
	if st := describeAt(t, root, "link"); st.Mode&unix.S_IFMT != unix.S_IFLNK || st.Size != 4 {
		t.Errorf("StatAt(link) = %+v", st)
	}
	wantMode(t, describeAt(t, root, "fifo"), unix.S_IFIFO|0o640)
	wantAbsent(t, root, "none")
}

// openRegularOnly would hang if a FIFO were opened.
func openRegularOnly(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeDir(t, root, "dir")
	makeFile(t, root, "file", "")
	makeLink(t, root, "file", "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	makeNode(t, root, "socket", unix.S_IFSOCK|0o600)
	for _, name := range []string{"dir", "link", "fifo", "socket"} {
		for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR} {
			_, err := root.OpenAt(name, flags)
			check(t, err, unix.ENXIO, "OpenAt(%q, %#x)", name, flags)
		}
	}
	_, err := root.OpenAt("none", unix.O_RDONLY)
	check(t, err, unix.ENOENT, "OpenAt(none)")
	_, err = root.OpenAt("file", unix.O_ACCMODE)
	check(t, err, unix.EINVAL, "OpenAt(file, O_ACCMODE)")

	for _, name := range []string{"file", "fifo", "socket"} {
		_, err = root.DirAt(name)
		check(t, err, unix.ENOTDIR, "DirAt(%q)", name)
	}
	_, err = root.DirAt("link")
	check(t, err, unix.ELOOP, "DirAt(link)")
	_, err = root.DirAt("none")
	check(t, err, unix.ENOENT, "DirAt(none)")
	_, err = root.ObjectAt("none")
	check(t, err, unix.ENOENT, "ObjectAt(none)")
}

func openAccess(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "text")
	buf := make([]byte, 4)
	for _, c := range []struct {
		flags       int
		read, write error
	}{
		{unix.O_RDONLY, nil, unix.EBADF},
		{unix.O_WRONLY, unix.EBADF, nil},
		{unix.O_RDWR, nil, nil},
		{unix.O_RDWR | unix.O_SYNC, nil, nil},
		{unix.O_RDONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_EXCL, nil, unix.EBADF}, // not heeded
	} {
		f := openFile(t, root, "file", c.flags)
		_, err := f.ReadAt(buf, 0)
		check(t, err, c.read, "OpenAt(%#x).ReadAt", c.flags)
		_, err = f.WriteAt(buf, 0)
		check(t, err, c.write, "OpenAt(%#x).WriteAt", c.flags)
		_, err = f.Append(nil)
		check(t, err, c.write, "OpenAt(%#x).Append", c.flags)
	}
	if st := describeAt(t, root, "file"); st.Size != 4 {
		t.Errorf("size = %d after the opens, want 4", st.Size)
	}
}

func create(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	owner := describe(t, root)
	for _, mode := range []uint32{0, 0o400, 0o644, 0o666, 0o777, 0o1644, 0o4755, 0o6711} {
		f, err := root.CreateAt("file", unix.O_RDWR, mode)
		check(t, err, nil, "CreateAt(%#o)", mode)
		closeLater(t, f)
		st := describe(t, f)
		wantMode(t, st, unix.S_IFREG|mode)
		if st.Uid != owner.Uid || st.Size != 0 || st.Nlink != 1 {
			t.Errorf("CreateAt(%#o) made %+v", mode, st)
		}
		writeAt(t, f, "written whatever the mode is", 0)
		check(t, root.UnlinkAt("file"), nil, "UnlinkAt(file)")
	}
	makeFile(t, root, "file", "old")
	makeDir(t, root, "dir")
	makeLink(t, root, "nowhere", "link")
	for _, name := range []string{"file", "dir", "link"} {
		_, err := root.CreateAt(name, unix.O_RDWR|unix.O_TRUNC, 0o600)
		check(t, err, unix.EEXIST, "CreateAt(%q)", name)
	}
	wantAbsent(t, root, "nowhere")
	wantContent(t, openFile(t, root, "file", unix.O_RDONLY), "old")
	_, err := root.CreateAt("new", unix.O_ACCMODE, 0o600)
	check(t, err, unix.EINVAL, "CreateAt(O_ACCMODE)")
	wantAbsent(t, root, "new")
}

func createIsExclusive(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	var won atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			f, err := root.CreateAt("one", unix.O_WRONLY, 0o600)
			switch err {
			case nil:
				won.Add(1)
				f.Close()
			case unix.EEXIST:
			default:
				t.Errorf("CreateAt(one) = %v, want nil or EEXIST", err)
			}
		})
	}
	group.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 16 made the same file, want 1", won.Load())
	}
}

func mkdir(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	for _, mode := range []uint32{0o700, 0o755, 0o777, 0o1777} {
		check(t, root.MkdirAt("d", mode), nil, "MkdirAt(%#o)", mode)
		wantMode(t, describeAt(t, root, "d"), unix.S_IFDIR|mode)
		check(t, root.MkdirAt("d", mode), unix.EEXIST, "MkdirAt again")
		check(t, root.RmdirAt("d"), nil, "RmdirAt(d)")
	}
	makeLink(t, root, "nowhere", "link")
	check(t, root.MkdirAt("link", 0o755), unix.EEXIST, "MkdirAt(link)")
	wantAbsent(t, root, "nowhere")
}

func setGidDirectory(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "d")
	check(t, d.Chmod(0o2775), nil, "Chmod(02775)")
	makeDir(t, d, "sub")
	makeFile(t, d, "file", "")
	if got, want := describeAt(t, d, "file").Gid, describe(t, d).Gid; got != want {
		t.Errorf("group of a file in a set-gid directory = %d, want %d", got, want)
	}
	wantMode(t, describeAt(t, d, "sub"), unix.S_IFDIR|0o2755)
}

func mknod(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	for _, c := range []struct {
		name       string
		mode, want uint32
	}{
		{"plain", 0o604, unix.S_IFREG | 0o604},
		{"regular", unix.S_IFREG | 0o640, unix.S_IFREG | 0o640},
		{"fifo", unix.S_IFIFO | 0o666, unix.S_IFIFO | 0o666},
		{"socket", unix.S_IFSOCK | 0o700, unix.S_IFSOCK | 0o700},
	} {
		makeNode(t, root, c.name, c.mode)
		wantMode(t, describeAt(t, root, c.name), c.want)
		check(t, root.MknodAt(c.name, c.mode), unix.EEXIST, "MknodAt(%q) again", c.name)
	}
	for _, kind := range []uint32{unix.S_IFCHR, unix.S_IFBLK, unix.S_IFDIR, unix.S_IFLNK} {
		check(t, root.MknodAt("special", kind|0o666), unix.EPERM, "MknodAt(%#o)", kind)
		wantAbsent(t, root, "special")
	}
}
