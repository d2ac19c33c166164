package reload

import (
	"errors"
	"log/slog"
	"os"

	"github.com/fsnotify/fsnotify"
)

// bell rings when something happens in the directories that matter. It may ring
// for nothing, and may fail to ring.
type bell struct {
	rings <-chan struct{} // never rings where the kernel gives no notices

	log     *slog.Logger
	watcher *fsnotify.Watcher // nil likewise
	watched map[string]os.FileInfo
	warned  bool
}

func newBell(open func() (*fsnotify.Watcher, error), log *slog.Logger) *bell {
	b := &bell{log: log, watched: make(map[string]os.FileInfo)}
	w, err := open()
	if err != nil {
		b.warn(err)
		return b
	}
	b.watcher = w
	rings := make(chan struct{}, 1)
	b.rings = rings
	go ring(w, rings)
	return b
}

// ring turns notices into rings, several into one while nobody listens. A
// notice that was lost (an error) is one too.
func ring(w *fsnotify.Watcher, rings chan<- struct{}) {
	for {
		var ok bool
		select {
		case _, ok = <-w.Events:
		case _, ok = <-w.Errors:
		}
		if !ok {
			return
		}
		select {
		case rings <- struct{}{}:
		default:
		}
	}
}

// follow makes the bell ring for these paths and no others. A directory is
// watched as it stands at its name now, not as the one that stood there before.
func (b *bell) follow(paths []string) {
	if b.watcher == nil {
		return
	}
	alive := make(map[string]bool)
	for _, d := range b.watcher.WatchList() {
		alive[d] = true
	}
	wanted := make(map[string]bool)
	for _, p := range paths {
		dirs, _ := walk(p)
		for _, d := range dirs {
			if !wanted[d] {
				wanted[d] = true
				b.add(d, alive[d])
			}
		}
	}
	for d := range b.watched {
		if !wanted[d] {
			b.remove(d)
		}
	}
}

func (b *bell) add(dir string, alive bool) {
	st, err := os.Stat(dir)
	if err != nil {
		return
	}
	if old, ok := b.watched[dir]; ok && alive && os.SameFile(old, st) {
		return
	}
	b.remove(dir)
	if err := b.watcher.Add(dir); err != nil {
		b.warn(err)
		return
	}
	b.watched[dir] = st
}

// remove is for a directory whose watch may be gone with it: no error matters.
func (b *bell) remove(dir string) {
	delete(b.watched, dir)
	b.watcher.Remove(dir)
}

func (b *bell) warn(err error) {
	if b.warned || errors.Is(err, os.ErrNotExist) {
		return
	}
	b.warned = true
	b.log.Warn("no notices of changes; looking once a second", "err", err)
}

func (b *bell) close() {
	if b.watcher != nil {
		b.watcher.Close()
	}
}
