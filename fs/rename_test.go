package fs

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// TestNothingIsGained moves and links what would be allowed more at the new
// place, or could be planted there..
func TestNothingIsGained(t *testing.T) {
	lines := []string{
		"closed-way allow stat,rename,unlink,rmdir,list,open /closed/**", "closed deny * /closed/**",
		"hooks deny write,create,delete /**/.git/hooks/**", "kept deny delete /kept/**", "hidden hide * /**/hidden",
		"watched audit read /watched/**", allowAll,
	}
	files := []string{"closed/", "closed/file", "closed/dir/", "closed/dir/file", "closed/empty/", "free/", "free/file",
		"x/", "x/hooks/", "x/hooks/pre-commit", "y/", "y/deep/", "y/deep/deeper/", "y/deep/deeper/hidden", "kept/", "kept/dir/", "kept/dir/file", "watched/", "watched/file", "watched/dir/"}
	for _, c := range []struct {
		call, from, to string
		want           syscall.Errno
		event          string
	}{
		{"rename", "/closed/file", "/closed/file2", syscall.EACCES, "create /closed/file2 closed"},
		{"rename", "/closed/file", "/free/gained", syscall.EXDEV, "rename /closed/file builtin:subtree"},
		{"rename", "/closed/dir", "/free/gained", syscall.EXDEV, "rename /closed/dir builtin:subtree"},
		{"rename", "/closed/empty", "/free/gained", syscall.EXDEV, "rename /closed/empty builtin:subtree"},
		{"rename", "/free/file", "/free/moved", 0, ""},
		{"rename", "/free/file", "/closed/lost", syscall.EACCES, "create /closed/lost closed"},
		{"rename", "/x", "/.git", syscall.EXDEV, "rename /x builtin:subtree"},
		{"rename", "/x", "/moved", 0, ""},
		{"rename", "/y", "/moved", 0, ""},
		{"rename", "/y/deep", "/x/moved", 0, ""},
		{"rename", "/kept/dir", "/free/dir", syscall.EACCES, "rename /kept/dir kept"},
		{"rename", "/watched/file", "/free/file2", syscall.EXDEV, "rename /watched/file builtin:subtree"},
		{"rename", "/watched/dir", "/free/dir", syscall.EXDEV, "rename /watched/dir builtin:subtree"},
		{"rename", "/free/file", "/free/hidden", syscall.ENOENT, "create /free/hidden hidden"},
		{"rename", "/free/none", "/free/other", syscall.ENOENT, ""},
		{"link", "/closed/file", "/free/gained", syscall.EACCES, "read /closed/file closed"},
		{"link", "/free/file", "/free/again", 0, ""},
		{"link", "/free/file", "/closed/file2", syscall.EACCES, "link /closed/file2 closed"},
		{"link", "/free/file", "/free/hidden", syscall.ENOENT, "link /free/hidden hidden"},
		{"link", "/kept/dir/file", "/free/gained", syscall.EXDEV, "link /kept/dir/file builtin:subtree"},
	} {
		w := newWorld(t, lines...)
		w.fill(t, files...)
		call := fmt.Sprintf("%s(%s, %s)", c.call, c.from, c.to)
		if got := w.move(t, c.call, c.from, c.to); got != c.want {
			t.Errorf("%s = %v, want %v", call, name(got), name(c.want))
		}
		if moved := w.has(t, c.to[1:]); moved != (c.want == 0) {
			t.Errorf("%s: the new name is there: %t", call, moved)
		}
		if c.event == "" {
			w.wantEvents(t)
		} else {
			w.wantEvents(t, c.event)
		}
	}
}

// move renames or links by path, as the kernel does: with the nodes of the
// directories, after a lookup of both names.
func (w *world) move(t *testing.T, call, from, to string) syscall.Errno {
	t.Helper()
	dir := func(path string) (NodeID, string) {
		for i := len(path) - 1; ; i-- {
			if path[i] == '/' {
				return w.at(t, path[:i]), path[i+1:]
			}
		}
	}
	oldDir, oldName := dir(from)
	newDir, newName := dir(to)
	old, _ := w.walk(from)
	w.walk(to)
	w.records.take()
	if call == "link" {
		var e Entry
		return w.Link(caller(), old.Node, newDir, newName, &e)
	}
	return w.Rename(caller(), oldDir, oldName, newDir, newName)
}

