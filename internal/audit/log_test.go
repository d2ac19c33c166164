package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func openLog(t *testing.T, name string) *Log {
	t.Helper()
	l, err := OpenLog(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// lines reads the events of a file; every line must be one.
func lines(t *testing.T, name string) []Event {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	for line := range bytes.Lines(b) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// TestLogOfPipe has a pipe be refused as long as nobody reads it, and take events
// then.
func TestLogOfPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLog(name); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("OpenLog of a pipe that nobody reads = %v", err)
	}
	r, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := openLog(t, name).Write(Event{Time: noon, Path: "/x"}); err != nil {
		t.Errorf("Write to a pipe = %v", err)
	}
	var e Event
	if err := json.NewDecoder(r).Decode(&e); err != nil || e.Path != "/x" {
		t.Errorf("read from the pipe: %+v, %v", e, err)
	}
}

func TestLogAppends(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	for i := range 2 {
		l := openLog(t, name)
		if err := l.Write(Event{Time: noon, Path: "/x", Generation: uint64(i)}); err != nil {
			t.Fatalf("Write() = %v", err)
		}
		l.Close()
	}
	if got := lines(t, name); len(got) != 2 || got[0].Generation != 0 || got[1].Generation != 1 {
		t.Errorf("the file holds %v, want generations 0 and 1", got)
	}
	st, err := os.Stat(name)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode of the file = %v, %v, want 0600", st.Mode(), err)
	}
}

// Two daemons that share a file, each with many goroutines, tear no line.
func TestLogConcurrentWrites(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	var wg sync.WaitGroup
	for range 2 {
		l := openLog(t, name)
		for range 4 {
			wg.Go(func() {
				for i := range 100 {
					e := Event{Time: noon, Path: "/x", Message: strings.Repeat("m", i)}
					if err := l.Write(e); err != nil {
						t.Errorf("Write() = %v", err)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := lines(t, name); len(got) != 800 {
		t.Errorf("the file holds %d events, want 800", len(got))
	}
}

func TestLogReopen(t *testing.T) {
	dir := t.TempDir()
	name, rotated := filepath.Join(dir, "audit.jsonl"), filepath.Join(dir, "audit.jsonl.1")
	l := openLog(t, name)
	write := func(gen uint64) {
		if err := l.Write(Event{Time: noon, Generation: gen}); err != nil {
			t.Fatalf("Write() = %v", err)
		}
	}
	write(1)
	if err := os.Rename(name, rotated); err != nil {
		t.Fatal(err)
	}
	write(2)
	if err := l.Reopen(); err != nil {
		t.Fatalf("Reopen() = %v", err)
	}
	write(3)
	if got := lines(t, rotated); len(got) != 2 {
		t.Errorf("the rotated file holds %v, want generations 1 and 2", got)
	}
	if got := lines(t, name); len(got) != 1 || got[0].Generation != 3 {
		t.Errorf("the new file holds %v, want generation 3", got)
	}
}

func TestLogReopenKeepsTheOldFileOnError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, filepath.Join(dir, "audit.jsonl"))
	moved := dir + ".moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := l.Reopen(); err == nil {
		t.Error("Reopen() without the directory succeeded, want an error")
	}
	if err := l.Write(Event{Time: noon}); err != nil {
		t.Errorf("Write() after a failed Reopen = %v", err)
	}
	if got := lines(t, filepath.Join(moved, "audit.jsonl")); len(got) != 1 {
		t.Errorf("the old file holds %d events, want 1", len(got))
	}
}

func TestLogReportsWriteErrors(t *testing.T) {
	full := openLog(t, "/dev/full")
	if err := full.Write(Event{Time: noon}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Write() to /dev/full = %v, want no space left", err)
	}
	closed := openLog(t, filepath.Join(t.TempDir(), "audit.jsonl"))
	closed.Close()
	if err := closed.Write(Event{Time: noon}); err == nil {
		t.Error("Write() to a closed log succeeded, want an error")
	}
	if _, err := OpenLog(filepath.Join(t.TempDir(), "no", "such", "dir")); err == nil {
		t.Error("OpenLog() without the directory succeeded, want an error")
	}
}

// A line that a full disk cut off does not swallow the one after it, in this
// daemon or in the next.
func TestLogTornLine(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(name, []byte(`{"time":"2026-`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, name)
	for gen := range uint64(2) {
		if err := l.Write(Event{Time: noon, Generation: gen}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(string(b), "\n"); len(got) != 4 || got[0] != `{"time":"2026-` || got[3] != "" {
		t.Errorf("the file holds %q, want the torn line and two whole ones", got)
	}
}

// The limit of a file's size stands in for a full disk: the kernel writes what
// fits and refuses the rest.
func TestLogPartialWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	l := openLog(t, name)
	write := func() error { return l.Write(Event{Time: noon}) }
	if err := write(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	size := uint64(st.Size())
	if err := limitFileSize(t, size+20, write); err == nil {
		t.Error("Write() at the limit succeeded, want an error")
	}
	if err := write(); err != nil {
		t.Fatalf("Write() with room again = %v", err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(b), "\n")
	if len(got) != 4 || got[0] != got[2] || len(got[1]) != 20 {
		t.Errorf("the file holds %q, want a line, 20 bytes of one, and a line", got)
	}
}

// limitFileSize calls f while no file of this process may grow beyond size.
// The runtime ignores the signal that comes with it.
func limitFileSize(t *testing.T, size uint64, f func() error) error {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			panic(fmt.Sprint("setrlimit: ", err))
		}
	}()
	return f()
}

func BenchmarkLogWrite(b *testing.B) {
	l, err := OpenLog(filepath.Join(b.TempDir(), "audit.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	e := full()
	for b.Loop() {
		if err := l.Write(e); err != nil {
			b.Fatal(err)
		}
	}
}
