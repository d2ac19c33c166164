package fs

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// TestOwnerMapping shows the owner of a source as 1000:1000, and takes that
// back. S3-03.
func TestOwnerMapping(t *testing.T) {
	w := serve(t, Config{View: viewOf(t, allowAll), Trees: []backing.Tree{backing.NewMemory()}, Owner: &Owner{1000, 1000}})
	w.fill(t, "file", "strange")
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	dir, _ := parent(t, w.tree, "x")
	obj, err := dir.ObjectAt("strange")
	if err == nil {
		err = obj.Chown(77, 78)
		obj.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, owner := range map[string][2]uint32{"/": {1000, 1000}, "/file": {1000, 1000}, "/strange": {77, 78}} {
		if a := w.attr(t, path); a.Uid != owner[0] || a.Gid != owner[1] {
			t.Errorf("owner of %s = %d:%d, want %v", path, a.Uid, a.Gid, owner)
		}
	}
	chown := func(path string, uid, gid *uint32) syscall.Errno {
		var a Attr
		return w.Setattr(caller(), w.at(t, path), &SetattrIn{Uid: uid, Gid: gid}, &a)
	}
	stored := func(path string, uid, gid uint32) {
		t.Helper()
		if st, err := dir.StatAt(path); err != nil || st.Uid != uid || st.Gid != gid {
			t.Errorf("owner of %s in the backing = %d:%d, %v; want %d:%d", path, st.Uid, st.Gid, err, uid, gid)
		}
	}
	mapped, other, root := uint32(1000), uint32(1001), uint32(0)
	want(t, chown("/file", &mapped, &mapped), 0, "chown to the mapped pair")
	stored("file", uid, gid)
	want(t, chown("/file", &other, nil), syscall.EPERM, "chown to another user")
	want(t, chown("/file", nil, &other), syscall.EPERM, "chown to another group")
	want(t, chown("/file", &mapped, &root), syscall.EPERM, "chown to a foreign group with the mapped user")
	stored("file", uid, gid)
	mode := uint32(0o2755)
	want(t, w.Setattr(caller(), w.at(t, "/file"), &SetattrIn{Mode: &mode}, new(Attr)), 0, "chmod")
	if st, err := dir.StatAt("file"); err != nil || st.Mode&0o7777 != 0o755 {
		t.Errorf("mode in the backing = %#o, %v; set-gid would be of the host's group", st.Mode, err)
	}
	want(t, chown("/strange", &mapped, nil), 0, "chown of a stranger's file to the mapped user")
	stored("strange", uid, 78)
}

// TestOwnerOfWhatIsMade: what the mapped user makes belongs to the owner of the
// source.
func TestOwnerOfWhatIsMade(t *testing.T) {
	w := serve(t, Config{View: viewOf(t, allowAll), Trees: []backing.Tree{backing.NewMemory()}, Owner: &Owner{1000, 1000}})
	c := caller()
	c.Uid, c.Gid = 1000, 1000
	var e Entry
	var o Opened
	want(t, w.Create(c, RootID, "file", unix.O_RDWR, 0o644, &e, &o), 0, "create")
	w.Release(o.Handle)
	if e.Attr.Uid != 1000 || e.Attr.Gid != 1000 {
		t.Errorf("the view shows %d:%d", e.Attr.Uid, e.Attr.Gid)
	}
	dir, _ := parent(t, w.tree, "x")
	if st, err := dir.StatAt("file"); err != nil || st.Uid != uint32(os.Geteuid()) || st.Gid != uint32(os.Getegid()) {
		t.Errorf("the backing has %d:%d, %v", st.Uid, st.Gid, err)
	}
}

// TestSetUIDIsDropped by each call that sets a mode; set-gid stays, but for mkdir,
// which never sets it.
func TestSetUIDIsDropped(t *testing.T) {
	w := newWorld(t, allowAll)
	var e Entry
	var o Opened
	want(t, w.Mkdir(caller(), RootID, "dir", 0o6755, &e), 0, "mkdir")
	want(t, w.Mknod(caller(), RootID, "node", unix.S_IFREG|0o6755, &e), 0, "mknod")
	want(t, w.Create(caller(), RootID, "file", unix.O_RDWR, 0o6755, &e, &o), 0, "create")
	w.Release(o.Handle)
	want(t, w.Mknod(caller(), RootID, "made", unix.S_IFREG|0o6755, &e), 0, "mknod")
	mode := uint32(0o6711)
	var a Attr
	want(t, w.Setattr(caller(), w.at(t, "/node"), &SetattrIn{Mode: &mode}, &a), 0, "chmod")
	for path, mode := range map[string]uint32{"/dir": 0o755, "/made": 0o2755, "/node": 0o2711, "/file": 0o2755} {
		if got := w.attr(t, path).Mode & 0o7777; got != mode {
			t.Errorf("mode of %s = %#o, want %#o", path, got, mode)
		}
	}
}

// TestKillSetID clears the bits when the kernel says that a writer has no right
// to keep them.
func TestKillSetID(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	h, node := w.open(t, "/file", unix.O_RDWR), w.at(t, "/file")
	for _, c := range []struct {
		mode, want uint32
		act        func() syscall.Errno
	}{
		{0o2755, 0o2755, func() syscall.Errno { _, e := w.Write(caller(), h, []byte("x"), 0, WriteIn{}); return e }},
		{0o2755, 0o755, func() syscall.Errno { _, e := w.Write(caller(), h, []byte("x"), 0, WriteIn{KillSetID: true}); return e }},
		{0o6755, 0o755, func() syscall.Errno { _, e := w.Write(caller(), h, []byte("x"), 0, WriteIn{KillSetID: true}); return e }},
		{0o2644, 0o2644, func() syscall.Errno { _, e := w.Write(caller(), h, []byte("x"), 0, WriteIn{KillSetID: true}); return e }},
		{0o2755, 0o755, func() syscall.Errno { return w.Allocate(caller(), h, 0, 0, 100) }},
		{0o2755, 0o755, func() syscall.Errno {
			size := uint64(3)
			var a Attr
			return w.Setattr(caller(), node, &SetattrIn{Size: &size, KillSetID: true}, &a)
		}},
	} {
		dir, _ := parent(t, w.tree, "x")
		obj, err := dir.ObjectAt("file")
		if err == nil {
			err = obj.Chmod(c.mode)
			obj.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		want(t, c.act(), 0, "the change")
		if got := w.attr(t, "/file").Mode & 0o7777; got != c.want {
			t.Errorf("mode %#o became %#o, want %#o", c.mode, got, c.want)
		}
	}
}
