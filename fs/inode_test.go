package fs

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
)

func TestInodeNumbers(t *testing.T) {
	var table inodes
	for i, dev := range []uint64{7, 9, 8} {
		if got := table.device(dev); got != uint64(i) {
			t.Errorf("device(%d) = %d, want %d", dev, got, i)
		}
	}
	for _, c := range []struct{ dev, ino, want uint64 }{
		{7, 5, 5}, {9, 5, 1<<48 | 5}, {8, 5, 2<<48 | 5}, {7, 1<<48 - 1, 1<<48 - 1}, {10, 1, 3<<48 | 1}, {9, 6, 1<<48 | 6},
	} {
		if got := table.number(c.dev, c.ino); got != c.want {
			t.Errorf("number(%d, %d) = %#x, want %#x", c.dev, c.ino, got, c.want)
		}
	}
	if a, b := synthesised(inodeSynth, "/a"), synthesised(inodeSynth, "/b"); a == b || a>>48 != inodeSynth {
		t.Errorf("synthesised inodes %#x and %#x", a, b)
	}
}

// TestInodesAgree compares the numbers of listings with those of attributes, in
// a view of two file systems whose own numbers are the same.
func TestInodesAgree(t *testing.T) {
	first, second := backing.NewMemory(), backing.NewMemory()
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/synth/mounted", Source: "/other", Layers: layers(t, allowAll)})
	w := serve(t, Config{View: view, Trees: []backing.Tree{first, second}})
	w.fill(t, "dir/", "dir/file", "file")
	other := &world{tree: second}
	other.fill(t, "dir/", "dir/file", "file")
	seen := make(map[uint64]string)
	var visit func(path string)
	visit = func(path string) {
		for _, e := range w.listing(t, path) {
			if e.Name == "." || e.Name == ".." {
				continue
			}
			below := path + "/" + e.Name
			found, errno := w.walk(below)
			want(t, errno, 0, "lookup of "+below)
			if found.Attr.Ino != e.Ino || uint8(found.Attr.Mode>>12) != e.Type {
				t.Errorf("%s: inode %#x and mode %#o, in the listing %#x and type %d", below, found.Attr.Ino, found.Attr.Mode, e.Ino, e.Type)
			}
			if twin := seen[e.Ino]; twin != "" {
				t.Errorf("%s and %s have the same inode", twin, below)
			}
			seen[e.Ino] = below
			if e.Type == 4 {
				visit(below)
			}
		}
	}
	visit("")
	if len(seen) != 8 {
		t.Errorf("%d names were seen: %v", len(seen), seen)
	}
}
