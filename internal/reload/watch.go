// Package reload calls a function when the contents of files change: profiles
// and policies under a live mount. It is the only package that imports
// fsnotify.
//
// The kernel's notices make it quick, and are not what it relies on. Once a
// second it looks at the files itself, so that nothing is missed where notices
// do not come: a network file system, a directory further up that was moved, a
// machine that ran out of watches. Whatever made it look, it compares contents:
// a touch, a chmod, a rename over with the same text are nothing.
package reload

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

const (
	debounce  = 50 * time.Millisecond  // how long it must be quiet after a notice
	maxDelay  = 400 * time.Millisecond // from a notice to the look, however many follow it
	lookEvery = time.Second            // without any notice
)

// Watch says what to watch and what to do about a change.
type Watch struct {
	// Paths are files and directories on the host. Of a directory the files
	// *.yaml and *.yml directly in it count. A path need not exist.
	Paths []string

	// Since is when the caller began to load Paths itself. What changed later
	// is loaded again at once, so that no edit falls between that load and Run.
	// Since the zero time, everything did.
	Since time.Time

	// Load reads everything anew. Unless it returns no paths it says what to
	// watch from now on, also along with an error. An error is logged once for
	// the same contents; Load is called again when a file is touched.
	Load func() (paths []string, err error)

	Log *slog.Logger

	// Tests take one of the two ways of hearing away.
	open  func() (*fsnotify.Watcher, error) // nil means fsnotify.NewWatcher
	every time.Duration                     // 0 means lookEvery
}

// Run watches until ctx is done. Load is called from Run's own goroutine, one
// call at a time. While a path that was there is gone, what it held counts as
// unchanged, and one warning says so.
func (w Watch) Run(ctx context.Context) {
	if w.open == nil {
		w.open = fsnotify.NewWatcher
	}
	if w.every == 0 {
		w.every = lookEvery
	}
	r := &run{load: w.Load, log: w.Log, bell: newBell(w.open, w.Log), paths: slices.Clone(w.Paths)}
	defer r.bell.close()
	r.look(w.Since)

	tick := time.NewTicker(w.every)
	defer tick.Stop()
	var first time.Time      // the notice that due goes back to
	var due <-chan time.Time // nil while there is nothing to look at
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.look(time.Now())
		case <-due:
			due = nil
			r.look(time.Now())
		case <-r.bell.rings:
			if due == nil {
				first = time.Now()
			}
			due = time.After(min(debounce, maxDelay-time.Since(first)))
		}
	}
}

// run is the state of one Run.
type run struct {
	load func() ([]string, error)
	log  *slog.Logger
	bell *bell

	paths  []string
	known  map[string]source // of paths, as the last look saw them
	loaded bool              // nothing was looked at since the last load
	failed bool              // the last load did
	logged failure           // the last one that was logged
}

// failure is an error of load about certain contents.
type failure struct {
	sum  [sha256.Size]byte
	text string
}

// look loads if there is a reason to, and again while something moved under the
// load: what it read may be neither what was there before nor what is there now.
func (r *run) look(since time.Time) {
	for range loadsPerLook {
		if !r.changed(since) {
			return
		}
		since = time.Now()
		r.reload()
		r.loaded = true
	}
}

// loadsPerLook bounds the loads of one look, for the sake of ctx; a file that
// never holds still is looked at again in a moment.
const loadsPerLook = 10

// changed looks at every path and reports whether to load: the contents of a
// known path differ, an unknown path is newer than since, something was touched
// after a load that failed, or while a load ran.
func (r *run) changed(since time.Time) bool {
	r.bell.follow(r.paths)
	changed := false
	next := make(map[string]source, len(r.paths))
	for _, p := range r.paths {
		old, known := r.known[p]
		s := inspect(p, old)
		if old.there && !s.there {
			r.log.Warn("gone; what was loaded from it stays until it is back", "path", p)
		}
		if !s.there {
			s.sum = old.sum
		}
		switch {
		case !known:
			// What a load has led to may have changed since the load read it.
			changed = changed || r.loaded || s.newest.After(since.Add(-clockStep()))
		case s.sum != old.sum:
			changed = true
		case s.stamp != old.stamp && s.there:
			changed = changed || r.failed || r.loaded
		}
		next[p] = s
	}
	r.known, r.loaded = next, false
	return changed
}

// clockStep returns by how much the time that the kernel stamps a file with can
// lag behind the clock.
func clockStep() time.Duration {
	var step unix.Timespec
	if unix.ClockGetres(unix.CLOCK_REALTIME_COARSE, &step) != nil {
		return 10 * time.Millisecond // the largest there is, at 100 ticks a second
	}
	return time.Duration(step.Nano())
}

// reload loads once, and goes on with the paths that this leads to.
func (r *run) reload() {
	paths, err := r.load()
	r.failed = err != nil
	if err == nil {
		r.logged = failure{}
	} else if f := (failure{r.sum(), err.Error()}); f != r.logged {
		r.logged = f
		r.log.Error("not loaded; what was loaded before stays", "err", err)
	}
	if paths != nil {
		r.paths = slices.Clone(paths)
	}
}

// sum identifies the contents of all paths.
func (r *run) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, p := range r.paths {
		s := r.known[p].sum
		h.Write(s[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
