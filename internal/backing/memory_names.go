package backing

import (
	"strings"

	"golang.org/x/sys/unix"
)

// CreateAt makes and opens a regular file.
func (d *memDir) CreateAt(name string, flags int, mode uint32) (File, error) {
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return nil, unix.EINVAL
	}
	var f *memFile
	err := d.make("CreateAt", name, unix.S_IFREG|mode&07777, func(n *memNode) {
		f = d.tree.newFile(n, flags)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// MkdirAt makes a directory.
func (d *memDir) MkdirAt(name string, mode uint32) error {
	return d.make("MkdirAt", name, unix.S_IFDIR|mode&01777, func(*memNode) {})
}

// MknodAt makes an empty regular file, a FIFO or a socket.
func (d *memDir) MknodAt(name string, mode uint32) error {
	if !makeable(mode) {
		return unix.EPERM
	}
	if mode&unix.S_IFMT == 0 {
		mode |= unix.S_IFREG
	}
	return d.make("MknodAt", name, mode, func(*memNode) {})
}

// SymlinkAt makes a symbolic link.
func (d *memDir) SymlinkAt(target, name string) error {
	if err := checkTarget(target); err != nil {
		return err
	}
	return d.make("SymlinkAt", name, unix.S_IFLNK|0777, func(n *memNode) { n.target = target })
}

func checkTarget(target string) error {
	switch {
	case target == "":
		return unix.ENOENT
	case len(target) >= unix.PathMax:
		return unix.ENAMETOOLONG
	case strings.IndexByte(target, 0) >= 0:
		return unix.EINVAL
	}
	return nil
}

// make adds a new node under name and completes it.
func (d *memDir) make(op, name string, mode uint32, complete func(*memNode)) error {
	return d.at(op, name, func() error {
		if err := d.node.vacant(name); err != nil {
			return err
		}
		n := d.tree.newNode(d.node, mode)
		d.node.add(name, n, n.stat.Btime)
		complete(n)
		return nil
	})
}

// UnlinkAt removes a name; EISDIR for a directory's.
func (d *memDir) UnlinkAt(name string) error {
	return d.with("UnlinkAt", name, func(n *memNode) error {
		if n.stat.IsDir() {
			return unix.EISDIR
		}
		d.node.remove(name, d.tree.now())
		return nil
	})
}

// RmdirAt removes an empty directory.
func (d *memDir) RmdirAt(name string) error {
	return d.with("RmdirAt", name, func(n *memNode) error {
		switch {
		case !n.stat.IsDir():
			return unix.ENOTDIR
		case len(n.entries) > 0:
			return unix.ENOTEMPTY
		}
		d.node.remove(name, d.tree.now())
		return nil
	})
}

// RenameAt renames name to newName in to, replacing what rename(2) replaces.
func (d *memDir) RenameAt(name string, to Dir, newName string) error {
	target, ok := to.(*memDir)
	if !ok || target.tree != d.tree {
		return unix.EXDEV
	}
	if err := checkName(newName); err != nil {
		return err
	}
	return d.with("RenameAt", name, func(n *memNode) error {
		if target.closed {
			return unix.EBADF
		}
		old, err := d.node.replaced(n, target.node, newName)
		if err != nil || old == n {
			return err
		}
		now := d.tree.now()
		if old != nil {
			target.node.remove(newName, now)
		}
		d.node.remove(name, now)
		target.node.add(newName, n, now)
		return nil
	})
}

// replaced returns what n, which is in the directory from, replaces as name in
// the directory to: nil when nothing is there, n itself when the rename is to
// do nothing.
func (from *memNode) replaced(n, to *memNode, name string) (*memNode, error) {
	old, err := to.lookup(name)
	switch {
	case err != nil && err != unix.ENOENT:
		return nil, err
	case n.stat.IsDir() && to.within(n):
		return nil, unix.EINVAL
	case err == unix.ENOENT:
		return nil, to.vacant(name)
	case old == n:
		return n, nil
	case old.stat.IsDir() && from.within(old):
		return nil, unix.ENOTEMPTY
	case n.stat.IsDir() && !old.stat.IsDir():
		return nil, unix.ENOTDIR
	case !n.stat.IsDir() && old.stat.IsDir():
		return nil, unix.EISDIR
	case len(old.entries) > 0:
		return nil, unix.ENOTEMPTY
	}
	return old, nil
}
