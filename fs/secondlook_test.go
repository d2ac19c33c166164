package fs

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// A place or a name may not be any more what it was when the kernel learnt of
// it. What an operation is decided on is looked at once more.

// TestNamesAreAskedWithTheirFile: what is done to a name is done to a file that
// has others, and the strictest of them decides..
func TestNamesAreAskedWithTheirFile(t *testing.T) {
	w := newWorld(t, "kept deny delete,write /kept/**", allowAll)
	w.fill(t, "kept/", "kept/file", "free/", "free/file=kept/file", "free/other")
	w.at(t, "/kept/file")
	w.at(t, "/free/file")
	free := w.at(t, "/free")
	want(t, w.Unlink(caller(), free, "file"), syscall.EACCES, "unlink")
	want(t, w.move(t, "rename", "/free/file", "/free/moved"), syscall.EACCES, "rename")
	w.wantEvents(t, "rename /free/file kept")
	want(t, w.move(t, "rename", "/free/other", "/free/file"), syscall.EACCES, "rename onto it")
	w.wantEvents(t, "write /free/file kept")
	if !w.has(t, "free/file") || !w.has(t, "free/other") {
		t.Error("a name is gone")
	}
}

// TestMovedByTheHost: who is in a directory that the host has moved does not go
// on under the rules of its old place, though its descriptor is at hand..
func TestMovedByTheHost(t *testing.T) {
	for call, act := range map[string]func(w *world, dir NodeID) syscall.Errno{
		"mkdir": func(w *world, dir NodeID) syscall.Errno { return w.Mkdir(caller(), dir, "new", 0o755, new(Entry)) },
		"create": func(w *world, dir NodeID) syscall.Errno {
			return w.Create(caller(), dir, "new", unix.O_RDWR, 0o644, new(Entry), new(Opened))
		},
		"unlink":  func(w *world, dir NodeID) syscall.Errno { return w.Unlink(caller(), dir, "file") },
		"out":     func(w *world, dir NodeID) syscall.Errno { return w.Rename(caller(), dir, "file", RootID, "out") },
		"in":      func(w *world, dir NodeID) syscall.Errno { return w.Rename(caller(), RootID, "top", dir, "in") },
		"lookup":  func(w *world, dir NodeID) syscall.Errno { return w.Lookup(caller(), dir, "file", new(Entry)) },
		"opendir": func(w *world, dir NodeID) syscall.Errno { return w.Opendir(caller(), dir, new(Opened)) },
	} {
		for _, another := range []bool{false, true} {
			moveByTheHost(t, call, act, another)
		}
	}
}

// moveByTheHost moves a directory, puts another in its place if wanted, and has
// act find the first one stale.
func moveByTheHost(t *testing.T, call string, act func(w *world, dir NodeID) syscall.Errno, another bool) {
	t.Helper()
	w := serve(t, Config{View: viewOf(t, "closed deny * /closed/**", allowAll), Trees: []backing.Tree{backing.NewMemory()}, Lifetime: 1})
	w.fill(t, "dir/", "dir/file", "closed/", "top")
	dir := w.at(t, "/dir")
	w.at(t, "/dir/file")
	w.at(t, "/top")
	root, _ := parent(t, w.tree, "x")
	closed, _ := parent(t, w.tree, "closed/x")
	if err := root.RenameAt("dir", closed, "dir"); err != nil {
		t.Fatal(err)
	}
	if another {
		w.fill(t, "dir/")
	}
	want(t, act(w, dir), syscall.ESTALE, call)
	if !w.has(t, "closed/dir/file") || !w.has(t, "top") || w.has(t, "closed/dir/new") {
		t.Errorf("%s has changed the backing", call)
	}
}

// TestAnotherDirectory: a directory that is opened again by its place, and is
// another one by now, is not taken for the first.
func TestAnotherDirectory(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "dir/")
	dir := w.at(t, "/dir")
	w.dirs.closeAll()
	root, _ := parent(t, w.tree, "x")
	if err := root.RenameAt("dir", root, "was"); err != nil {
		t.Fatal(err)
	}
	w.fill(t, "dir/")
	want(t, w.Getattr(caller(), dir, new(Attr)), syscall.ESTALE, "getattr")
	mode := uint32(0o700)
	want(t, w.Setattr(caller(), dir, &SetattrIn{Mode: &mode}, new(Attr)), syscall.ESTALE, "chmod")
}

