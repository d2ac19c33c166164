package backing

import "golang.org/x/sys/unix"

// memObject is one opening of a node.
type memObject struct {
	tree   *Memory
	node   *memNode
	closed bool // guarded by tree.mu
}

// newObject returns an open object; the tree is locked.
func (m *Memory) newObject(n *memNode) memObject {
	m.open++
	return memObject{tree: m, node: n}
}

// do runs call with the tree locked, unless op is to fail or the object closed.
func (o *memObject) do(op, name string, call func() error) error {
	if err := o.tree.fail(op, name); err != nil {
		return err
	}
	o.tree.mu.Lock()
	defer o.tree.mu.Unlock()
	if o.closed {
		return unix.EBADF
	}
	return call()
}

// change is do for what changes the node's attributes only.
func (o *memObject) change(op, name string, call func() error) error {
	return o.do(op, name, func() error {
		err := call()
		if err == nil {
			o.node.stat.Ctime = o.tree.now()
		}
		return err
	})
}

// Stat describes the object.
func (o *memObject) Stat() (st Stat, err error) {
	err = o.do("Stat", "", func() error {
		st = o.node.describe()
		return nil
	})
	return st, err
}

// Chmod sets the permission bits.
func (o *memObject) Chmod(mode uint32) error {
	return o.change("Chmod", "", func() error {
		if o.node.kind() == unix.S_IFLNK {
			return unix.EOPNOTSUPP
		}
		o.node.stat.Mode = o.node.kind() | mode&07777
		return nil
	})
}

// Chown sets owner and group, and takes the set-id bits of a file away as
// Linux does even for root.
func (o *memObject) Chown(uid, gid int) error {
	return o.change("Chown", "", func() error {
		st := &o.node.stat
		if uid != -1 {
			st.Uid = uint32(uid)
		}
		if gid != -1 {
			st.Gid = uint32(gid)
		}
		if o.node.kind() == unix.S_IFREG {
			st.Mode &^= unix.S_ISUID
			if st.Mode&unix.S_IXGRP != 0 {
				st.Mode &^= unix.S_ISGID
			}
		}
		return nil
	})
}

// Utimes sets the times.
func (o *memObject) Utimes(atime, mtime unix.Timespec) error {
	return o.do("Utimes", "", func() error {
		if !settable(atime) || !settable(mtime) {
			return unix.EINVAL
		}
		if atime.Nsec == unix.UTIME_OMIT && mtime.Nsec == unix.UTIME_OMIT {
			return nil
		}
		now := o.tree.now()
		setTime(&o.node.stat.Atime, atime, now)
		setTime(&o.node.stat.Mtime, mtime, now)
		o.node.stat.Ctime = now
		return nil
	})
}

func settable(ts unix.Timespec) bool {
	return ts.Nsec == unix.UTIME_NOW || ts.Nsec == unix.UTIME_OMIT || ts.Nsec >= 0 && ts.Nsec < 1e9
}

func setTime(to *unix.Timespec, ts, now unix.Timespec) {
	switch ts.Nsec {
	case unix.UTIME_OMIT:
	case unix.UTIME_NOW:
		*to = now
	default:
		*to = ts
	}
}

// Truncate sets the size of a regular file.
func (o *memObject) Truncate(size int64) error {
	return o.do("Truncate", "", func() error {
		switch o.node.kind() {
		case unix.S_IFDIR:
			return unix.EISDIR
		case unix.S_IFREG:
		default:
			return unix.EINVAL
		}
		err := o.node.data.truncate(size)
		if err == nil {
			o.node.touch(o.tree.now())
		}
		return err
	})
}

// LinkTo makes a hard link.
func (o *memObject) LinkTo(dir Dir, name string) error {
	to, ok := dir.(*memDir)
	if !ok || to.tree != o.tree {
		return unix.EXDEV
	}
	if err := checkName(name); err != nil {
		return err
	}
	return o.do("LinkTo", name, func() error {
		if to.closed {
			return unix.EBADF
		}
		if err := to.node.vacant(name); err != nil {
			return err
		}
		switch {
		case o.node.stat.IsDir():
			return unix.EPERM
		case o.node.stat.Nlink == 0:
			return unix.ENOENT
		}
		to.node.add(name, o.node, o.tree.now())
		return nil
	})
}

// Close lets go of the object.
func (o *memObject) Close() error {
	o.tree.mu.Lock()
	defer o.tree.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.tree.open--
	}
	return nil
}

// Reopen opens the object, if it is a regular file, whatever has become of its
// names.
func (o *memObject) Reopen(flags int) (File, error) {
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		return nil, unix.EINVAL
	}
	var f *memFile
	err := o.do("Reopen", "", func() error {
		if o.node.kind() != unix.S_IFREG {
			return unix.ENXIO
		}
		f = o.tree.newFile(o.node, flags)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}
