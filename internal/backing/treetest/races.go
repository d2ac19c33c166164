package treetest

import (
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// A race is run for raceTime, and up to raceLimit on a machine that is so busy
// that nothing has raced by then.
const (
	raceTime  = 300 * time.Millisecond
	raceLimit = 10 * time.Second
)

// swap runs step again and again beside try, which reports whether it found
// what it was after. A race in which it always did, or never, tested nothing.
func swap(t *testing.T, step func() error, try func() (found bool)) {
	t.Helper()
	stop := make(chan struct{})
	var group sync.WaitGroup
	defer group.Wait()
	defer close(stop)
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := step(); err != nil {
				t.Errorf("swap = %v", err)
				return
			}
		}
	})
	var found, missed int
	for start := time.Now(); !t.Failed(); {
		if try() {
			found++
		} else {
			missed++
		}
		raced := found > 0 && missed > 0
		if past := time.Since(start); past > raceTime && raced || past > raceLimit {
			break
		}
	}
	if found == 0 || missed == 0 {
		t.Errorf("found %d times, missed %d times: nothing raced", found, missed)
	}
}

// rotate renames names[0] to names[1] and so on, and lets others run between.
func rotate(d backing.Dir, names ...string) error {
	for i := range len(names) - 1 {
		if err := d.RenameAt(names[i], d, names[i+1]); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return nil
}

// swappedParent replaces a directory on the way by a link to the outside and
// back while Dir walks over it. What Dir finds is inside, always.
func swappedParent(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	outside := outsideDir(t)
	top := makeDir(t, root, "top")
	sub := makeDir(t, makeDir(t, top, "dir"), "sub")
	makeFile(t, sub, "secret", "inside")
	makeLink(t, top, outside, "link")

	step := func() error {
		if err := rotate(top, "dir", "hidden"); err != nil {
			return err
		}
		if err := rotate(top, "link", "dir"); err != nil {
			return err
		}
		if err := rotate(top, "dir", "link"); err != nil {
			return err
		}
		return rotate(top, "hidden", "dir")
	}
	absent := []error{unix.ENOENT, unix.ELOOP, unix.ENOTDIR, unix.EAGAIN}
	swap(t, step, func() bool {
		d, err := tree.Dir("top/dir/sub")
		if err != nil {
			oneOf(t, err, absent, "Dir(top/dir/sub)")
			return false
		}
		defer d.Close()
		f, err := d.OpenAt("secret", unix.O_RDONLY)
		check(t, err, nil, "OpenAt(secret)")
		defer f.Close()
		wantContent(t, f, "inside")
		return true
	})
}

// swappedFile replaces a file by a link to the outside and by a FIFO while it
// is opened. What OpenAt and ObjectAt find is inside, always.
func swappedFile(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	outside := outsideDir(t)
	makeFile(t, root, "name", "inside")
	makeLink(t, root, filepath.Join(outside, "secret"), "link")
	makeNode(t, root, "fifo", unix.S_IFIFO|0o600)

	step := func() error {
		if err := rotate(root, "name", "file"); err != nil {
			return err
		}
		for _, other := range []string{"link", "fifo"} {
			if err := rotate(root, other, "name", other); err != nil {
				return err
			}
		}
		return rotate(root, "file", "name")
	}
	swap(t, step, func() bool {
		o, err := root.ObjectAt("name")
		if err == nil {
			err = o.Truncate(6)
			o.Close()
			oneOf(t, err, []error{nil, unix.EINVAL}, "Truncate(6)")
		}
		f, err := root.OpenAt("name", unix.O_RDWR)
		if err != nil {
			oneOf(t, err, []error{unix.ENOENT, unix.ENXIO}, "OpenAt(name)")
			return false
		}
		defer f.Close()
		wantContent(t, f, "inside")
		return true
	})
}
