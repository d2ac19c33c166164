package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pages returns text of n bytes that repeats letter.
func pages(letter string, n int) string { return strings.Repeat(letter, n) }

// hostEdit is one way in which a file changes beside the mount.
type hostEdit struct {
	name    string
	replace bool // the name leads to another file afterwards, or to none
	want    string
	edit    func(path string) error
}

var hostEdits = []hostEdit{
	{name: "grow", want: pages("a", 9000) + pages("b", 9000), edit: func(p string) error {
		return appendTo(p, pages("b", 9000))
	}},
	{name: "shrink", want: pages("a", 10), edit: func(p string) error { return os.Truncate(p, 10) }},
	{name: "empty", want: "", edit: func(p string) error { return os.Truncate(p, 0) }},
	{name: "overwrite", want: pages("c", 9000), edit: func(p string) error { return overwrite(p, pages("c", 9000)) }},
	{name: "overwrite-same-mtime", want: pages("c", 9000), edit: func(p string) error {
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			return err
		}
		if err := overwrite(p, pages("c", 9000)); err != nil {
			return err
		}
		return unix.UtimesNano(p, []unix.Timespec{st.Atim, st.Mtim})
	}},
	{name: "replace", replace: true, want: pages("d", 5000), edit: func(p string) error {
		if err := os.WriteFile(p+".next", []byte(pages("d", 5000)), 0o644); err != nil {
			return err
		}
		return os.Rename(p+".next", p)
	}},
	{name: "delete", replace: true, edit: os.Remove},
}

// appendTo adds text at the end of a file.
func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// overwrite writes text over the start of a file, without truncating it.
func overwrite(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte(text), 0)
	return err
}

// TestHostEdits changes files beside the mount after the view has cached them,
// with and without a descriptor open on the view.
func TestHostEdits(t *testing.T) {
	w := newWorld(t)
	for _, e := range hostEdits {
		w.write("root/closed-"+e.name, pages("a", 9000))
		w.write("root/open-"+e.name, pages("a", 9000))
	}
	m := w.view(allowAll)
	for _, e := range hostEdits {
		for _, state := range []string{"closed", "open"} {
			t.Run(state+"-"+e.name, func(t *testing.T) { tryHostEdit(t, m, e, state == "open") })
		}
	}
}

func tryHostEdit(t *testing.T, m *mount, e hostEdit, keepOpen bool) {
	name := map[bool]string{true: "/open-", false: "/closed-"}[keepOpen] + e.name
	path := m.Path + name
	if got := read(t, path); got != pages("a", 9000) {
		t.Fatalf("read(%s) before the edit = %.20q…", name, got)
	}
	var f *os.File
	if keepOpen {
		var err error
		f, err = os.Open(path)
		must(t, err)
		defer f.Close()
	}
	must(t, e.edit(m.Backing+name))
	if e.name == "delete" {
		eventually(t, "the name is gone", func() error {
			if got := errno(unix.Lstat(path, new(unix.Stat_t))); got != "ENOENT" {
				return fmt.Errorf("stat(%s) = %s, want ENOENT", name, got)
			}
			return nil
		})
	} else {
		eventually(t, "the new content by name", func() error { return sane(t, path, e.want) })
	}
	if !keepOpen {
		return
	}
	want := e.want
	if e.replace {
		want = pages("a", 9000) // the descriptor's file is still the old one
	}
	eventually(t, "the content by descriptor", func() error {
		buf := make([]byte, 20000)
		n, err := unix.Pread(int(f.Fd()), buf, 0)
		var st unix.Stat_t
		if statErr := unix.Fstat(int(f.Fd()), &st); err != nil || statErr != nil {
			return fmt.Errorf("pread, fstat = %s, %s", errno(err), errno(statErr))
		}
		if string(buf[:n]) != want || st.Size != int64(len(want)) {
			return fmt.Errorf("pread of %d bytes, st_size %d, want %d", n, st.Size, len(want))
		}
		return nil
	})
}

// sane is differs, and fails at once on bytes that neither side ever wrote.
func sane(t *testing.T, path, want string) error {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.ContainsRune(string(got), 0) {
		t.Fatalf("read(%s) has NUL bytes, which nobody wrote", path)
	}
	if string(got) != want {
		return fmt.Errorf("read(%s) = %d bytes %.10q…, want %d bytes %.10q…", path, len(got), got, len(want), want)
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Size != int64(len(want)) {
		return fmt.Errorf("stat(%s) = size %d, %s, want %d", path, st.Size, errno(err), len(want))
	}
	return nil
}

// TestHostMakesNames has names that the view knew to be absent appear, a cached
// listing change, and a directory that was replaced show the new one.
func TestHostMakesNames(t *testing.T) {
	w := newWorld(t)
	w.write("root/dir/old", "x")
	m := w.view(allowAll)
	wantErrno(t, "stat(/dir/new)", unix.Lstat(m.Path+"/dir/new", new(unix.Stat_t)), unix.ENOENT)
	list := func(want string) func() error {
		return func() error {
			if got := strings.Join(names(t, m.Path+"/dir"), " "); got != want {
				return fmt.Errorf("list(/dir) = %q, want %q", got, want)
			}
			return nil
		}
	}
	must(t, list("old")())
	w.write("root/dir/new", "made on the host")
	eventually(t, "a new name", func() error { return differs(m.Path+"/dir/new", "made on the host") })
	eventually(t, "the listing with it", list("new old"))
	must(t, os.Remove(w.path("root/dir/old")))
	eventually(t, "the listing without what was removed", list("new"))
	w.write("other/swapped", "x")
	must(t, os.Rename(w.path("root/dir"), w.path("gone")))
	must(t, os.Rename(w.path("other"), w.path("root/dir")))
	eventually(t, "the listing of the directory that took its place", func() error {
		entries, err := os.ReadDir(m.Path + "/dir")
		if err != nil {
			return err
		}
		if len(entries) != 1 || entries[0].Name() != "swapped" {
			return fmt.Errorf("list(/dir) = %v, want swapped", entries)
		}
		return nil
	})
	eventually(t, "a file in it", func() error { return differs(m.Path+"/dir/swapped", "x") })
	must(t, os.Chmod(w.path("root/dir/swapped"), 0o600))
	eventually(t, "the new mode", func() error {
		var st unix.Stat_t
		if err := unix.Lstat(m.Path+"/dir/swapped", &st); err != nil || st.Mode&0o777 != 0o600 {
			return fmt.Errorf("stat = mode %o, %v, want 600", st.Mode&0o777, err)
		}
		return nil
	})
}
