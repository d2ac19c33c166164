package fs

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// ownView returns a view that knows two names of the backing for its own, one as
// hidden and one as pinned. Their path says nothing.
func (w *world) ownView(t *testing.T, hidden, pinned string) *overlay.View {
	t.Helper()
	rules := map[overlay.FileID]*policy.Rule{}
	for name, r := range map[string]*policy.Rule{
		hidden: {Name: "hidden", Ops: policy.AllOps, Decision: policy.Hide},
		pinned: {Name: "pinned", Ops: policy.DeleteOps | policy.Write.Set(), Decision: policy.Deny},
	} {
		dir, base := parent(t, w.tree, name)
		st, err := dir.StatAt(base)
		if err != nil {
			t.Fatal(err)
		}
		rules[overlay.FileID{Dev: st.Dev, Ino: st.Ino}] = r
	}
	return viewOf(t, allowAll).WithOwn(rules)
}

// TestOwnFiles has what the view is made of not exist in it, by any name: one
// that the kernel knows already, a hard link, and one that is about to be made.
//
func TestOwnFiles(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "own", "link=own", "free", "dir/", "dir/profile", "other")
	known := w.at(t, "/own")
	h := w.open(t, "/own", unix.O_RDWR)
	pinned := w.at(t, "/dir")
	want(t, errnoOf(w.Swap(w.ownView(t, "own", "dir"))), 0, "swap")
	w.records.take()

	var a Attr
	want(t, w.Getattr(caller(), known, &a), syscall.ENOENT, "getattr of a node that is known")
	_, errno := w.Read(caller(), h, make([]byte, 1), 0)
	want(t, errno, syscall.ENOENT, "read of what is open")
	_, errno = w.Write(caller(), h, []byte("x"), 0, WriteIn{})
	want(t, errno, syscall.ENOENT, "write to what is open")
	w.wantEvents(t, "stat /own hidden", "read /own hidden", "write /own hidden")
	for _, path := range []string{"/own", "/link"} {
		_, errno := w.walk(path)
		want(t, errno, syscall.ENOENT, "lookup of "+path)
		w.wantEvents(t, "stat "+path+" hidden")
		_, errno = w.bear(t, path, "")
		want(t, errno, syscall.ENOENT, "create of "+path)
		want(t, w.move(t, "rename", "/free", path), syscall.ENOENT, "rename over "+path)
		want(t, w.Symlink(caller(), RootID, path[1:], "x", &Entry{}), syscall.ENOENT, "symlink at "+path)
		w.records.take()
	}
	if got := namesOf(w.listing(t, "/")); strings.Join(got, " ") != ". .. dir free other" {
		t.Errorf("the root lists %q", got)
	}
	if got := w.content(t, "own"); got != "own" {
		t.Errorf("the view's own file = %q", got)
	}

	want(t, w.move(t, "rename", "/dir", "/away"), syscall.EACCES, "rename of the directory")
	w.wantEvents(t, "rename /dir pinned")
	want(t, w.Getattr(caller(), pinned, &a), 0, "getattr of the directory")
	want(t, w.move(t, "rename", "/other", "/dir/other"), 0, "rename into the directory")
	w.wantEvents(t)
}

// TestOwnFilesOfARestrictedView has a child hide what its parent hides.
func TestOwnFilesOfARestrictedView(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "own", "free")
	child, err := w.ownView(t, "own", "free").Restrict(overlay.Restriction{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, errnoOf(w.Swap(child)), 0, "swap")
	_, errno := w.walk("/own")
	want(t, errno, syscall.ENOENT, "lookup")
}
