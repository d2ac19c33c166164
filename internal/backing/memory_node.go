package backing

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// memNode is an inode. The tree's mutex guards it.
type memNode struct {
	stat   Stat // Size and Blocks of a regular file are its data's
	xattrs map[string][]byte

	entries map[string]*memNode // of a directory
	parent  *memNode            // of a directory; nil for the root
	data    memData             // of a regular file
	locks   map[*memFile]int    // of a regular file: LOCK_SH or LOCK_EX
	target  string              // of a link
}

// newNode makes an inode that has no name yet. It belongs to the owner of the
// root, and in a set-gid directory to that directory's group.
func (m *Memory) newNode(dir *memNode, mode uint32) *memNode {
	m.last++
	now := m.now()
	n := &memNode{stat: Stat{
		Dev: m.dev, Ino: m.last, Mode: mode, Blksize: memPage,
		Atime: now, Mtime: now, Ctime: now, Btime: now,
	}}
	if n.stat.IsDir() {
		n.entries = map[string]*memNode{}
	}
	if dir == nil {
		return n
	}
	n.stat.Uid, n.stat.Gid = m.root.stat.Uid, m.root.stat.Gid
	if m.as != nil {
		n.stat.Uid, n.stat.Gid = m.as[0], m.as[1]
	}
	if dir.stat.Mode&unix.S_ISGID != 0 {
		n.stat.Gid = dir.stat.Gid
		if n.stat.IsDir() {
			n.stat.Mode |= unix.S_ISGID
		}
	}
	return n
}

func (n *memNode) kind() uint32 { return n.stat.Mode & unix.S_IFMT }

// describe returns the node's Stat.
func (n *memNode) describe() Stat {
	st := n.stat
	switch n.kind() {
	case unix.S_IFREG:
		st.Size, st.Blocks = uint64(n.data.size), n.data.blocks()
	case unix.S_IFLNK:
		st.Size = uint64(len(n.target))
	}
	return st
}

// lookup finds name in a directory.
func (n *memNode) lookup(name string) (*memNode, error) {
	if len(name) > memNameMax {
		return nil, unix.ENAMETOOLONG
	}
	child, ok := n.entries[name]
	if !ok {
		return nil, unix.ENOENT
	}
	return child, nil
}

// lookupDir finds a directory in a directory.
func (n *memNode) lookupDir(name string) (*memNode, error) {
	child, err := n.lookup(name)
	switch {
	case err != nil:
		return nil, err
	case child.kind() == unix.S_IFLNK:
		return nil, unix.ELOOP
	case !child.stat.IsDir():
		return nil, unix.ENOTDIR
	}
	return child, nil
}

// vacant returns nil when name can be made in the directory.
func (n *memNode) vacant(name string) error {
	_, err := n.lookup(name)
	switch {
	case err == nil:
		return unix.EEXIST
	case err != unix.ENOENT:
		return err
	case n.stat.Nlink == 0: // removed
		return unix.ENOENT
	}
	return nil
}

// add gives child a name in the directory.
func (n *memNode) add(name string, child *memNode, now unix.Timespec) {
	n.entries[name] = child
	child.stat.Ctime = now
	child.stat.Nlink++
	if child.stat.IsDir() {
		child.stat.Nlink++ // its "."
		child.parent = n
		n.stat.Nlink++ // its ".."
	}
	n.touch(now)
}

// remove takes a name away.
func (n *memNode) remove(name string, now unix.Timespec) {
	child := n.entries[name]
	delete(n.entries, name)
	child.stat.Ctime = now
	child.stat.Nlink--
	if child.stat.IsDir() {
		child.stat.Nlink--
		n.stat.Nlink--
	}
	n.touch(now)
}

// touch notes a change of the content.
func (n *memNode) touch(now unix.Timespec) { n.stat.Mtime, n.stat.Ctime = now, now }

// list returns the entries in the order of their names.
func (n *memNode) list() []Dirent {
	list := make([]Dirent, 0, len(n.entries))
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		child := n.entries[name]
		list = append(list, Dirent{Name: name, Ino: child.stat.Ino, Type: uint8(child.kind() >> 12)})
	}
	return list
}

// within reports whether the directory n is dir or lies below it.
func (n *memNode) within(dir *memNode) bool {
	for ; n != nil; n = n.parent {
		if n == dir {
			return true
		}
	}
	return false
}
