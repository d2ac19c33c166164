package backing

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrNoProc reports that /proc is not a proc file system. Objects are held by
// O_PATH descriptors, and several calls reach those through /proc/self/fd only.
var ErrNoProc = errors.New("/proc is not mounted, and file access needs it")

// hostTree is a directory of the host.
type hostTree struct {
	root    hostDir
	openat2 bool // the kernel has it and lets us
	flags   bool // a directory may have a flag to fold names

	folds atomic.Bool // some directory folds names: walk by each of them
}

// Open opens the host directory dir as a Tree; links in dir itself are
// followed. The process's umask should be 0.
func Open(dir string) (Tree, error) {
	if !procMounted() {
		return nil, fmt.Errorf("open %s: %w", dir, ErrNoProc)
	}
	fd, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	if _, err := statx(fd, ""); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("statx %s: %w", dir, err)
	}
	t := &hostTree{openat2: haveOpenat2(fd), flags: kernelFolds()}
	t.root.init(fd)
	t.root.tree, t.root.system = t, t.systemOf(fd)
	return t, nil
}

// OpenFile opens a file of the host as (tree of its parent directory, name):
// hosts replace such files by rename, and the name leads to whatever is there.
// The last component of path is not followed when it is a link. It is an
// error when nothing is there, or a directory.
func OpenFile(path string) (Tree, string, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	tree, err := Open(dir)
	if err != nil {
		return nil, "", err
	}
	st, err := tree.(*hostTree).root.StatAt(name)
	if err == nil && st.IsDir() {
		err = unix.EISDIR
	}
	if err != nil {
		tree.Close()
		return nil, "", fmt.Errorf("open %s: %w", path, err)
	}
	return tree, name, nil
}

func procMounted() bool {
	var st unix.Statfs_t
	err := retry(func() error { return unix.Statfs("/proc/self/fd", &st) })
	return err == nil && st.Type == unix.PROC_SUPER_MAGIC
}

func openRoot(dir string) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return err
	})
	return fd, err
}

// Dir opens the directory rel below the root.
func (t *hostTree) Dir(rel string) (Dir, error) {
	names, err := splitRel(rel)
	if err != nil {
		return nil, err
	}
	if t.folds.Load() {
		return t.listedDir(names)
	}
	d := &hostDir{tree: t}
	err = t.root.use(func(root int) error {
		switch {
		case rel == "":
			d.fd, err = unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 0)
			d.system = t.root.system
		case t.openat2 && len(rel) < unix.PathMax:
			d.fd, d.system, err = walkBelow(root, rel, t.root.system)
		default:
			d.fd, err = walkNames(root, names)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.init(d.fd)
	return d, nil
}

// listedDir opens the directory that names lead to, each as it is listed.
func (t *hostTree) listedDir(names []string) (Dir, error) {
	d := &hostDir{tree: t, system: t.root.system}
	err := t.root.use(func(root int) (err error) {
		d.fd, err = unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.init(d.fd)
	for _, name := range names {
		child, err := d.dirAt(name)
		d.Close()
		if err != nil {
			return nil, err
		}
		d = child
	}
	return d, nil
}

// Close lets go of the root.
func (t *hostTree) Close() error { return t.root.Close() }
