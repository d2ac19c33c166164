package fs

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// zones serves two zones in which nothing may be deleted without being asked.
func zones(t *testing.T) *world {
	t.Helper()
	var mounts []overlay.Mount
	for _, name := range []string{"drafts", "other"} {
		m, err := overlay.ZoneMount(overlay.Zone{Name: name, Path: "/" + name, Mode: overlay.ModeRW, Write: overlay.ApprovalPre, Delete: overlay.ApprovalBlocked})
		if err != nil {
			t.Fatal(err)
		}
		mounts = append(mounts, m)
	}
	return serve(t, Config{View: viewWith(t, mounts...), Trees: []backing.Tree{backing.NewMemory(), backing.NewMemory()}})
}

// TestAtomicSaveInZone: a file that the same process made replaces another, as
// editors do; that is no deletion. S2-03.
func TestAtomicSaveInZone(t *testing.T) {
	w := zones(t)
	w.fill(t, "file", "old")
	zone := w.at(t, "/drafts")
	_, o := w.create(t, zone, "new")
	w.Write(caller(), o.Handle, []byte("saved"), 0, WriteIn{})
	w.at(t, "/drafts/file")
	want(t, w.Rename(caller(), zone, "new", zone, "file"), 0, "rename of what the process made")
	if got := w.content(t, "file"); got != "saved" {
		t.Errorf("content = %q", got)
	}
	w.records.take()

	w.at(t, "/drafts/old")
	want(t, w.Rename(caller(), zone, "old", zone, "file"), syscall.EACCES, "rename of what was there")
	want(t, w.Unlink(caller(), zone, "old"), syscall.EACCES, "unlink")
	w.create(t, zone, "mine")
	want(t, w.Unlink(caller(), zone, "mine"), syscall.EACCES, "unlink of what the process made")
	want(t, w.Rename(caller(), zone, "mine", w.at(t, "/other"), "mine"), syscall.EACCES, "rename to another zone")
	stranger := caller()
	stranger.Pid = uint32(os.Getppid())
	want(t, w.Rename(stranger, zone, "mine", zone, "file"), syscall.EACCES, "rename by another process")
	nobody := caller()
	nobody.Pid = 0
	want(t, w.Rename(nobody, zone, "mine", zone, "file"), syscall.EACCES, "rename by a process that is not known")
	for _, a := range w.records.take() {
		if a.Errno != syscall.EACCES || a.Verdict.Rule.Name == "" {
			t.Errorf("event %+v", a)
		}
	}
}

// TestSaveIsByAnyThread: the process counts, not the thread of it.
func TestSaveIsByAnyThread(t *testing.T) {
	if got, want := processOf(uint32(unix.Gettid())), uint32(os.Getpid()); got != want {
		t.Errorf("processOf(a thread of this process) = %d, want %d", got, want)
	}
	if got := processOf(0); got != 0 {
		t.Errorf("processOf(0) = %d", got)
	}
	if got := processOf(1 << 30); got != 0 {
		t.Errorf("processOf(nobody) = %d", got)
	}
}

// TestSaveIsAWrite: a save is no deletion, and asks for write of what it replaces. S2-03.
func TestSaveIsAWrite(t *testing.T) {
	m, err := overlay.ZoneMount(overlay.Zone{Name: "drafts", Path: "/drafts", Mode: overlay.ModeRW, Write: overlay.ApprovalPre, Delete: overlay.ApprovalBlocked})
	if err != nil {
		t.Fatal(err)
	}
	m.Layers = append(m.Layers, layers(t, "kept deny write /drafts/kept", allowAll)...)
	w := serve(t, Config{View: viewWith(t, m), Trees: []backing.Tree{backing.NewMemory()}})
	w.fill(t, "kept")
	zone := w.at(t, "/drafts")
	w.create(t, zone, "new")
	w.at(t, "/drafts/kept")
	want(t, w.Rename(caller(), zone, "new", zone, "kept"), syscall.EACCES, "rename onto what may not be written")
	w.wantEvents(t, "write /drafts/kept kept")
	if got := w.content(t, "kept"); got != "kept" {
		t.Errorf("content = %q", got)
	}
}

// TestSaveGainsNothing: what the process made is not renamed as a save where
// more may be done by the new name, or where the old one is hidden. S2-03.
func TestSaveGainsNothing(t *testing.T) {
	m, err := overlay.ZoneMount(overlay.Zone{Name: "drafts", Path: "/drafts", Mode: overlay.ModeRW, Write: overlay.ApprovalPre, Delete: overlay.ApprovalBlocked})
	if err != nil {
		t.Fatal(err)
	}
	zone := func(lines ...string) *overlay.View {
		with := m
		with.Layers = append(slices.Clone(m.Layers), layers(t, append(lines, allowAll)...)...)
		return viewWith(t, with)
	}
	w := serve(t, Config{View: zone("plain deny chmod /drafts/plain"), Trees: []backing.Tree{backing.NewMemory()}})
	dir := w.at(t, "/drafts")
	w.create(t, dir, "plain")
	want(t, w.Rename(caller(), dir, "plain", dir, "more"), syscall.EACCES, "rename to where more may be done")
	if err := w.Swap(zone("hidden hide * /drafts/plain", "shut deny * /drafts/shut")); err != nil {
		t.Fatal(err)
	}
	want(t, w.Rename(caller(), dir, "plain", dir, "more"), syscall.ENOENT, "rename of what is hidden by now")
	want(t, w.Rename(caller(), dir, "plain", dir, "shut"), syscall.ENOENT, "rename of it to where nothing may be done")
	if !w.has(t, "plain") || w.has(t, "more") {
		t.Error("the file has moved")
	}
}
