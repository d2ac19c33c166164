package integration

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSymlinkRace swaps a directory for a link to the outside, on the host,
// while the view reads below it: no read ever leaves the source. X-03.
func TestSymlinkRace(t *testing.T) {
	w := newWorld(t)
	w.write("root/dir/f", "inside")
	w.write("outside/f", "secret")
	must(t, os.Symlink(w.path("outside"), w.path("root/link")))
	m := w.mount(w.profile("root: ./root\nsymlinks: reject\n"))
	stop := time.Now().Add(2 * time.Second)
	swapped := make(chan error)
	go func() {
		for time.Now().Before(stop) {
			err := unix.Renameat2(unix.AT_FDCWD, w.path("root/dir"), unix.AT_FDCWD, w.path("root/link"), unix.RENAME_EXCHANGE)
			if err != nil {
				swapped <- err
				return
			}
		}
		swapped <- nil
	}()
	reads := 0
	for time.Now().Before(stop) {
		for _, name := range []string{"/dir/f", "/link/f"} {
			text, err := os.ReadFile(m.Path + name)
			if string(text) == "secret" {
				t.Fatalf("read(%s) = %q: it left the source", name, text)
			}
			if err == nil {
				reads++
			}
			os.WriteFile(m.Path+name, []byte("inside"), 0o644)
		}
	}
	must(t, <-swapped)
	if got := read(t, w.path("outside/f")); got != "secret" {
		t.Errorf("the file outside = %q: a write left the source", got)
	}
	if reads == 0 {
		t.Error("no read succeeded: the race was not tried")
	}
}

// TestSymlinks has links behave as each mode says. S0-10, X-03.
func TestSymlinks(t *testing.T) {
	for mode, want := range map[string]struct{ inside, outside, make string }{
		"follow": {"ok", "ok", "ok"},
		"inside": {"ok", "EACCES", "EACCES"},
		"reject": {"EACCES", "EACCES", "EACCES"},
	} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			w.write("root/dir/f", "in")
			w.write("out", "out")
			must(t, os.Symlink("dir/f", w.path("root/in")))
			must(t, os.Symlink(w.path("out"), w.path("root/absolute")))
			must(t, os.Symlink("../../out", w.path("root/dir/up")))
			m := w.mount(w.profile("root: ./root\nsymlinks: " + mode + "\nguards: []\n"))
			for name, want := range map[string]string{"in": want.inside, "absolute": want.outside, "dir/up": want.outside} {
				_, err := os.Readlink(filepath.Join(m.Path, name))
				if got := errno(err); got != want {
					t.Errorf("readlink(%s) = %s, want %s", name, got, want)
				}
			}
			if got := errno(os.Symlink("../../out", m.Path+"/dir/new")); got != want.make {
				t.Errorf("symlink to outside = %s, want %s", got, want.make)
			}
		})
	}
}
