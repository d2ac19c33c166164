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
		want(t, act(w, dir), syscall.ESTALE, call)
		if !w.has(t, "closed/dir/file") || !w.has(t, "top") || w.has(t, "closed/dir/new") {
			t.Errorf("%s has changed the backing", call)
		}
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
