package main

import (
	"context"
	"os"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// keep has the record removed when the daemon is closed, after all else. With a
// container that is left the record stays, for gc and the next start.
func (d *daemon) keep(r *record) {
	d.record = r
	d.onClose(func() {
		if !d.dropContainer() {
			return
		}
		if err := r.remove(); err != nil {
			d.log.Warn("the record of the view is left; clear it with: sandboxfs gc", "err", err)
		}
	})
}

// dropContainer removes the container that commands on the view were given, if
// there is one, and reports whether none is left. It tries once. As long as it is
// there the kernel does not end the view, which is mounted in it as well.
func (d *daemon) dropContainer() bool {
	if d.record == nil {
		return true
	}
	socket, _, ok := d.record.container()
	if !ok {
		return true
	}
	d.dropping.Lock()
	defer d.dropping.Unlock()
	if d.left {
		return false
	}
	if err := removeContainer(d.record.ID, socket); err != nil {
		d.say("a container of the view may be left; clear it with: sandboxfs gc (%v)", err)
		d.left = true
		return false
	}
	os.Remove(d.record.containerMark())
	return true
}

// dropUnmounted removes the container once the view is not mounted any more
// outside of it.
func (d *daemon) dropUnmounted(mounted mountinfo.Mount) {
	if table, err := mountinfo.Read(); err == nil && !table.Has(mounted.ID) {
		d.dropContainer()
	}
}

// removeContainer removes the container of a session, and fails where no engine
// answers.
func removeContainer(session, socket string) error {
	docker, err := collector(socket)
	if err != nil {
		return err
	}
	defer docker.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return docker.Remove(ctx, session)
}
