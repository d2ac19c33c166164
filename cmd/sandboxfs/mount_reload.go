package main

import (
	"context"
	"slices"
	"sync"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/reload"
	"github.com/sandboxfs/sandboxfs/policy"
)

// reloader puts new views in force while a daemon serves: when a policy changes,
// and when another view appears below a source.
type reloader struct {
	*daemon

	// guarded by mu
	mu      sync.Mutex
	current *profile.Profile
	library *policy.Library
	views   []string
}

// watch starts what keeps the view up to date, until the daemon is closed.
func (d *daemon) watch() {
	r := &reloader{daemon: d, current: d.profile, library: d.library, views: d.views}
	table, _ := mountinfo.Read()
	mounted, known := table.At(d.mountpoint)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		changed := func() {
			r.hideViews()
			if known { // else it would look unmounted
				d.dropUnmounted(mounted)
			}
		}
		if err := mountinfo.Watch(ctx, changed); err != nil {
			d.log.Warn("views that are mounted below a source from now on are not hidden", "err", err)
		}
	})
	if d.profile.Reload == profile.ReloadLive {
		running.Go(func() {
			reload.Watch{Paths: d.profile.WatchPaths(), Since: d.began, Load: r.load, Log: d.log}.Run(ctx)
		})
	}
	d.onClose(func() {
		cancel()
		running.Wait()
	})
}

// load puts the policies in force as they are now. With any problem, those that
// were in force before stay.
func (r *reloader) load() (paths []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.metrics.Reload(err == nil) }()
	next, problems := r.current.Reread()
	if next == nil {
		return nil, problems.Err()
	}
	paths = next.WatchPaths()
	if len(problems) == 0 && !next.SameMounts(r.current) {
		r.log.Warn("the mounts of the profile have changed; that needs a restart, until then only policies are read anew", "profile", r.current.File)
		next = r.current
	}
	views, err := next.Views()
	if err != nil {
		return paths, err
	}
	b, err := build(next, problems, r.files()...)
	if err != nil {
		return paths, err
	}
	if err := r.server.Swap(b.view); err != nil {
		return paths, err
	}
	r.current, r.library, r.views = next, b.library, views
	r.log.Info("policies are in force as they are now", "generation", r.server.Generation())
	return paths, nil
}

// hideViews hides the views that are mounted below a source now, and shows what
// is there again where one is gone. Policies stay as they were loaded.
func (r *reloader) hideViews() {
	r.mu.Lock()
	defer r.mu.Unlock()
	views, err := r.current.Views()
	if err != nil {
		r.log.Error("views below a source are not looked for", "err", err)
		return
	}
	if slices.Equal(views, r.views) {
		return
	}
	view, _, problems := r.current.Build(r.library, r.files()...)
	err = problems.Err()
	if err == nil {
		err = r.server.Swap(view)
	}
	if err != nil {
		r.log.Error("views below a source are not hidden", "views", views, "err", err)
		return
	}
	r.views = views
	r.log.Info("views below a source are hidden", "views", views)
}
