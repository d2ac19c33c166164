package fs

import (
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// handle is one open file or directory.
type handle struct {
	// constant
	id    HandleID
	node  *node
	file  backing.File // nil for a directory and a device
	dir   *dirRef      // of a directory of a backing; nil for all else
	flags uint32       // of open(2)
	exec  bool         // opened by execve(2)
	maker vpath.Path   // the name under which this descriptor made the file; else ""

	// made caches whether that name may still be made: generation<<1 | yes.
	made atomic.Uint64

	// users counts the table and whoever borrowed the handle; the file is closed
	// with the last.
	users atomic.Int32

	listing listing // of a directory
	flock   flock
}

// handles is the table of what is open.
type handles struct {
	mu   sync.RWMutex
	open map[HandleID]*handle
	last HandleID
}

// count returns how many there are.
func (t *handles) count() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.open)
}

// full reports whether no more may be opened: without a descriptor of its own
// the daemon could not even read a new policy.
func (s *Server) full() bool { return s.handles.count() >= s.maxHandles }

// get returns the handle that the kernel calls id; EBADF if there is none.
func (t *handles) get(id HandleID) (*handle, syscall.Errno) {
	t.mu.RLock()
	h := t.open[id]
	t.mu.RUnlock()
	if h == nil {
		return nil, syscall.EBADF
	}
	return h, 0
}

// closeAll closes what the kernel never released, and returns how much it was.
func (t *handles) closeAll() int {
	t.mu.Lock()
	left := t.open
	t.open = nil
	t.mu.Unlock()
	for _, h := range left {
		h.done()
	}
	return len(left)
}

// open gives h an id and makes it known.
func (s *Server) open(h *handle) {
	h.users.Store(1)
	t := &s.handles
	t.mu.Lock()
	if t.open == nil {
		t.open = make(map[HandleID]*handle)
	}
	t.last++
	h.id = t.last
	t.open[h.id] = h
	t.mu.Unlock()

	s.mu.Lock()
	h.node.handles = append(h.node.handles, h)
	s.mu.Unlock()
	s.metrics.Handles(1)
}

// Release closes a handle. Nobody is asked: what was opened can be closed.
func (s *Server) Release(id HandleID) {
	t := &s.handles
	t.mu.Lock()
	h := t.open[id]
	delete(t.open, id)
	t.mu.Unlock()
	if h == nil {
		return
	}
	s.locks.release(h)
	s.listings.drop(&h.listing)
	s.mu.Lock()
	if i := slices.Index(h.node.handles, h); i >= 0 {
		h.node.handles = slices.Delete(h.node.handles, i, i+1)
	}
	s.dropLocked(h.node)
	s.mu.Unlock()
	h.done()
	s.metrics.Handles(-1)
}

// done ends one use of h.
func (h *handle) done() {
	if h.users.Add(-1) > 0 {
		return
	}
	if h.file != nil {
		h.file.Close()
	}
	if h.dir != nil {
		h.dir.release()
	}
}

// openedDir returns the directory that an open handle of n holds, in use, or
// nil: what is left of a directory whose name is gone.
func (s *Server) openedDir(n *node) *dirRef {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, h := range n.handles {
		if h.dir != nil {
			return h.dir.use()
		}
	}
	return nil
}

// anyHandle borrows an open file of n, or returns nil. The caller calls done.
func (s *Server) anyHandle(n *node) *handle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, h := range n.handles {
		if h.file != nil {
			h.users.Add(1)
			return h
		}
	}
	return nil
}

// anyMaker reports whether a descriptor that made n is open and may still make it.
func (s *Server) anyMaker(snap *snapshot, n *node) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, h := range n.handles {
		if h.maker != "" && h.making(snap) {
			return true
		}
	}
	return false
}
