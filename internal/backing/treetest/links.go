package treetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func symlink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	for _, target := range []string{
		"x", "/etc/passwd", "../../..", "a//b/./c/", "new\nline\xff", strings.Repeat("t", 255),
		strings.Repeat("t", 256), strings.Repeat("t", 257), strings.Repeat("t", 4095),
	} {
		makeLink(t, root, target, "link")
		got, err := root.ReadlinkAt("link")
		check(t, err, nil, "ReadlinkAt(link)")
		if got != target {
			t.Errorf("ReadlinkAt = %q, want %q", got, target)
		}
		check(t, root.SymlinkAt(target, "link"), unix.EEXIST, "SymlinkAt again")
		check(t, root.UnlinkAt("link"), nil, "UnlinkAt(link)")
	}
	check(t, root.SymlinkAt("", "link"), unix.ENOENT, "SymlinkAt to nothing")
	check(t, root.SymlinkAt("a\x00b", "link"), unix.EINVAL, "SymlinkAt with NUL")
	check(t, root.SymlinkAt(strings.Repeat("t", 4096), "link"), unix.ENAMETOOLONG, "SymlinkAt to 4096 bytes")

	makeDir(t, root, "dir")
	makeFile(t, root, "file", "")
	for _, name := range []string{"dir", "file"} {
		_, err := root.ReadlinkAt(name)
		check(t, err, unix.EINVAL, "ReadlinkAt(%q)", name)
	}
	_, err := root.ReadlinkAt("none")
	check(t, err, unix.ENOENT, "ReadlinkAt(none)")
}

// outsideDir makes a directory of the host that no tree has, with a file
// "secret" and a directory "sub" that has one too.
func outsideDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret", "sub/secret"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("outside"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// linksNotFollowed tries each operation on links to the outside, as the last
// name and as one before.
func linksNotFollowed(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	outside := outsideDir(t)
	makeLink(t, root, outside, "dir")
	makeLink(t, root, filepath.Join(outside, "secret"), "file")
	makeLink(t, root, filepath.Join(outside, "absent"), "absent")
	makeLink(t, makeDir(t, root, "inner"), outside, "dir")

	for _, rel := range []string{"dir", "dir/sub", "inner/dir", "inner/dir/sub"} {
		_, err := tree.Dir(rel)
		check(t, err, unix.ELOOP, "Dir(%q)", rel)
	}
	for _, name := range []string{"dir", "file", "absent"} {
		_, err := root.DirAt(name)
		check(t, err, unix.ELOOP, "DirAt(%q)", name)
		_, err = root.OpenAt(name, unix.O_RDWR)
		check(t, err, unix.ENXIO, "OpenAt(%q)", name)
		_, err = root.CreateAt(name, unix.O_RDWR, 0o666)
		check(t, err, unix.EEXIST, "CreateAt(%q)", name)
		check(t, root.MkdirAt(name, 0o777), unix.EEXIST, "MkdirAt(%q)", name)
		check(t, root.MknodAt(name, 0o666), unix.EEXIST, "MknodAt(%q)", name)
		check(t, root.RmdirAt(name), unix.ENOTDIR, "RmdirAt(%q)", name)
		if st := describe(t, openObject(t, root, name)); st.Mode&unix.S_IFMT != unix.S_IFLNK {
			t.Errorf("ObjectAt(%q) has mode %#o, want the link", name, st.Mode)
		}
		check(t, root.RenameAt(name, root, "moved"), nil, "RenameAt(%q)", name)
		check(t, root.UnlinkAt("moved"), nil, "UnlinkAt(moved)")
	}
	got, err := os.ReadFile(filepath.Join(outside, "secret"))
	if err != nil || string(got) != "outside" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory outside holds %v, %v", entries, err)
	}
}

func hardLink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "dir")
	f := makeFile(t, root, "file", "content")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)
	check(t, f.LinkTo(root, "by-file"), nil, "File.LinkTo")
	check(t, openObject(t, root, "file").LinkTo(d, "by-object"), nil, "Object.LinkTo")
	check(t, openFile(t, root, "file", unix.O_RDONLY).LinkTo(d, "by-reader"), nil, "read-only File.LinkTo")
	check(t, openObject(t, root, "fifo").LinkTo(d, "fifo"), nil, "LinkTo of a FIFO")
	want := describe(t, f)
	if want.Nlink != 4 {
		t.Errorf("nlink = %d, want 4", want.Nlink)
	}
	for _, got := range []backing.Stat{
		describeAt(t, root, "by-file"), describeAt(t, d, "by-object"), describeAt(t, d, "by-reader"),
	} {
		if got.ID() != want.ID() || got.Nlink != 4 {
			t.Errorf("a link has ID %v and nlink %d, want %v and 4", got.ID(), got.Nlink, want.ID())
		}
	}
	check(t, root.UnlinkAt("file"), nil, "UnlinkAt(file)")
	wantContent(t, openFile(t, d, "by-object", unix.O_RDONLY), "content")
	if st := describe(t, f); st.Nlink != 3 {
		t.Errorf("nlink = %d after UnlinkAt, want 3", st.Nlink)
	}
}

func hardLinkOfLink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeFile(t, root, "file", "")
	makeLink(t, root, "file", "link")
	check(t, openObject(t, root, "link").LinkTo(root, "again"), nil, "LinkTo of a link")
	link, again := describeAt(t, root, "link"), describeAt(t, root, "again")
	if link.ID() != again.ID() || again.Nlink != 2 {
		t.Errorf("the link has ID %v, the link to it %v with nlink %d", link.ID(), again.ID(), again.Nlink)
	}
	if st := describeAt(t, root, "file"); st.Nlink != 1 {
		t.Errorf("the file behind the link has nlink %d, want 1", st.Nlink)
	}
}

func hardLinkErrors(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "dir")
	f := makeFile(t, root, "file", "")
	check(t, f.LinkTo(root, "file"), unix.EEXIST, "LinkTo(file)")
	check(t, f.LinkTo(root, "dir"), unix.EEXIST, "LinkTo(dir)")
	check(t, d.LinkTo(root, "other"), unix.EPERM, "LinkTo of a directory")

	gone := makeFile(t, root, "gone", "")
	held := openObject(t, root, "gone")
	check(t, root.UnlinkAt("gone"), nil, "UnlinkAt(gone)")
	check(t, gone.LinkTo(root, "back"), unix.ENOENT, "LinkTo of an unlinked file")
	check(t, held.LinkTo(root, "back"), unix.ENOENT, "LinkTo of an unlinked object")

	check(t, root.RmdirAt("dir"), nil, "RmdirAt(dir)")
	check(t, f.LinkTo(d, "other"), unix.ENOENT, "LinkTo in a removed directory")
	other := closeLater(t, otherTree())
	check(t, f.LinkTo(rootOf(t, other), "other"), unix.EXDEV, "LinkTo in another tree")
	if got := sortedNames(t, root); !slices.Equal(got, []string{"file"}) {
		t.Errorf("ReadDir() = %q afterwards", got)
	}
}

// otherTree returns a tree that is on no device of a tree under test.
func otherTree() backing.Tree { return backing.NewMemory() }
