package fs

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
)

// listing returns all entries of the directory at path.
func (w *world) listing(t *testing.T, path string) []DirEntry {
	t.Helper()
	var o Opened
	want(t, w.Opendir(caller(), w.at(t, path), &o), 0, "opendir of "+path)
	defer w.Release(o.Handle)
	var entries []DirEntry
	errno := w.Readdir(caller(), o.Handle, 0, func(e DirEntry, next uint64) bool {
		entries = append(entries, e)
		return true
	})
	want(t, errno, 0, "readdir of "+path)
	return entries
}

func namesOf(entries []DirEntry) []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

func TestListing(t *testing.T) {
	w := newWorld(t, "hidden hide * /dir/hidden*", "denied deny * /dir/denied", allowAll)
	w.fill(t, "dir/", "dir/hidden", "dir/hidden-too/", "dir/denied", "dir/file", "dir/link>file")
	if got := namesOf(w.listing(t, "/dir")); !slices.Equal(got, []string{".", "..", "denied", "file", "link"}) {
		t.Errorf("listing = %q", got)
	}
	entries := w.listing(t, "/dir")
	dir, root := w.attr(t, "/dir"), w.attr(t, "/")
	if entries[0].Name != "." || entries[0].Ino != dir.Ino || entries[1].Name != ".." || entries[1].Ino != root.Ino {
		t.Errorf("the listing begins with %v, want inodes %d and %d", entries[:2], dir.Ino, root.Ino)
	}
	if dir.Nlink != 1 {
		t.Errorf("nlink of a directory in which names may be hidden = %d, want 1", dir.Nlink)
	}
}

// attr returns the attributes of what is at path.
func (w *world) attr(t *testing.T, path string) Attr {
	t.Helper()
	var a Attr
	want(t, w.Getattr(caller(), w.at(t, path), &a), 0, "getattr of "+path)
	return a
}

// TestListingHoldsStill reads a listing in parts, and again from each offset,
// while names come and go; from its start it is read afresh.
func TestListingHoldsStill(t *testing.T) {
	w := newWorld(t, allowAll)
	for i := range 10 {
		w.fill(t, fmt.Sprint("file", i))
	}
	var o Opened
	want(t, w.Opendir(caller(), RootID, &o), 0, "opendir")
	defer w.Release(o.Handle)
	from := func(off uint64, most int) (names []string, next uint64) {
		errno := w.Readdir(caller(), o.Handle, off, func(e DirEntry, after uint64) bool {
			if len(names) == most {
				return false
			}
			names, next = append(names, e.Name), after
			return true
		})
		want(t, errno, 0, "readdir")
		return names, next
	}
	all, _ := from(0, 100)
	for off := range uint64(len(all)) {
		if off == 5 {
			want(t, w.Unlink(caller(), RootID, all[7]), 0, "unlink")
			w.fill(t, "later")
		}
		if off == 0 {
			continue
		}
		if got, next := from(off, 2); got[0] != all[off] || next != min(off+2, uint64(len(all))) {
			t.Errorf("from offset %d: %q, next %d; want %q", off, got, next, all[off])
		}
	}
	if got, _ := from(uint64(len(all))+5, 2); len(got) > 0 {
		t.Errorf("behind the end: %q", got)
	}
	if got, _ := from(0, 100); slices.Contains(got, all[7]) || !slices.Contains(got, "later") {
		t.Errorf("from the start again: %q", got)
	}
}

func TestListingIsAsked(t *testing.T) {
	w := newWorld(t, "no-list deny list /dir", allowAll)
	w.fill(t, "dir/")
	var o Opened
	want(t, w.Opendir(caller(), w.at(t, "/dir"), &o), syscall.EACCES, "opendir")
	w.wantEvents(t, "list /dir no-list")
	want(t, w.Opendir(caller(), RootID, &o), 0, "opendir of the root")
	defer w.Release(o.Handle)
	if err := w.Swap(viewOf(t, "none deny list /**", allowAll)); err != nil {
		t.Fatal(err)
	}
	want(t, w.Readdir(caller(), o.Handle, 0, func(DirEntry, uint64) bool { return true }), syscall.EACCES, "readdir after the turn")
	want(t, w.FsyncDir(caller(), o.Handle), syscall.EACCES, "fsyncdir after the turn")
}

// TestListingsAreBounded has the oldest listing that was read halfway be read
// anew when too much is kept, and none be kept that is read or closed.
func TestListingsAreBounded(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "dir/", "dir/a", "dir/b")
	part := func(id HandleID, off uint64) (next uint64) {
		want(t, w.Readdir(caller(), id, off, func(_ DirEntry, n uint64) bool { next = n; return false }), 0, "readdir")
		return next
	}
	var first, second Opened
	want(t, w.Opendir(caller(), w.at(t, "/dir"), &first), 0, "opendir")
	want(t, w.Opendir(caller(), w.at(t, "/dir"), &second), 0, "opendir")
	part(first.Handle, 0)
	w.listings.total += maxListed // as if others had been read
	part(second.Handle, 0)
	w.listings.total -= maxListed
	if got := w.listings.kept.Len(); got != 1 || w.listings.total != 4 {
		t.Errorf("%d listings with %d entries are kept, want the last one of 4", got, w.listings.total)
	}
	if next := part(first.Handle, 1); next != 2 {
		t.Errorf("the dropped listing goes on at %d, want 2", next)
	}
	part(first.Handle, 4)
	w.Release(second.Handle)
	if w.listings.kept.Len() != 0 || w.listings.total != 0 {
		t.Errorf("%d listings with %d entries are kept after the end", w.listings.kept.Len(), w.listings.total)
	}
	w.Release(first.Handle)
}

// TestListingObeysAReload: of what was read before a reload, names that it hides
// are not handed out after it..
func TestListingObeysAReload(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "a", "b", "c")
	var o Opened
	want(t, w.Opendir(caller(), RootID, &o), 0, "opendir")
	defer w.Release(o.Handle)
	var names []string
	list := func(off uint64, most int) (next uint64) {
		names = nil
		want(t, w.Readdir(caller(), o.Handle, off, func(e DirEntry, after uint64) bool {
			if len(names) == most {
				return false
			}
			names, next = append(names, e.Name), after
			return true
		}), 0, "readdir")
		return next
	}
	next := list(0, 1)
	if err := w.Swap(viewOf(t, "hidden hide * /b", allowAll)); err != nil {
		t.Fatal(err)
	}
	if list(next, 100); slices.Contains(names, "b") || !slices.Contains(names, "c") {
		t.Errorf("the rest of the listing is %q", names)
	}
}
