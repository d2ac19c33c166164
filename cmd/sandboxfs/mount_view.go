package main

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/fs/bazil"
	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// mountView opens the sources and mounts the view.
func (d *daemon) mountView(recorder fs.Recorder) error {
	trees, err := openTrees(d.view.Mounts())
	if err != nil {
		return err
	}
	d.server, err = fs.NewServer(fs.Config{
		View: d.view, Trees: trees, Recorder: recorder, Metrics: d.metrics, Log: d.log,
		Symlinks: symlinks[d.profile.Symlinks], Owner: owner(d.owner), Mountpoint: d.mountpoint,
	})
	if err != nil {
		closeTrees(trees)
		return err
	}
	claim, err := claimed(d.mountpoint)
	if err != nil {
		d.server.Close()
		return err
	}
	defer claim.Close()
	others := os.Geteuid() == 0 || userAllowOther(fuseConf)
	d.mount, err = bazil.New(d.mountpoint, d.server, bazil.Options{
		FSName: d.profile.Name, AllowOther: others, Metrics: d.metrics, Log: d.log,
	})
	if err != nil {
		d.server.Close()
		return mountError(d.mountpoint, err)
	}
	if !others && d.tally == nil {
		d.say("note: only this user sees the view, because user_allow_other is not set in %s", fuseConf)
	}
	if uid := os.Geteuid(); uid != 0 && d.owner != nil && int(d.owner.UID) != uid && d.tally == nil {
		d.say("note: owner shows the files of user %d as those of %d: user %[1]d is refused what their mode keeps from others", uid, d.owner.UID)
	}
	d.onClose(d.closeServer)
	go func() {
		err := d.mount.Serve()
		d.ended.Store(true)
		d.served <- err
	}()
	return nil
}

// claimed keeps another daemon from mounting on point until the file that it
// returns is closed, and fails if one has, since it was looked at first.
func claimed(point string) (*os.File, error) {
	f, err := os.Open(point)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("another daemon is about to mount on %s; choose another mountpoint", point)
	}
	table, err := mountinfo.Read()
	if m, ok := table.At(point); err == nil && ok && m.Ours() {
		err = fmt.Errorf("%s is a view already; end it with: sandboxfs umount %s", point, point)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// closeServer closes the server unless requests are under way, which happens
// only when the program is about to end without having waited for them.
func (d *daemon) closeServer() {
	if d.ended.Load() {
		d.server.Close()
	}
}

// mountError says what to do about what mounting failed of.
func mountError(mountpoint string, err error) error {
	if _, statErr := os.Stat("/dev/fuse"); errors.Is(statErr, os.ErrNotExist) {
		return errors.New("/dev/fuse does not exist; modprobe fuse, or in a container: docker run --device /dev/fuse --cap-add SYS_ADMIN")
	}
	return fmt.Errorf("mount %s: %w (sandboxfs doctor tells what is missing)", mountpoint, err)
}

var symlinks = map[profile.Symlinks]fs.Symlinks{
	profile.SymlinksFollow: fs.SymlinksFollow,
	profile.SymlinksInside: fs.SymlinksInside,
	profile.SymlinksReject: fs.SymlinksReject,
}

func owner(o *profile.Owner) *fs.Owner {
	if o == nil {
		return nil
	}
	return &fs.Owner{Uid: o.UID, Gid: o.GID}
}

// fuseConf says whether users may let others into their views.
const fuseConf = "/etc/fuse.conf"

// openTrees opens the sources of mounts at once, by the same index. If one cannot
// be opened none is.
func openTrees(mounts []overlay.Mount) ([]backing.Tree, error) {
	trees, errs := make([]backing.Tree, len(mounts)), make([]error, len(mounts))
	var opening sync.WaitGroup
	for i, m := range mounts {
		opening.Go(func() { trees[i], errs[i] = openTree(m) })
	}
	opening.Wait()
	for i, err := range errs {
		if err != nil {
			closeTrees(trees)
			return nil, fmt.Errorf("mount %s: %w", mounts[i].Target, err)
		}
	}
	return trees, nil
}

// openTree opens the source of m; a device has none.
func openTree(m overlay.Mount) (tree backing.Tree, err error) {
	switch m.Kind {
	case overlay.KindDir:
		tree, err = backing.Open(m.Source)
	case overlay.KindFile, overlay.KindSymlink:
		tree, _, err = backing.OpenFile(m.Source)
	}
	return tree, err
}

func closeTrees(trees []backing.Tree) {
	for _, t := range trees {
		if t != nil {
			t.Close()
		}
	}
}
