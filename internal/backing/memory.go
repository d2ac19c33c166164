package backing

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Memory is a Tree that lives in memory, for tests of what stands on one. It
// behaves as a Linux file system does for root: no permission is checked, the
// rest (link counts, times, errors and which of several comes first) is the
// same. Renames and links between two Memory trees are EXDEV. Locks of Flock
// are its own, and Sync does nothing.
type Memory struct {
	// Now is the clock. It and Fail may only be set before the tree is used.
	Now func() time.Time

	// Fail, where it is set, is asked before each operation; its error is the
	// operation's. Op is the method's name, name the first name that it was
	// given or "". It must not use the tree.
	Fail func(op, name string) error

	dev  uint64
	root *memNode

	acting sync.Mutex // held by As

	mu   sync.Mutex // guards every node and what follows
	as   *[2]uint32 // uid and gid of whom As acts for; nil is the root's owner
	last uint64     // inode number
	open int        // objects that were not closed
}

// memDevs counts the trees, so that each is a device of its own.
var memDevs atomic.Uint64

// NewMemory returns an empty tree whose root belongs to the process's user.
func NewMemory() *Memory {
	m := &Memory{Now: time.Now, dev: unix.Mkdev(0x5f5, uint32(memDevs.Add(1)))}
	m.root = m.newNode(nil, unix.S_IFDIR|0o755)
	m.root.stat.Uid, m.root.stat.Gid = uint32(os.Geteuid()), uint32(os.Getegid())
	m.root.stat.Nlink = 2
	return m
}

// Dir opens the directory rel below the root.
func (m *Memory) Dir(rel string) (Dir, error) {
	names, err := splitRel(rel)
	if err != nil {
		return nil, err
	}
	if err := m.fail("Dir", rel); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, name := range names {
		if n, err = n.lookupDir(name); err != nil {
			return nil, err
		}
	}
	return m.newDir(n), nil
}

// Close does nothing: a closed Memory can be used on.
func (m *Memory) Close() error { return nil }

// OpenObjects returns how many objects were opened and not yet closed.
func (m *Memory) OpenObjects() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open
}

func (m *Memory) fail(op, name string) error {
	if m.Fail == nil {
		return nil
	}
	return m.Fail(op, name)
}

func (m *Memory) now() unix.Timespec { return unix.NsecToTimespec(m.Now().UnixNano()) }
