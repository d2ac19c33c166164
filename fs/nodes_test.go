package fs

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// known returns how many nodes the server has.
func (w *world) known() int {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return len(w.nodes)
}

func TestForget(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "dir/", "dir/file")
	var file, dir NodeID
	for range 3 {
		dir, file = w.at(t, "/dir"), w.at(t, "/dir/file")
	}
	var a Attr
	w.Forget(file, 2)
	want(t, w.Getattr(caller(), file, &a), 0, "getattr with one reference left")
	w.Forget(dir, 6)
	want(t, w.Getattr(caller(), dir, &a), 0, "getattr of a forgotten directory with a child that is known")
	w.Forget(file, 1)
	want(t, w.Getattr(caller(), file, &a), syscall.ESTALE, "getattr of a forgotten file")
	want(t, w.Getattr(caller(), dir, &a), syscall.ESTALE, "getattr of its directory")
	w.Forget(file, 1)
	w.Forget(RootID, 100)
	want(t, w.Getattr(caller(), RootID, &a), 0, "getattr of the root")
	if got := w.known(); got != 1 {
		t.Errorf("%d nodes are left, want the root alone", got)
	}
	if again := w.at(t, "/dir/file"); again == file {
		t.Errorf("node %d was given out twice", file)
	}
}

func TestForgetWhatIsOpen(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	node := w.at(t, "/file")
	var o Opened
	want(t, w.Open(caller(), node, unix.O_RDWR, &o), 0, "open")
	want(t, w.Unlink(caller(), RootID, "file"), 0, "unlink")
	w.Forget(node, 1)
	if n, errno := w.Read(caller(), o.Handle, make([]byte, 10), 0); n != 4 || errno != 0 {
		t.Errorf("Read = %d, %v", n, name(errno))
	}
	var a Attr
	want(t, w.Getattr(caller(), node, &a), 0, "getattr of what is open")
	w.Release(o.Handle)
	want(t, w.Getattr(caller(), node, &a), syscall.ESTALE, "getattr after release")
	if got := w.known(); got != 1 {
		t.Errorf("%d nodes are left, want the root alone", got)
	}
	if got := w.OpenHandles(); got != 0 {
		t.Errorf("OpenHandles() = %d", got)
	}
}

// TestRenameOfDirectory moves a directory with what is known below it: every
// verdict is that of the new place.
func TestRenameOfDirectory(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "a/", "a/b/", "a/b/c/", "a/b/c/file", "other/")
	dir, file := w.at(t, "/a/b/c"), w.at(t, "/a/b/c/file")
	want(t, w.Rename(caller(), RootID, "a", w.at(t, "/other"), "x"), 0, "rename of a to other/x")
	for id, path := range map[NodeID]vpath.Path{dir: "/other/x/b/c", file: "/other/x/b/c/file"} {
		n, errno := w.node(id)
		want(t, errno, 0, "node")
		if got := w.firstPath(n); got != path {
			t.Errorf("path of node %d = %s, want %s", id, got, path)
		}
	}
	if got := w.at(t, "/other/x/b/c/file"); got != file {
		t.Errorf("node at the new place = %d, want %d", got, file)
	}
	if err := w.Swap(viewOf(t, "there deny chmod /other/x/b/c/file", allowAll)); err != nil {
		t.Fatal(err)
	}
	mode := uint32(0o600)
	var a Attr
	want(t, w.Setattr(caller(), file, &SetattrIn{Mode: &mode}, &a), syscall.EACCES, "chmod at the new place")
	w.wantEvents(t, "chmod /other/x/b/c/file there")
	var e Entry
	want(t, w.Mkdir(caller(), dir, "made", 0o755, &e), 0, "mkdir in the moved directory")
	if !w.has(t, "other/x/b/c/made") {
		t.Error("the backing has nothing at the new place")
	}
}

// TestStrictestOfAllNames looks a file up by a free name first: it can be used
// until the other name is seen, and no more from then on. X-01.
func TestStrictestOfAllNames(t *testing.T) {
	w := newWorld(t, "secrets deny open,write,setxattr /secret/**", allowAll)
	w.fill(t, "secret/", "secret/file", "free/", "free/file=secret/file")
	free := w.at(t, "/free/file")
	h := w.open(t, "/free/file", unix.O_RDWR)
	if got := w.at(t, "/secret/file"); got != free {
		t.Fatalf("two names of one file are nodes %d and %d", free, got)
	}
	var o Opened
	want(t, w.Open(caller(), free, unix.O_RDONLY, &o), syscall.EACCES, "open by the free name")
	_, errno := w.Write(caller(), h, []byte("x"), 0, WriteIn{})
	want(t, errno, syscall.EACCES, "write by a descriptor of the free name")
	w.records.take()
	want(t, w.Unlink(caller(), w.at(t, "/secret"), "file"), 0, "unlink of the other name")
	want(t, w.Open(caller(), free, unix.O_RDONLY, &o), 0, "open when the other name is gone")
	w.Release(o.Handle)
}

