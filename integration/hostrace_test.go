package integration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAppendFromBothSides has the host and the view append lines to one file
// at the same time; none is lost or torn.
func TestAppendFromBothSides(t *testing.T) {
	const count = 10_000
	w := newWorld(t)
	w.write("root/log", "")
	m := w.view(allowAll)
	done := make(chan error, 2)
	for side, path := range map[string]string{"host": w.path("root/log"), "view": m.Path + "/log"} {
		go func() { done <- appendLines(path, side, count) }()
	}
	for range 2 {
		must(t, <-done)
	}
	seen := map[string]int{}
	text := read(t, w.path("root/log"))
	for line := range strings.Lines(text) {
		seen[line]++
	}
	for _, side := range []string{"host", "view"} {
		for i := range count {
			if line := fmt.Sprintf("%s line %d\n", side, i); seen[line] != 1 {
				t.Fatalf("%q is there %d times, want once", line, seen[line])
			}
		}
	}
	if len(seen) != 2*count {
		t.Errorf("%d different lines, want %d", len(seen), 2*count)
	}
	eventually(t, "the view reads what the host has", func() error { return differs(m.Path+"/log", text) })
}

// appendLines appends numbered lines, one write(2) each.
func appendLines(path, side string, count int) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range count {
		if _, err := fmt.Fprintf(f, "%s line %d\n", side, i); err != nil {
			return err
		}
	}
	return nil
}

// TestHostEditsUnderReaders keeps reading on the view while the host rewrites
// the file by rename: every read is one whole version. An open that meets two
// replacements in a row may give ESTALE, which must not stay.
func TestHostEditsUnderReaders(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", pages("a", 7000))
	m := w.view(allowAll)
	stop := time.Now().Add(3 * time.Second)
	done := make(chan error)
	go func() {
		for i := 0; time.Now().Before(stop); i++ {
			letter := string(rune('a' + i%26))
			if err := os.WriteFile(w.path("root/f.next"), []byte(pages(letter, 1000+i%9000)), 0o644); err != nil {
				done <- err
				return
			}
			if err := os.Rename(w.path("root/f.next"), w.path("root/f")); err != nil {
				done <- err
				return
			}
			time.Sleep(time.Millisecond)
		}
		done <- nil
	}()
	stale := 0
	for time.Now().Before(stop) {
		text, err := os.ReadFile(m.Path + "/f")
		if stale++; errors.Is(err, unix.ESTALE) && stale < 5 {
			continue
		}
		stale = 0
		if err != nil {
			t.Errorf("read(/f) = %v", err)
			break
		}
		if len(text) == 0 || strings.Trim(string(text), string(text[0])) != "" {
			t.Errorf("read(/f) = %d bytes that mix versions or end in %q", len(text), text[max(0, len(text)-1):])
			break
		}
	}
	must(t, <-done)
	eventually(t, "the last version", func() error { return differs(m.Path+"/f", read(t, w.path("root/f"))) })
}
