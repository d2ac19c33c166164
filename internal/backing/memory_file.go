package backing

import "golang.org/x/sys/unix"

// memFile is an opening of a regular file.
type memFile struct {
	memObject
	access int // O_RDONLY, O_WRONLY or O_RDWR
}

// newFile opens a regular file; the tree is locked.
func (m *Memory) newFile(n *memNode, flags int) *memFile {
	return &memFile{memObject: m.newObject(n), access: flags & unix.O_ACCMODE}
}

// ReadAt reads from off.
func (f *memFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.do("ReadAt", "", func() error {
		if f.access == unix.O_WRONLY {
			return unix.EBADF
		}
		n, err = f.node.data.readAt(p, off)
		return err
	})
	return n, err
}

// WriteAt writes at off.
func (f *memFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.write("WriteAt", func() error {
		n, err = f.node.data.writeAt(p, off)
		return err
	})
	return n, err
}

// Append writes at the end.
func (f *memFile) Append(p []byte) (n int, err error) {
	err = f.write("Append", func() error {
		n, err = f.node.data.writeAt(p, f.node.data.size)
		return err
	})
	return n, err
}

// Allocate is fallocate(2) in its modes 0, FALLOC_FL_KEEP_SIZE and
// FALLOC_FL_PUNCH_HOLE; others are EOPNOTSUPP.
func (f *memFile) Allocate(mode uint32, off, length int64) error {
	return f.write("Allocate", func() error { return f.node.data.allocate(mode, off, length) })
}

// write is do for changes of the content.
func (f *memFile) write(op string, call func() error) error {
	return f.do(op, "", func() error {
		if f.access == unix.O_RDONLY {
			return unix.EBADF
		}
		err := call()
		if err == nil {
			f.node.touch(f.tree.now())
		}
		return err
	})
}

// Sync does nothing.
func (f *memFile) Sync(dataOnly bool) error {
	return f.do("Sync", "", func() error { return nil })
}

// Flock locks or unlocks the file for this File, and never waits.
func (f *memFile) Flock(how int) error {
	return f.do("Flock", "", func() error {
		how &^= unix.LOCK_NB
		switch how {
		case unix.LOCK_UN:
			delete(f.node.locks, f)
			return nil
		case unix.LOCK_SH, unix.LOCK_EX:
		default:
			return unix.EINVAL
		}
		for other, held := range f.node.locks {
			if other != f && (how == unix.LOCK_EX || held == unix.LOCK_EX) {
				// A conversion that must wait gives up the lock first (flock(2)).
				delete(f.node.locks, f)
				return unix.EWOULDBLOCK
			}
		}
		if f.node.locks == nil {
			f.node.locks = map[*memFile]int{}
		}
		f.node.locks[f] = how
		return nil
	})
}

// Close lets go of the file and of its lock.
func (f *memFile) Close() error {
	f.tree.mu.Lock()
	delete(f.node.locks, f)
	f.tree.mu.Unlock()
	return f.memObject.Close()
}
