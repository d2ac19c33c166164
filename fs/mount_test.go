package fs

import (
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// singles serves a root, a file as a mount and a symbolic link as a mount, each
// on a tree of its own.
func singles(t *testing.T) (w, file, link *world) {
	t.Helper()
	w, file, link = &world{}, &world{tree: backing.NewMemory()}, &world{tree: backing.NewMemory()}
	file.fill(t, "settings.json", "beside")
	link.fill(t, "bin>usr/bin")
	view := viewWith(t,
		overlay.Mount{Target: "/", Source: "/memory", Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/etc/settings", Source: "/home/me/settings.json", Kind: overlay.KindFile, Layers: layers(t, allowAll)},
		overlay.Mount{Target: "/bin", Source: "/bin", Kind: overlay.KindSymlink, ReadOnly: true, Layers: layers(t, allowAll)})
	w = serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory(), file.tree, link.tree}})
	return w, file, link
}

// TestFileAsMount reads and writes a file that is a mount, also after the host
// has replaced it by rename. S0-02.
func TestFileAsMount(t *testing.T) {
	w, file, _ := singles(t)
	h := w.open(t, "/etc/settings", unix.O_RDWR)
	if _, errno := w.Write(caller(), h, []byte("changed"), 0, WriteIn{}); errno != 0 {
		t.Fatal(name(errno))
	}
	if got := file.content(t, "settings.json"); got != "changeds.json" {
		t.Errorf("the source holds %q", got)
	}
	if got := namesOf(w.listing(t, "/etc")); !slices.Equal(got, []string{".", "..", "settings"}) {
		t.Errorf("the directory of the mount lists %q", got)
	}
	if _, errno := w.walk("/etc/beside"); errno != syscall.ENOENT {
		t.Errorf("lookup of what stands beside the source = %v", name(errno))
	}
	st, errno := w.Statfs(caller(), w.at(t, "/etc/settings"))
	if errno != 0 || st.Namelen != 255 {
		t.Errorf("Statfs = %+v, %v", st, name(errno))
	}
	want(t, w.Unlink(caller(), w.at(t, "/etc"), "settings"), syscall.EBUSY, "unlink of a mount's target")

	dir, _ := parent(t, file.tree, "x")
	file.fill(t, "new")
	if err := dir.RenameAt("new", dir, "settings.json"); err != nil {
		t.Fatal(err)
	}
	var buf [20]byte
	again := w.open(t, "/etc/settings", unix.O_RDONLY)
	if n, errno := w.Read(caller(), again, buf[:], 0); string(buf[:n]) != "new" || errno != 0 {
		t.Errorf("after the host has replaced it: %q, %v", buf[:n], name(errno))
	}
	if n, _ := w.Read(caller(), h, buf[:], 0); string(buf[:n]) != "changeds.json" {
		t.Errorf("by the old descriptor: %q", buf[:n])
	}
}

// TestLinkAsMount shows a system mount that is a link on the host as that link.
func TestLinkAsMount(t *testing.T) {
	w, _, _ := singles(t)
	e, errno := w.walk("/bin")
	if errno != 0 || e.Attr.Mode&unix.S_IFMT != unix.S_IFLNK {
		t.Fatalf("lookup of /bin = mode %#o, %v", e.Attr.Mode, name(errno))
	}
	if target, errno := w.Readlink(caller(), e.Node); target != "usr/bin" || errno != 0 {
		t.Errorf("readlink = %q, %v", target, name(errno))
	}
	want(t, w.Rename(caller(), RootID, "bin", RootID, "x"), syscall.EBUSY, "rename of a mount's target")
	mode := uint32(0o777)
	var a Attr
	want(t, w.Setattr(caller(), e.Node, &SetattrIn{Mode: &mode}, &a), syscall.EROFS, "chmod of a link on a readonly mount")
}

// TestSynthesised uses a directory that is there because a mount lies below.
func TestSynthesised(t *testing.T) {
	w, _, _ := singles(t)
	etc := w.at(t, "/etc")
	a := w.attr(t, "/etc")
	if a.Mode != unix.S_IFDIR|0o755 || a.Nlink != 1 || a.Ino == 0 {
		t.Errorf("attributes = %+v", a)
	}
	mode, size := uint32(0o700), uint64(0)
	var e Entry
	var o Opened
	for call, errno := range map[string]syscall.Errno{
		"chmod":    w.Setattr(caller(), etc, &SetattrIn{Mode: &mode}, &a),
		"truncate": w.Setattr(caller(), etc, &SetattrIn{Size: &size}, &a),
		"mkdir":    w.Mkdir(caller(), etc, "new", 0o755, &e),
		"create":   w.Create(caller(), etc, "new", unix.O_RDWR, 0o644, &e, &o),
		"setxattr": w.Setxattr(caller(), etc, "user.x", nil, 0),
	} {
		want(t, errno, syscall.EACCES, call)
	}
	for _, a := range w.records.take() {
		if a.Verdict.Rule.Name != "builtin:unmounted" {
			t.Errorf("event %s of %s by %s", a.Op, a.Path, a.Verdict.Rule.Name)
		}
	}
	if st, errno := w.Statfs(caller(), etc); errno != 0 || st.Namelen != 255 {
		t.Errorf("Statfs = %+v, %v", st, name(errno))
	}
	want(t, w.Opendir(caller(), etc, &o), 0, "opendir")
	want(t, w.FsyncDir(caller(), o.Handle), 0, "fsync of the directory")
	w.Release(o.Handle)

	w.fill(t, "etc/", "etc/passwd")
	if e, errno := w.walk("/etc/passwd"); errno != 0 {
		t.Errorf("lookup below a directory that the backing has got by now = %v, node %d", name(errno), e.Node)
	}
	if got := namesOf(w.listing(t, "/etc")); !slices.Equal(got, []string{".", "..", "passwd", "settings"}) {
		t.Errorf("listing = %q", got)
	}
}
