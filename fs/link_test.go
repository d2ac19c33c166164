package fs

import (
	"syscall"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

func TestLinksInside(t *testing.T) {
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/cache", Source: "/cache", Layers: layers(t, allowAll)})
	second := backing.NewMemory()
	w := serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory(), second}, Symlinks: SymlinksInside, Mountpoint: "/mnt/view"})
	w.fill(t, "a/", "a/b/", "a/b/file", "up>..", "a/up2>../..", "a/b/top>../../..", "into>cache/x", "abs>/mnt/view/a", "etc>/etc",
		"loop>loop", "a/chain>b/again", "a/b/again>../../up/up", "sub>a/b", "a/b/out>../../../etc")
	(&world{tree: second}).fill(t, "x/", "escape>../..", "x/home>../../a")
	for _, c := range []struct {
		path, target string
		inside       bool
	}{
		{"/l", "a", true}, {"/l", "./a//b/", true}, {"/l", "none/at/all", true}, {"/l", "a/b/../../a", true},
		{"/l", "..", false}, {"/l", "a/../..", false}, {"/a/l", "..", true}, {"/a/l", "../..", false}, {"/a/l", "../a/../..", false},
		{"/l", "/etc/passwd", false}, {"/l", "/mnt/view/a", true}, {"/l", "/mnt/viewer", false}, {"/l", "/mnt/view", true}, {"/l", "/mnt", false},
		{"/l", "/mnt/view/..", false}, {"/l", "/mnt/view/a/../../etc", false},
		{"/l", "up", false}, {"/l", "a/up2", false}, {"/l", "a/b/top", false}, {"/l", "etc", false}, {"/l", "etc/passwd", false}, {"/l", "abs", true}, {"/l", "abs/b", true},
		{"/l", "into", true}, {"/l", "into/home", true}, {"/l", "cache/escape", false}, {"/l", "into/..", true}, {"/l", "into/../../..", false},
		{"/l", "loop", false}, {"/l", "a/chain", false}, {"/l", "sub/file", true}, {"/l", "sub/..", true}, {"/l", "sub/../../..", false}, {"/l", "sub/out", false},
		{"/l", "a/b/file/../..", true}, // the kernel says ENOTDIR: nothing is reached
	} {
		if got := w.linkStays(vpath.Path(c.path), c.target); got != c.inside {
			t.Errorf("a link at %s to %q stays inside: %t, want %t", c.path, c.target, got, c.inside)
		}
	}
}

func TestLinkModes(t *testing.T) {
	for mode, c := range map[Symlinks]struct{ out, in syscall.Errno }{
		SymlinksFollow: {0, 0}, SymlinksInside: {syscall.EACCES, 0}, SymlinksReject: {syscall.EACCES, syscall.EACCES},
	} {
		w := serve(t, Config{View: viewOf(t, allowAll), Trees: []backing.Tree{backing.NewMemory()}, Symlinks: mode})
		w.fill(t, "out>/etc/passwd", "in>file", "file")
		for name, errno := range map[string]syscall.Errno{"out": c.out, "in": c.in} {
			target, got := w.Readlink(caller(), w.at(t, "/"+name))
			want(t, got, errno, "readlink of "+name)
			if (errno == 0) != (target != "") {
				t.Errorf("readlink of %s = %q", name, target)
			}
		}
		var e Entry
		want(t, w.Symlink(caller(), RootID, "new-out", "../../etc", &e), c.out, "symlink to outside")
		want(t, w.Symlink(caller(), RootID, "new-in", "file", &e), c.in, "symlink to inside")
		if got := w.has(t, "new-out"); got != (c.out == 0) {
			t.Errorf("mode %d: the link to outside was made: %t", mode, got)
		}
		for _, a := range w.records.take() {
			if a.Verdict.Rule.Name != "builtin:symlink" {
				t.Errorf("event by %s", a.Verdict.Rule.Name)
			}
		}
	}
}

// TestLinksMovedOutside: a relative link leads elsewhere from another place. S0-10, X-03.
func TestLinksMovedOutside(t *testing.T) {
	for _, call := range []string{"rename", "link"} {
		w := serve(t, Config{View: viewOf(t, allowAll), Trees: []backing.Tree{backing.NewMemory()}, Symlinks: SymlinksInside})
		w.fill(t, "deep/", "deep/down/", "deep/down/up>../../x", "deep/down/two>../x")
		want(t, w.move(t, call, "/deep/down/up", "/deep/up"), syscall.EACCES, call+" to where it leads out")
		w.wantEvents(t, call+" /deep/down/up builtin:symlink")
		if w.has(t, "deep/up") {
			t.Errorf("%s has made the name", call)
		}
		want(t, w.move(t, call, "/deep/down/two", "/deep/two"), 0, call+" to where it stays inside")
	}
}
