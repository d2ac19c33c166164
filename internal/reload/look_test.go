package reload

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// looker is a run whose looks a test takes itself.
type looker struct {
	*run
	loads int
	err   error // what load returns
	text  bytes.Buffer
}

func newLooker(t *testing.T, paths ...string) *looker {
	l := new(looker)
	log := slog.New(slog.NewTextHandler(&l.text, nil))
	l.run = &run{log: log, bell: newBell(noWatches, slog.New(slog.DiscardHandler)), paths: paths,
		load: func() ([]string, error) { l.loads++; return nil, l.err }}
	l.look(time.Now().Add(time.Minute))
	if l.loads != 0 {
		t.Fatalf("the first look loaded %d times, want 0", l.loads)
	}
	return l
}

// want takes a look and fails unless it loads n times.
func (l *looker) want(t *testing.T, n int, why string) {
	t.Helper()
	l.loads = 0
	l.look(time.Now())
	if l.loads != n {
		t.Errorf("%s: loaded %d times, want %d", why, l.loads, n)
	}
}

func TestLookQuiet(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	write(t, file, "same")
	l := newLooker(t, file, dir)
	l.want(t, 0, "nothing happened")

	now := time.Now().Add(time.Hour)
	try(t, os.Chtimes(file, now, now))
	l.want(t, 0, "touched")
	try(t, os.Chmod(file, 0o640))
	l.want(t, 0, "chmod")
	write(t, file, "same")
	l.want(t, 0, "written with the same text")
	write(t, dir+"/.tmp", "same")
	try(t, os.Rename(dir+"/.tmp", file))
	l.want(t, 0, "renamed over with the same text")
	write(t, dir+"/notes.txt", "x")
	write(t, dir+"/.a.yaml.swp", "x")
	try(t, os.Symlink("nobody@host:1", dir+"/.#a.yaml"))
	l.want(t, 0, "files beside it that are no policies")
	write(t, file, "other")
	l.want(t, 1, "changed")
	l.want(t, 0, "nothing happened since")
}

// The second write has the size, the inode and, by a coarse clock, the times of
// the first.
func TestLookTwoWritesInOneTick(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, "one")
	l := newLooker(t, file)
	for _, text := range []string{"two", "six", "ten"} {
		write(t, file, text)
		l.want(t, 1, "written "+text)
	}
}

func TestLookGone(t *testing.T) {
	dir := t.TempDir()
	policies, profile := filepath.Join(dir, "policies"), filepath.Join(dir, "profile.yaml")
	fill := func(text string) {
		try(t, os.Mkdir(policies, 0o700))
		write(t, policies+"/a.yaml", text)
	}
	fill("one")
	write(t, profile, "p1")
	l := newLooker(t, profile, policies)

	try(t, os.RemoveAll(policies))
	l.want(t, 0, "directory gone")
	l.want(t, 0, "directory still gone")
	if got := strings.Count(l.text.String(), "level=WARN"); got != 1 {
		t.Errorf("logged %q, want one warning", l.text.String())
	}
	write(t, profile, "p2")
	l.want(t, 1, "another file changed meanwhile")
	fill("one")
	l.want(t, 0, "directory back as it was")

	try(t, os.RemoveAll(policies))
	l.want(t, 0, "gone again")
	fill("two")
	l.want(t, 1, "back with other contents")
	try(t, os.Remove(profile))
	l.want(t, 0, "file gone")
	write(t, profile, "p3")
	l.want(t, 1, "file back with other contents")
}

func TestLookFailedLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.yaml")
	write(t, file, "good")
	l := newLooker(t, file)
	logged := func() int { return strings.Count(l.text.String(), "level=ERROR") }

	l.err = errors.New("a.yaml:1:1: no such key")
	write(t, file, "broken")
	l.want(t, 1, "broken")
	if logged() != 1 || !strings.Contains(l.text.String(), "a.yaml:1:1") {
		t.Errorf("logged %q, want one error with the line", l.text.String())
	}
	l.want(t, 0, "still broken")
	try(t, os.Chtimes(file, time.Time{}, time.Now()))
	l.want(t, 1, "touched after a failure")
	if logged() != 1 {
		t.Errorf("logged %d errors for the same contents, want 1", logged())
	}
	write(t, file, "broken otherwise")
	l.want(t, 1, "broken otherwise")
	if logged() != 2 {
		t.Errorf("logged %d errors for two contents, want 2", logged())
	}
	l.err = nil
	write(t, file, "good")
	l.want(t, 1, "good again")
	try(t, os.Chtimes(file, time.Time{}, time.Now()))
	l.want(t, 0, "touched after a success")
}

// What no reader should wait for does not block the look.
func TestLookOddFiles(t *testing.T) {
	dir := t.TempDir()
	l := newLooker(t, dir)
	try(t, syscall.Mkfifo(filepath.Join(dir, "fifo.yaml"), 0o600))
	l.want(t, 1, "a FIFO that is called a policy")
	try(t, os.Mkdir(filepath.Join(dir, "dir.yaml"), 0o700))
	l.want(t, 1, "a directory that is called a policy")
	large := filepath.Join(dir, "large.yaml")
	try(t, os.WriteFile(large, nil, 0o600))
	try(t, os.Truncate(large, 1<<40))
	l.want(t, 1, "a file that takes hours to read")
	try(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	l.paths = []string{filepath.Join(dir, "loop"), "/"}
	l.look(time.Now())
}
