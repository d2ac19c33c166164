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
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		reload.Watch{Paths: d.profile.WatchPaths(), Since: d.began, Load: d.reload, Log: d.log}.Run(ctx)
	}()
	d.onClose(func() {
		cancel()
		<-done
	})
}

// reload puts the policies in force as they are now. With any problem, those
// that were in force before stay.
func (d *daemon) reload() (paths []string, err error) {
	defer func() { d.metrics.Reload(err == nil) }()
	next, problems := d.profile.Reread()
	if next == nil {
		return nil, problems.Err()
	}
	paths = next.WatchPaths()
	if len(problems) == 0 && !next.SameMounts(d.profile) {
		d.log.Warn("the mounts of the profile have changed; that needs a restart, until then only policies are read anew", "profile", d.profile.File)
		next = d.profile
	}
	view, _, err := build(next, problems, d.files()...)
	if err != nil {
		return paths, err
	}
	if err := d.server.Swap(view); err != nil {
		return paths, err
	}
	d.profile = next
	d.log.Info("policies are in force as they are now", "generation", d.server.Generation())
	return paths, nil
}
