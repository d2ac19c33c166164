package treetest

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func unlink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeDir(t, root, "dir")
	makeFile(t, root, "file", "")
	makeLink(t, root, "dir", "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	check(t, root.UnlinkAt("dir"), unix.EISDIR, "UnlinkAt(dir)")
	check(t, root.UnlinkAt("none"), unix.ENOENT, "UnlinkAt(none)")
	for _, name := range []string{"file", "link", "fifo"} {
		check(t, root.UnlinkAt(name), nil, "UnlinkAt(%q)", name)
		wantAbsent(t, root, name)
	}
	describeAt(t, root, "dir")
}

func rmdir(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "dir")
	makeFile(t, d, "file", "")
	makeLink(t, root, "dir", "link")
	check(t, root.RmdirAt("dir"), unix.ENOTEMPTY, "RmdirAt of a directory with a file")
	check(t, root.RmdirAt("link"), unix.ENOTDIR, "RmdirAt(link)")
	check(t, d.RmdirAt("file"), unix.ENOTDIR, "RmdirAt(file)")
	check(t, root.RmdirAt("none"), unix.ENOENT, "RmdirAt(none)")
	check(t, d.UnlinkAt("file"), nil, "UnlinkAt(file)")
	check(t, root.RmdirAt("dir"), nil, "RmdirAt(dir)")
	wantAbsent(t, root, "dir")
}

func rename(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "dir")
	f := makeFile(t, root, "file", "content")
	id := describe(t, f)
	check(t, root.RenameAt("file", root, "new"), nil, "RenameAt(file, new)")
	wantAbsent(t, root, "file")
	check(t, root.RenameAt("new", d, "deep"), nil, "RenameAt(new, dir/deep)")
	wantAbsent(t, root, "new")
	if st := describeAt(t, d, "deep"); st.ID() != id.ID() {
		t.Errorf("the renamed file has ID %v, want %v", st.ID(), id.ID())
	}
	check(t, d.RenameAt("deep", d, "deep"), nil, "RenameAt to itself")

	// A directory takes what is below it along, open or not.
	check(t, root.RenameAt("dir", root, "moved"), nil, "RenameAt(dir, moved)")
	moved, err := tree.Dir("moved")
	check(t, err, nil, "Dir(moved)")
	closeLater(t, moved)
	for _, d := range []backing.Dir{d, moved} {
		wantContent(t, openFile(t, d, "deep", unix.O_RDONLY), "content")
	}

	// Two names of one file: nothing happens.
	check(t, f.LinkTo(root, "twin"), nil, "LinkTo(twin)")
	check(t, d.RenameAt("deep", root, "twin"), nil, "RenameAt onto its own link")
	describeAt(t, d, "deep")
	describeAt(t, root, "twin")
}

func renameReplaces(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "new", "new")
	old := makeFile(t, root, "old", "old")
	check(t, root.RenameAt("new", root, "old"), nil, "RenameAt(new, old)")
	wantContent(t, openFile(t, root, "old", unix.O_RDONLY), "new")
	wantContent(t, old, "old")
	if st := describe(t, old); st.Nlink != 0 {
		t.Errorf("nlink of the replaced file = %d, want 0", st.Nlink)
	}

	makeLink(t, root, "nowhere", "link")
	check(t, root.RenameAt("old", root, "link"), nil, "RenameAt(old, link)")
	wantMode(t, describeAt(t, root, "link"), unix.S_IFREG|0o644)
	wantAbsent(t, root, "nowhere")

	makeFile(t, makeDir(t, root, "full"), "file", "")
	empty := makeDir(t, root, "empty")
	check(t, root.RenameAt("full", root, "empty"), nil, "RenameAt(full, empty)")
	describeAt(t, openDir(t, root, "empty"), "file")
	check(t, empty.MkdirAt("x", 0o755), unix.ENOENT, "MkdirAt in the replaced directory")
	if got := sortedNames(t, root); !slices.Equal(got, []string{"empty", "link"}) {
		t.Errorf("ReadDir() = %q afterwards", got)
	}
}

func renameErrors(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	a := makeDir(t, root, "a")
	b := makeDir(t, a, "b")
	makeFile(t, b, "file", "")
	makeFile(t, root, "file", "")
	makeDir(t, root, "empty")
	for _, c := range []struct {
		from    backing.Dir
		name    string
		to      backing.Dir
		newName string
		want    error
	}{
		{root, "none", root, "x", unix.ENOENT},
		{root, "none", root, "file", unix.ENOENT},
		{root, "file", root, "empty", unix.EISDIR},
		{root, "empty", root, "file", unix.ENOTDIR},
		{root, "empty", root, "a", unix.ENOTEMPTY},
		{root, "a", a, "x", unix.EINVAL},
		{root, "a", b, "x", unix.EINVAL},
		{root, "a", b, "file", unix.EINVAL},
		{a, "b", root, "a", unix.ENOTEMPTY},
		{b, "file", root, "a", unix.ENOTEMPTY}, // Linux looks for ancestors before types
	} {
		err := c.from.RenameAt(c.name, c.to, c.newName)
		check(t, err, c.want, "RenameAt(%q, %q)", c.name, c.newName)
	}
	gone := makeDir(t, root, "gone")
	check(t, root.RmdirAt("gone"), nil, "RmdirAt(gone)")
	check(t, root.RenameAt("file", gone, "file"), unix.ENOENT, "RenameAt into a removed directory")
	if got := sortedNames(t, root); !slices.Equal(got, []string{"a", "empty", "file"}) {
		t.Errorf("ReadDir() = %q afterwards", got)
	}
}

func renameToAnother(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "kept")
	other := closeLater(t, otherTree())
	check(t, root.RenameAt("file", rootOf(t, other), "file"), unix.EXDEV, "RenameAt to another tree")
	wantContent(t, openFile(t, root, "file", unix.O_RDONLY), "kept")
}
