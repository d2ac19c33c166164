package treetest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func readDir(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	if got := sortedNames(t, root); len(got) != 0 {
		t.Errorf("ReadDir() of an empty directory = %q", got)
	}
	makeDir(t, root, "dir")
	makeFile(t, root, "file", "")
	makeLink(t, root, "dir", "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	makeNode(t, root, "socket", unix.S_IFSOCK|0o600)
	types := map[string]uint8{
		"dir": unix.DT_DIR, "file": unix.DT_REG, "link": unix.DT_LNK, "fifo": unix.DT_FIFO, "socket": unix.DT_SOCK,
	}
	list, err := root.ReadDir()
	check(t, err, nil, "ReadDir()")
	for _, e := range list {
		if want, ok := types[e.Name]; !ok || e.Type != want && e.Type != unix.DT_UNKNOWN {
			t.Errorf("ReadDir() has %+v, want type %d", e, want)
		}
		delete(types, e.Name)
		// An overlayfs over several file systems lists other numbers for directories.
		if st := describeAt(t, root, e.Name); st.Ino != e.Ino && !st.IsDir() {
			t.Errorf("ReadDir() has %+v, StatAt says inode %d", e, st.Ino)
		}
	}
	if len(types) != 0 {
		t.Errorf("ReadDir() lacks %v", types)
	}
}

func readDirLarge(t *testing.T, tree backing.Tree) {
	const count = 20_500
	d := makeDir(t, rootOf(t, tree), "large")
	inos := make(map[string]uint64, count)
	for i := range count {
		name := fmt.Sprintf("entry-%d-%0*d", i, i%120, i)
		makeNode(t, d, name, unix.S_IFREG|0o600)
		inos[name] = describeAt(t, d, name).Ino
	}
	list, err := d.ReadDir()
	check(t, err, nil, "ReadDir()")
	if len(list) != count {
		t.Fatalf("ReadDir() = %d entries, want %d", len(list), count)
	}
	for _, e := range list {
		if want, ok := inos[e.Name]; !ok || want != e.Ino {
			t.Fatalf("ReadDir() has %+v, want inode %d once", e, want)
		}
		delete(inos, e.Name)
	}
}

func readDirAfresh(t *testing.T, tree backing.Tree) {
	d := makeDir(t, rootOf(t, tree), "dir")
	for i := range 3 {
		makeNode(t, d, fmt.Sprint(i), unix.S_IFREG|0o600)
		if got := sortedNames(t, d); len(got) != i+1 {
			t.Errorf("ReadDir() = %q after %d files", got, i+1)
		}
	}
}

func removedDir(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "dir")
	check(t, root.RmdirAt("dir"), nil, "RmdirAt(dir)")
	if st := describe(t, d); !st.IsDir() {
		t.Errorf("Stat() of a removed directory = %+v", st)
	}
	_, err := d.ReadDir()
	check(t, err, unix.ENOENT, "ReadDir()")
	_, err = d.CreateAt("file", unix.O_RDWR, 0o600)
	check(t, err, unix.ENOENT, "CreateAt")
	check(t, d.MkdirAt("sub", 0o700), unix.ENOENT, "MkdirAt")
	check(t, d.SymlinkAt("x", "link"), unix.ENOENT, "SymlinkAt")
	check(t, d.MknodAt("node", 0o600), unix.ENOENT, "MknodAt")
	_, err = d.StatAt("file")
	check(t, err, unix.ENOENT, "StatAt")
	check(t, d.Chmod(0o700), nil, "Chmod of a removed directory")
}

func statfs(t *testing.T, tree backing.Tree) {
	st, err := rootOf(t, tree).Statfs()
	check(t, err, nil, "Statfs()")
	if st.Blocks == 0 || st.Bsize == 0 || st.Namelen != 255 || st.Bfree > st.Blocks {
		t.Errorf("Statfs() = %+v", st)
	}
}
