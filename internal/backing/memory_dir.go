package backing

import "golang.org/x/sys/unix"

// memDir is an opening of a directory.
type memDir struct{ memObject }

// newDir opens a directory; the tree is locked.
func (m *Memory) newDir(n *memNode) *memDir { return &memDir{m.newObject(n)} }

// at is do for operations on a name in the directory.
func (d *memDir) at(op, name string, call func() error) error {
	if err := checkName(name); err != nil {
		return err
	}
	return d.do(op, name, call)
}

// with is at for operations on what the name is.
func (d *memDir) with(op, name string, call func(n *memNode) error) error {
	return d.at(op, name, func() error {
		n, err := d.node.lookup(name)
		if err != nil {
			return err
		}
		return call(n)
	})
}

// StatAt describes name.
func (d *memDir) StatAt(name string) (st Stat, err error) {
	err = d.with("StatAt", name, func(n *memNode) error {
		st = n.describe()
		return nil
	})
	return st, err
}

// ObjectAt takes hold of whatever name is.
func (d *memDir) ObjectAt(name string) (Object, error) {
	var o memObject
	err := d.with("ObjectAt", name, func(n *memNode) error {
		o = d.tree.newObject(n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &o, nil
}

// OpenAt opens a regular file.
func (d *memDir) OpenAt(name string, flags int) (File, error) {
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return nil, unix.EINVAL
	}
	var f *memFile
	err := d.with("OpenAt", name, func(n *memNode) error {
		if n.kind() != unix.S_IFREG {
			return unix.ENXIO
		}
		f = d.tree.newFile(n, flags)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// DirAt opens a directory.
func (d *memDir) DirAt(name string) (Dir, error) {
	var child *memDir
	err := d.at("DirAt", name, func() error {
		n, err := d.node.lookupDir(name)
		if err == nil {
			child = d.tree.newDir(n)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return child, nil
}

// ReadlinkAt returns the target of a link; EINVAL for anything else.
func (d *memDir) ReadlinkAt(name string) (target string, err error) {
	err = d.with("ReadlinkAt", name, func(n *memNode) error {
		if n.kind() != unix.S_IFLNK {
			return unix.EINVAL
		}
		target = n.target
		return nil
	})
	return target, err
}

// ReadDir lists the directory in the order of the names. It is ENOENT when the
// directory was removed.
func (d *memDir) ReadDir() (list []Dirent, err error) {
	err = d.do("ReadDir", "", func() error {
		if d.node.stat.Nlink == 0 {
			return unix.ENOENT
		}
		list = d.node.list()
		return nil
	})
	return list, err
}

// Folds reports that names are told apart byte by byte.
func (d *memDir) Folds() bool { return false }

// Sync does nothing.
func (d *memDir) Sync() error { return d.do("Sync", "", func() error { return nil }) }

// Statfs describes a file system that never fills.
func (d *memDir) Statfs() (st StatFS, err error) {
	err = d.do("Statfs", "", func() error {
		const blocks, files = memSizeMax / memPage, 1 << 20
		st = StatFS{
			Blocks: blocks, Bfree: blocks, Bavail: blocks, Files: files, Ffree: files - d.tree.last,
			Bsize: memPage, Namelen: memNameMax, Frsize: memPage,
		}
		return nil
	})
	return st, err
}

// As runs make for another owner, one at a time. What other goroutines make
// meanwhile belongs to that owner too: the tree cannot tell who calls.
func (d *memDir) As(uid, gid uint32, make func() error) error {
	m := d.tree
	m.acting.Lock()
	defer m.acting.Unlock()
	m.actFor(&[2]uint32{uid, gid})
	defer m.actFor(nil)
	return make()
}

func (m *Memory) actFor(owner *[2]uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.as = owner
}