// TestWayToAMountShowsNoDenied: where a directory of the backing must not be
// stat-ed, the way to a mount below it is synthesised. X-06.
func TestWayToAMountShowsNoDenied(t *testing.T) {
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, "closed deny * /way", allowAll)},
		overlay.Mount{Target: "/way/mounted", Source: "/other", Layers: layers(t, allowAll)})
	w := serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory(), backing.NewMemory()}})
	w.fill(t, "way/", "way/secret")
	e, errno := w.walk("/way")
	want(t, errno, 0, "lookup")
	if n, _ := w.node(e.Node); n.kind != kindSynth {
		t.Error("the directory of the backing is shown")
	}
	for _, got := range w.listing(t, "/way") {
		if got.Name == "secret" {
			t.Error("the listing shows what the backing holds")
		}
	}
}

// TestAnotherFile: what the kernel knows by a name that leads to another file by
// now is not done to that. X-03.
func TestAnotherFile(t *testing.T) {
	mode := uint32(0o600)
	for call, act := range map[string]func(w *world, n NodeID) syscall.Errno{
		"getattr": func(w *world, n NodeID) syscall.Errno { return w.Getattr(caller(), n, new(Attr)) },
		"open":    func(w *world, n NodeID) syscall.Errno { return w.Open(caller(), n, unix.O_RDONLY, new(Opened)) },
		"chmod": func(w *world, n NodeID) syscall.Errno {
			return w.Setattr(caller(), n, &SetattrIn{Mode: &mode}, new(Attr))
		},
		"setxattr": func(w *world, n NodeID) syscall.Errno { return w.Setxattr(caller(), n, "user.x", nil, 0) },
		"link":     func(w *world, n NodeID) syscall.Errno { return w.Link(caller(), n, RootID, "new", new(Entry)) },
		"readlink": func(w *world, n NodeID) syscall.Errno { _, errno := w.Readlink(caller(), n); return errno },
	} {
		for _, left := range []string{"replaced", "gone"} {
			w := newWorld(t, allowAll)
			made, other := "file", "other"
			if call == "readlink" {
				made, other = "file>x", "other>secret"
			}
			w.fill(t, made, other)
			node := w.at(t, "/file")
			root, _ := parent(t, w.tree, "x")
			err := root.UnlinkAt("file")
			if left == "replaced" {
				err = root.RenameAt("other", root, "file")
			}
			if err != nil {
				t.Fatal(err)
			}
			want(t, act(w, node), syscall.ESTALE, call+" of what is "+left)
		}
	}
}

// TestHiddenIsNotAbsent: a name that was known, and is hidden by a reload, is
// answered alike whether the host has removed it or not. X-06.
func TestHiddenIsNotAbsent(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := newWorld(t, allowAll)
		w.fill(t, "file")
		w.open(t, "/file", unix.O_RDONLY)
		if err := w.Swap(viewOf(t, "hidden hide * /file", allowAll)); err != nil {
			t.Fatal(err)
		}
		if root, _ := parent(t, w.tree, "x"); gone {
			if err := root.UnlinkAt("file"); err != nil {
				t.Fatal(err)
			}
		}
		var e Entry
		want(t, w.Lookup(caller(), RootID, "file", &e), syscall.ENOENT, "lookup")
		if e.Valid != 0 {
			t.Error("the kernel may remember that a hidden name is not there")
		}
		w.wantEvents(t, "stat /file hidden")
	}
}

// TestReloadWhileOpening: a reload that comes between the decision on an open
// and the handle holds for it. X-05.
func TestReloadWhileOpening(t *testing.T) {
	w := newWorld(t, "may allow stat /file", "watched audit exec /file", allowAll)
	w.fill(t, "file")
	node := w.at(t, "/file")
	turn := viewOf(t, "closed deny open /file", allowAll)
	w.records.during = func() {
		w.records.during = nil
		if err := w.Swap(turn); err != nil {
			t.Error(err)
		}
	}
	var o Opened
	want(t, w.Open(caller(), node, unix.O_RDONLY|execFlag, &o), syscall.EACCES, "open")
	w.wantEvents(t, "exec /file watched", "open /file closed")
	if n := w.OpenHandles(); n != 0 {
		t.Errorf("%d handles are left", n)
	}
}

// TestNoMoreHandles: no descriptor is given out that the daemon needs itself.
func TestNoMoreHandles(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file", "dir/")
	file, dir := w.at(t, "/file"), w.at(t, "/dir")
	w.maxHandles = 0
	want(t, w.Open(caller(), file, unix.O_RDONLY, new(Opened)), syscall.ENFILE, "open")
	want(t, w.Opendir(caller(), dir, new(Opened)), syscall.ENFILE, "opendir")
	want(t, w.Create(caller(), dir, "new", unix.O_RDWR, 0o644, new(Entry), new(Opened)), syscall.ENFILE, "create")
	if w.has(t, "dir/new") {
		t.Error("a file was made that cannot be opened")
	}
}