// TestSubtreeLimit: a directory with too much below it to be looked through is
// taken for one that gains.
func TestSubtreeLimit(t *testing.T) {
	w := newWorld(t, "odd deny write /b/**/odd", allowAll)
	w.fill(t, "a/", "a/dir/", "a/dir/sub/", "a/dir/sub/file", "a/dir/x", "b/")
	top, _ := parent(t, w.tree, "a/dir")
	dir, err := top.DirAt("dir")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, c := range []struct {
		left int
		same bool
	}{{2, false}, {3, true}, {100, true}} {
		left := c.left
		if same, err := sameBelow(w.View(), dir, "/a/dir", "/b/dir", &left); same != c.same || err != nil {
			t.Errorf("sameBelow with %d entries at most = %t, %v; want %t", c.left, same, err, c.same)
		}
	}
	w.fill(t, "a/dir/sub/odd")
	left := 100
	if same, _ := sameBelow(w.View(), dir, "/a/dir", "/b/dir", &left); same {
		t.Error("sameBelow finds a name that is denied there alike")
	}
	want(t, w.move(t, "rename", "/a/dir", "/b/dir"), syscall.EXDEV, "rename")
	want(t, w.move(t, "rename", "/a/dir", "/a/other"), 0, "rename to where all is alike")
}

// TestAcrossMounts: the two ends of a rename or a link are on one mount, and
// what a mount stands on is not moved.
func TestAcrossMounts(t *testing.T) {
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/deep/down/mounted", Source: "/other", Layers: layers(t, allowAll)})
	second := backing.NewMemory()
	w := serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory(), second}})
	w.fill(t, "file", "dir/", "deep/")
	(&world{tree: second}).fill(t, "there")
	for _, c := range []struct {
		call, from, to string
		want           syscall.Errno
		event          string
	}{
		{"rename", "/file", "/deep/down/mounted/file", syscall.EXDEV, "rename /file builtin:cross-mount"},
		{"rename", "/deep/down/mounted/there", "/there", syscall.EXDEV, "rename /deep/down/mounted/there builtin:cross-mount"},
		{"link", "/file", "/deep/down/mounted/file", syscall.EXDEV, "link /file builtin:cross-mount"},
		{"rename", "/deep", "/moved", syscall.EBUSY, "rename /deep builtin:mountpoint"},
		{"rename", "/deep/down", "/moved", syscall.EBUSY, "rename /deep/down builtin:mountpoint"},
		{"rename", "/deep/down/mounted", "/moved", syscall.EBUSY, "rename /deep/down/mounted builtin:mountpoint"},
		{"rename", "/dir", "/deep/down/mounted", syscall.EBUSY, "rename /dir builtin:mountpoint"},
		{"rename", "/dir", "/deep", syscall.EBUSY, "rename /dir builtin:mountpoint"},
		{"rename", "/deep/down/mounted/there", "/deep/down/mounted/moved", 0, ""},
		{"rename", "/file", "/deep/file", 0, ""},
		{"rename", "/dir", "/deep/down/dir", syscall.EACCES, "create /deep/down/dir builtin:unmounted"},
	} {
		if got := w.move(t, c.call, c.from, c.to); got != c.want {
			t.Errorf("%s(%s, %s) = %v, want %v", c.call, c.from, c.to, name(got), name(c.want))
		}
		if c.event == "" {
			w.wantEvents(t)
		} else {
			w.wantEvents(t, c.event)
		}
	}
	w.records.take()
	want(t, w.Rmdir(caller(), RootID, "deep"), syscall.EBUSY, "rmdir of a directory above a mount")
	want(t, w.Rmdir(caller(), w.at(t, "/deep/down"), "mounted"), syscall.EBUSY, "rmdir of a mount's target")
	w.wantEvents(t, "rmdir /deep builtin:mountpoint", "rmdir /deep/down/mounted builtin:mountpoint")
}

// TestRenameOntoAnotherName of the same file does nothing, and neither name is
// forgotten.
func TestRenameOntoAnotherName(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "a", "b=a")
	node := w.at(t, "/a")
	want(t, w.move(t, "rename", "/a", "/b"), 0, "rename")
	if !w.has(t, "a") || !w.has(t, "b") || w.at(t, "/a") != node || w.at(t, "/b") != node {
		t.Error("a name of the file is gone")
	}
}

// TestLinkComesAsALink: a symbolic link that is moved, or gets a further name,
// is one more there, and asked for as one..
func TestLinkComesAsALink(t *testing.T) {
	for _, call := range []string{"rename", "link"} {
		w := newWorld(t, "files-only deny symlink /b/**", allowAll)
		w.fill(t, "a/", "a/l>x", "a/f", "b/", "b/there", "c/")
		want(t, w.move(t, call, "/a/l", "/b/l"), syscall.EACCES, call+" of a link")
		w.wantEvents(t, "symlink /b/l files-only")
		want(t, w.move(t, call, "/a/f", "/b/f"), 0, call+" of a file")
		want(t, w.move(t, call, "/a/l", "/c/l"), 0, call+" of a link to elsewhere")
	}
}
