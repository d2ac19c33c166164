package reload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// never is an interval that no test lives to see.
const never = time.Hour

// loads starts w and returns a channel that gets the contents of file at each
// call of Load.
func loads(t *testing.T, w Watch, file string) <-chan string {
	t.Helper()
	calls := make(chan string, 100)
	w.Load = func() ([]string, error) {
		b, err := os.ReadFile(file)
		calls <- string(b)
		return nil, err
	}
	start(t, w)
	return calls
}

// start runs w until the test ends. It returns once the watches stand.
func start(t *testing.T, w Watch) {
	t.Helper()
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	ready := make(chan struct{})
	load, once := w.Load, sync.Once{}
	w.Since = time.Time{} // so that Run loads when it is ready
	w.Load = func() ([]string, error) {
		first := false
		once.Do(func() { first = true; close(ready) })
		if first {
			return nil, nil
		}
		return load()
	}
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-ready:
	case <-time.After(10 * time.Second):
		t.Fatal("Run did not load what is newer than Since")
	}
}

// await fails unless want comes from calls soon; what comes before is dropped.
func await(t *testing.T, calls <-chan string, want string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case got := <-calls:
			if got == want {
				return
			}
		case <-deadline:
			t.Fatalf("Load was not called with %q", want)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Each way to change a file that people and programs have is noticed by the
// kernel's notices alone, and by looking alone.
func TestRunNoticesChanges(t *testing.T) {
	changes := []struct {
		name   string
		change func(t *testing.T, dir, file string)
	}{
		{"written in place", func(t *testing.T, _, file string) { write(t, file, "new") }},
		{"renamed over", func(t *testing.T, dir, file string) {
			write(t, dir+"/.tmp", "new")
			try(t, os.Rename(dir+"/.tmp", file))
		}},
		{"moved aside and written anew", func(t *testing.T, _, file string) {
			try(t, os.Rename(file, file+"~"))
			write(t, file, "new")
		}},
		{"removed and made again", func(t *testing.T, _, file string) {
			try(t, os.Remove(file))
			write(t, file, "new")
		}},
		{"replaced by a link", func(t *testing.T, dir, file string) {
			write(t, dir+"/other", "new")
			try(t, os.Remove(file))
			try(t, os.Symlink("other", file))
		}},
		{"directory moved away and another put in its place", func(t *testing.T, dir, file string) {
			try(t, os.Rename(dir, dir+".old"))
			try(t, os.Mkdir(dir, 0o700))
			write(t, file, "new")
		}},
		{"directory removed and made again", func(t *testing.T, dir, file string) {
			try(t, os.RemoveAll(dir))
			try(t, os.Mkdir(dir, 0o700))
			write(t, file, "new")
		}},
	}
	ways := []struct {
		name  string
		watch Watch
	}{
		{"notices", Watch{every: never}},
		{"looking", Watch{every: 5 * time.Millisecond, open: noWatches}},
	}
	for _, way := range ways {
		for _, c := range changes {
			t.Run(way.name+"/"+c.name, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "etc")
				file := filepath.Join(dir, "profile.yaml")
				try(t, os.Mkdir(dir, 0o700))
				write(t, file, "old")
				w := way.watch
				w.Paths = []string{file}
				calls := loads(t, w, file)
				c.change(t, dir, file)
				await(t, calls, "new")
				// The watches stand after it, too.
				write(t, file, "newer")
				await(t, calls, "newer")
			})
		}
	}
}

func noWatches() (*fsnotify.Watcher, error) {
	return nil, errors.New("too many open files")
}

// A mounted config map is a link to a link to a directory, and an update swaps
// the middle one.
func TestRunConfigMap(t *testing.T) {
	for _, what := range []string{"file", "directory"} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "policy.yaml")
			try(t, os.Mkdir(dir+"/..v1", 0o700))
			write(t, dir+"/..v1/policy.yaml", "old")
			try(t, os.Symlink("..v1", dir+"/..data"))
			try(t, os.Symlink("..data/policy.yaml", file))
			paths := map[string][]string{"file": {file}, "directory": {dir}}[what]
			calls := loads(t, Watch{Paths: paths, every: never}, file)
			for i := range 3 {
				version := fmt.Sprint("v", i+2)
				try(t, os.Mkdir(dir+"/.."+version, 0o700))
				write(t, dir+"/.."+version+"/policy.yaml", version)
				try(t, os.Symlink(".."+version, dir+"/..tmp"))
				try(t, os.Rename(dir+"/..tmp", dir+"/..data"))
				await(t, calls, version)
			}
		})
	}
}

func TestRunDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "policies")
	try(t, os.Mkdir(dir, 0o700))
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, a, "a1")
	calls := loads(t, Watch{Paths: []string{dir}, every: never}, a)
	write(t, b, "b1")
	await(t, calls, "a1") // a new policy is a change
	write(t, a, "a2")
	await(t, calls, "a2")
	try(t, os.Remove(b))
	await(t, calls, "a2") // so is one that is gone
}

// Neither path nor its directory is there at first.
func TestRunPathThatComes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	file := filepath.Join(dir, "profile.yaml")
	calls := loads(t, Watch{Paths: []string{file}, every: never}, file)
	try(t, os.MkdirAll(dir, 0o700))
	write(t, file, "here")
	await(t, calls, "here")
}

// A burst does not have to end before it is loaded, and its end is loaded too.
func TestRunBurst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.yaml")
	write(t, file, "old")
	calls := loads(t, Watch{Paths: []string{file}, every: never}, file)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				os.WriteFile(file, fmt.Append(nil, i), 0o600)
			}
		}
	})
	for range 3 {
		select {
		case <-calls:
		case <-time.After(10 * time.Second):
			t.Error("no load while the burst went on")
		}
	}
	close(stop)
	wg.Wait()
	write(t, file, "end")
	await(t, calls, "end")
}

// What changed between the caller's own load and Run is loaded at once, and
// nothing is where nothing did.
func TestRunSince(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.yaml")
	write(t, file, "old")
	tests := []struct {
		since time.Time
		want  int
	}{
		{time.Now().Add(time.Minute), 0},
		{time.Now().Add(-time.Minute), 1},
		{time.Time{}, 1},
	}
	for _, tt := range tests {
		n := 0
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		Watch{Paths: []string{file}, Since: tt.since, Log: slog.New(slog.DiscardHandler),
			Load: func() ([]string, error) { n++; return nil, nil }}.Run(ctx)
		if n != tt.want {
			t.Errorf("Run(Since %v from the change) loaded %d times, want %d", time.Until(tt.since), n, tt.want)
		}
	}
}

// A profile can name another policy directory in an edit: it is watched from
// then on, and the old one no longer.
func TestRunOtherPaths(t *testing.T) {
	dir := t.TempDir()
	profile, a, b := filepath.Join(dir, "profile.yaml"), filepath.Join(dir, "a"), filepath.Join(dir, "b")
	try(t, os.Mkdir(a, 0o700))
	try(t, os.Mkdir(b, 0o700))
	write(t, profile, a)
	calls := make(chan string, 100)
	start(t, Watch{Paths: []string{profile, a}, every: never, Load: func() ([]string, error) {
		named, err := os.ReadFile(profile)
		if err != nil {
			return nil, err
		}
		text, _ := os.ReadFile(filepath.Join(string(named), "p.yaml"))
		calls <- string(text)
		return []string{profile, string(named)}, nil
	}})
	write(t, filepath.Join(b, "p.yaml"), "b1")
	write(t, profile, b)
	await(t, calls, "b1")
	write(t, filepath.Join(b, "p.yaml"), "b2")
	await(t, calls, "b2")
}

func TestRunWithoutWatchesWarnsOnce(t *testing.T) {
	closed := func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		if err == nil {
			w.Close() // so that Add fails, as it does without a free watch
		}
		return w, err
	}
	for name, open := range map[string]func() (*fsnotify.Watcher, error){"no instance": noWatches, "no watch": closed} {
		file := filepath.Join(t.TempDir(), "profile.yaml")
		write(t, file, "old")
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		Watch{Paths: []string{file}, Log: slog.New(slog.NewTextHandler(&log, nil)), open: open, every: 5 * time.Millisecond,
			Load: func() ([]string, error) {
				n++
				if n == 3 {
					cancel()
				}
				return nil, os.WriteFile(file, fmt.Append(nil, n), 0o600)
			}}.Run(ctx)
		if got := strings.Count(log.String(), "once a second"); got != 1 {
			t.Errorf("%s: logged %q, want one warning", name, log.String())
		}
	}
}