// TestNoDirectory: names are looked for in directories that have a place.
func TestNoDirectory(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file", "dir/", "dir/sub/")
	file, sub := w.at(t, "/file"), w.at(t, "/dir/sub")
	want(t, w.Mkdir(caller(), file, "new", 0o755, new(Entry)), syscall.ENOTDIR, "mkdir in a file")
	want(t, w.Rmdir(caller(), w.at(t, "/dir"), "sub"), 0, "rmdir")
	want(t, w.Mkdir(caller(), sub, "new", 0o755, new(Entry)), syscall.ENOENT, "mkdir in a directory that is gone")
	want(t, w.Link(caller(), w.at(t, "/dir"), RootID, "new", new(Entry)), syscall.EPERM, "link of a directory")
	w.wantEvents(t)
}

// TestHiddenMountTarget: that a mount stands under a hidden name does not show
// by the errno of a rename onto it. X-06.
func TestHiddenMountTarget(t *testing.T) {
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/mounted", Source: "/other", Layers: layers(t, "hidden hide * /mounted/**")})
	w := serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory(), backing.NewMemory()}})
	w.fill(t, "file", "dir/")
	for _, from := range []string{"/file", "/dir"} {
		want(t, w.move(t, "rename", from, "/mounted"), syscall.ENOENT, "rename of "+from)
		w.wantEvents(t, "create /mounted hidden")
	}
}

// TestHandleOfAnother: a change that comes with a handle is done to the node
// that it names, by the rights to that node, whatever the handle is of. X-07.
func TestHandleOfAnother(t *testing.T) {
	w := newWorld(t, "shut deny truncate /shut", "made deny truncate /made", allowAll)
	w.fill(t, "shut", "open", "third")
	_, made := w.create(t, RootID, "made")
	size, mode := uint64(1), uint32(0o600)
	var a Attr
	want(t, w.Setattr(caller(), w.at(t, "/shut"), &SetattrIn{Size: &size, Handle: made.Handle}, &a), syscall.EACCES, "truncate with the handle of a maker")
	h := w.open(t, "/third", unix.O_RDWR)
	want(t, w.Setattr(caller(), w.at(t, "/open"), &SetattrIn{Size: &size, Mode: &mode, Handle: h}, &a), 0, "a change with the handle of another file")
	if got := w.content(t, "open"); got != "o" || w.attr(t, "/open").Mode&0o777 != 0o600 {
		t.Errorf("the file holds %q", got)
	}
	if got := w.content(t, "third"); got != "third" || w.attr(t, "/third").Mode&0o777 == 0o600 {
		t.Errorf("the other file holds %q", got)
	}
}

// TestTruncatingOpenAfterAReload: the second request of an open with O_TRUNC is
// decided for itself..
func TestTruncatingOpenAfterAReload(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	w.open(t, "/file", unix.O_WRONLY|unix.O_TRUNC)
	if err := w.Swap(viewOf(t, "finer allow truncate /file", "kept deny write /file", allowAll)); err != nil {
		t.Fatal(err)
	}
	size := uint64(0)
	want(t, w.Setattr(caller(), w.at(t, "/file"), &SetattrIn{Size: &size}, new(Attr)), syscall.EACCES, "the truncation")
	w.wantEvents(t, "write /file kept")
	if got := w.content(t, "file"); got != "file" {
		t.Errorf("the file holds %q", got)
	}
}

// TestDevicesAreNeitherLinkedNorWalked: those that the view serves itself.
func TestDevicesAreNeitherLinkedNorWalked(t *testing.T) {
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/null", Source: "/dev/null", Kind: overlay.KindDevice, Layers: layers(t, allowAll)})
	w := serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory(), nil}})
	want(t, w.Link(caller(), w.at(t, "/null"), RootID, "new", new(Entry)), syscall.EPERM, "link")
	want(t, w.Mkdir(caller(), w.at(t, "/null"), "new", 0o755, new(Entry)), syscall.ENOTDIR, "mkdir in it")
}

// TestForeignAttributesAreNotListed: only those of users are. X-07.
func TestForeignAttributesAreNotListed(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	root, _ := parent(t, w.tree, "x")
	obj, err := root.ObjectAt("file")
	if err != nil {
		t.Fatal(err)
	}
	defer obj.Close()
	for _, name := range []string{"user.x", "trusted.x"} {
		if err := obj.Setxattr(name, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got, errno := w.Listxattr(caller(), w.at(t, "/file")); string(got) != "user.x\x00" || errno != 0 {
		t.Errorf("Listxattr = %q, %v", got, name(errno))
	}
}
