package fs

import (
	"hash/fnv"
	"sync"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// inodes gives out the st_ino of a view: the backing's own number for the
// device of the first mount, with an index in the high bits for every other.
// The mounts' devices come first, in the order of the table, so that the
// numbers are the same after a remount.
type inodes struct {
	mu      sync.RWMutex
	indexes map[uint64]uint64 // of a device
}

// inodeBits is how many low bits of an inode number are the backing's.
const inodeBits = 48

// Indexes of what no backing holds.
const (
	inodeSynth  = 0xfffe
	inodeDevice = 0xffff
)

// device returns the index of dev.
func (t *inodes) device(dev uint64) uint64 {
	t.mu.RLock()
	i, ok := t.indexes[dev]
	t.mu.RUnlock()
	if ok {
		return i
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, ok := t.indexes[dev]; ok {
		return i
	}
	if t.indexes == nil {
		t.indexes = make(map[uint64]uint64)
	}
	i = uint64(len(t.indexes))
	t.indexes[dev] = i
	return i
}

// number returns the st_ino for an object of the backing. Numbers that need
// more than inodeBits bits (overlayfs uses the high ones) are folded: they stay
// unequal in practice, not by proof.
func (t *inodes) number(dev, ino uint64) uint64 {
	return t.device(dev)<<inodeBits ^ ino
}

// synthesised returns the st_ino of something that no backing holds.
func synthesised(index uint64, path vpath.Path) uint64 {
	h := fnv.New64a()
	h.Write([]byte(path))
	return index<<inodeBits | h.Sum64()&(1<<inodeBits-1)
}
