package main

import (
	"context"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/reload"
)

// watch reloads the policies whenever they change, unless the profile pins
// them.
func (d *daemon) watch() {
	if d.profile.Reload == profile.ReloadPin {
		return
	}
	r := reloader{d, d.profile}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		reload.Watch{Paths: d.profile.WatchPaths(), Since: d.began, Load: r.load, Log: d.log}.Run(ctx)
	}()
	d.onClose(func() {
		cancel()
		<-done
	})
}

// reloader reads the policies of a daemon anew.
type reloader struct {
	*daemon
	current *profile.Profile // as it is in force
}

// load puts the policies in force as they are now. With any problem, those that
// were in force before stay.
func (r *reloader) load() (paths []string, err error) {
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
	view, _, err := build(next, problems, r.files()...)
	if err != nil {
		return paths, err
	}
	if err := r.server.Swap(view); err != nil {
		return paths, err
	}
	r.current = next
	r.log.Info("policies are in force as they are now", "generation", r.server.Generation())
	return paths, nil
}