// TestVerdictOutlivesTheLastName: a file without a name is judged by its last.
func TestVerdictOutlivesTheLastName(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	h := w.open(t, "/file", unix.O_RDWR)
	want(t, w.Unlink(caller(), RootID, "file"), 0, "unlink")
	if err := w.Swap(viewOf(t, "no deny write /file", allowAll)); err != nil {
		t.Fatal(err)
	}
	_, errno := w.Write(caller(), h, []byte("x"), 0, WriteIn{})
	want(t, errno, syscall.EACCES, "write")
	w.wantEvents(t, "write /file no")
}

// TestGoneFilesLeaveTheTable: an inode number may be used again at once, and
// must not lead to the node of a file that is gone.
func TestGoneFilesLeaveTheTable(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "a", "b", "c", "c2=c")
	for path, gone := range map[string]func() syscall.Errno{
		"/a": func() syscall.Errno { return w.Unlink(caller(), RootID, "a") },
		"/b": func() syscall.Errno {
			w.fill(t, "new")
			w.at(t, "/new")
			return w.Rename(caller(), RootID, "new", RootID, "b")
		},
	} {
		n, _ := w.node(w.at(t, path))
		want(t, gone(), 0, "removing "+path)
		if w.files[n.id] == n {
			t.Errorf("the identity of %s still leads to its node", path)
		}
	}
	n, _ := w.node(w.at(t, "/c"))
	want(t, w.Unlink(caller(), RootID, "c"), 0, "unlink of one of two names")
	if w.files[n.id] != n {
		t.Error("the identity of a file with a further name does not lead to its node")
	}
	if got := w.at(t, "/c2"); got != n.num {
		t.Errorf("the further name is node %d, want %d", got, n.num)
	}
}

// TestReplacedBeside replaces names on the host, beside the view.
func TestReplacedBeside(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "dir/", "dir/old", "file")
	dir, file := w.at(t, "/dir"), w.at(t, "/file")
	root, _ := parent(t, w.tree, "x")
	for _, err := range []error{root.RenameAt("dir", root, "was"), root.UnlinkAt("file")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.fill(t, "dir/", "dir/new", "file")
	if got := w.at(t, "/dir"); got == dir {
		t.Error("another directory under the name has the same node")
	}
	if got := w.at(t, "/file"); got == file {
		t.Error("another file under the name has the same node")
	}
	if _, errno := w.walk("/dir/new"); errno != 0 {
		t.Errorf("lookup in the new directory = %v", name(errno))
	}
	var a Attr
	want(t, w.Getattr(caller(), file, &a), syscall.ESTALE, "getattr of the file that is gone")
	if e, errno := w.walk("/dir/old"); errno != syscall.ENOENT {
		t.Errorf("lookup of what the old directory had = %v, node %d", name(errno), e.Node)
	}
}

// TestParallelNames works on names of one tree from many threads; the table is
// consistent afterwards.
func TestParallelNames(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "a/", "b/")
	dirs := []NodeID{w.at(t, "/a"), w.at(t, "/b")}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				from, to, name := dirs[j%2], dirs[(i+j)%2], fmt.Sprint((i+j)%5)
				var e Entry
				var o Opened
				if w.Create(caller(), from, name, unix.O_RDWR, 0o644, &e, &o) == 0 {
					w.Release(o.Handle)
					w.Forget(e.Node, 1)
				}
				w.Rename(caller(), from, name, to, fmt.Sprint(j%7))
				if w.Lookup(caller(), to, fmt.Sprint(j%7), &e) == 0 {
					w.Forget(e.Node, 1)
				}
				if j%3 == 0 {
					w.Unlink(caller(), to, fmt.Sprint(j%7))
				}
			}
		})
	}
	wg.Wait()
	if got := w.known(); got != 3 {
		t.Errorf("%d nodes are left, want the root and two directories", got)
	}
	if len(w.files) != 0 {
		t.Errorf("%d identities are left", len(w.files))
	}
}
