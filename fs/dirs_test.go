package fs

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func TestDirCacheEviction(t *testing.T) {
	tree := backing.NewMemory()
	c := newDirCache(2)
	nodes := []*node{{num: 2}, {num: 3}, {num: 4}, {num: 5}}
	put := func(n *node) *dirRef {
		t.Helper()
		d, err := tree.Dir("")
		if err != nil {
			t.Fatal(err)
		}
		return c.put(n, d)
	}
	open := func(want int, when string) {
		t.Helper()
		if got := tree.OpenObjects(); got != want {
			t.Errorf("%s: %d directories are open, want %d", when, got, want)
		}
	}
	put(nodes[0]).release()
	put(nodes[1]).release()
	c.get(nodes[0]).release() // now nodes[1] is the one not used for longest
	inUse := put(nodes[2])
	open(2, "three were put")
	if c.get(nodes[1]) != nil {
		t.Error("the one not used for longest is still there")
	}
	put(nodes[3]).release()
	put(nodes[0]).release()
	open(3, "one in use was evicted")
	inUse.use().release()
	open(3, "one of its two uses has ended")
	inUse.release()
	open(2, "it is not in use any more")

	d, _ := tree.Dir("")
	first := c.get(nodes[0])
	if second := c.put(nodes[0], d); second != first {
		t.Error("put of what is there did not return it")
	} else {
		second.release()
	}
	c.drop(nodes[0])
	c.drop(nodes[0])
	open(2, "dropped while in use")
	first.release()
	open(1, "dropped")
	c.closeAll()
	open(0, "closed")
}

// TestFewDescriptors walks a deep and wide tree with two descriptors, from many
// threads: what was evicted is opened again by its place.
func TestFewDescriptors(t *testing.T) {
	w := newWorld(t, allowAll)
	w.dirs.limit = 2
	names := []string{}
	for i := range 6 {
		top := fmt.Sprintf("%d/", i)
		names = append(names, top, top+"sub/", top+"sub/deep/", top+"sub/deep/file")
	}
	w.fill(t, names...)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 60 {
				path := fmt.Sprintf("/%d/sub/deep/file", (i+j)%6)
				e, errno := w.walk(path)
				var a Attr
				if errno == 0 {
					errno = w.Getattr(caller(), e.Node, &a)
				}
				if errno != 0 || int(a.Size) != len(path)-1 {
					t.Errorf("%s: %v, size %d", path, name(errno), a.Size)
				}
			}
		})
	}
	wg.Wait()
	if got := len(w.dirs.refs); got > 2 || w.dirs.lru.Len() != got {
		t.Errorf("%d directories are cached in a list of %d, want at most 2", got, w.dirs.lru.Len())
	}
	w.dirs.closeAll()
	before := w.tree.OpenObjects()
	if _, errno := w.walk("/1/sub/deep/file"); errno != 0 {
		t.Errorf("a walk after everything was closed = %v", name(errno))
	}
	if after := w.tree.OpenObjects(); after > before+2 {
		t.Errorf("the walk left %d directories open", after-before)
	}
}

// TestEvictedAndReplaced: what is opened again by its place is the same
// directory, or ESTALE.
func TestEvictedAndReplaced(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "dir/", "dir/file")
	dir := w.at(t, "/dir")
	w.at(t, "/dir/file")
	w.dirs.closeAll()
	root, _ := parent(t, w.tree, "x")
	if err := root.RenameAt("dir", root, "was"); err != nil {
		t.Fatal(err)
	}
	w.fill(t, "dir/", "dir/file")
	var e Entry
	want(t, w.Mkdir(caller(), dir, "new", 0o755, &e), syscall.ESTALE, "mkdir in a directory whose place another has taken")
	if w.has(t, "dir/new") || w.has(t, "was/new") {
		t.Error("something was made all the same")
	}
}
