package treetest

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func walkRoot(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	st := describe(t, root)
	if !st.IsDir() {
		t.Fatalf("the root has mode %#o, want a directory", st.Mode)
	}
	makeDir(t, makeDir(t, root, "a"), "b")
	for _, rel := range []string{"", "a", "a/b"} {
		d, err := tree.Dir(rel)
		check(t, err, nil, "Dir(%q)", rel)
		closeLater(t, d)
	}
	deep, err := tree.Dir("a/b")
	check(t, err, nil, "Dir(a/b)")
	closeLater(t, deep)
	want := describeAt(t, openDir(t, root, "a"), "b")
	if got := describe(t, deep); got.ID() != want.ID() {
		t.Errorf("Dir(a/b) is %v, DirAt found %v", got.ID(), want.ID())
	}
}

func walkErrors(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	makeDir(t, makeDir(t, root, "a"), "b")
	makeFile(t, root, "file", "")
	makeLink(t, root, "a", "link")
	makeLink(t, root, "/", "absolute")
	makeLink(t, root, "..", "up")
	for _, c := range []struct {
		rel  string
		want error
	}{
		{"/", unix.EINVAL}, {"/a", unix.EINVAL}, {"a/", unix.EINVAL}, {"a//b", unix.EINVAL},
		{".", unix.EINVAL}, {"..", unix.EINVAL}, {"a/..", unix.EINVAL}, {"a/../a", unix.EINVAL},
		{"a/./b", unix.EINVAL}, {"a\x00b", unix.EINVAL},
		{"none", unix.ENOENT}, {"none/b", unix.ENOENT}, {"a/none", unix.ENOENT},
		{"file", unix.ENOTDIR}, {"file/b", unix.ENOTDIR},
		{"link", unix.ELOOP}, {"link/b", unix.ELOOP}, {"absolute", unix.ELOOP},
		{"absolute/tmp", unix.ELOOP}, {"up", unix.ELOOP}, {"up/a", unix.ELOOP},
		{strings.Repeat("n", 256), unix.ENAMETOOLONG},
	} {
		d, err := tree.Dir(c.rel)
		check(t, err, c.want, "Dir(%q)", c.rel)
		if d != nil {
			t.Errorf("Dir(%q) returned a directory with an error", c.rel)
		}
	}
}

// walkLongPath makes a path that no single system call takes.
func walkLongPath(t *testing.T, tree backing.Tree) {
	const levels = 30
	name := strings.Repeat("long", 50)
	d := rootOf(t, tree)
	for range levels {
		d = makeDir(t, d, name)
	}
	makeFile(t, d, "file", "deep")
	rel := strings.TrimSuffix(strings.Repeat(name+"/", levels), "/")
	found, err := tree.Dir(rel)
	check(t, err, nil, "Dir(%d levels of %d bytes)", levels, len(name))
	closeLater(t, found)
	wantContent(t, openFile(t, found, "file", unix.O_RDONLY), "deep")
	_, err = tree.Dir(rel + "/none")
	check(t, err, unix.ENOENT, "Dir(%d levels of %d bytes and none)", levels, len(name))
}
