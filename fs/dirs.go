package fs

import (
	"container/list"
	"sync"
	"syscall"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// dirCache keeps descriptors of directories, the least recently used ones
// closed first. Files have none: a descriptor for each known file would meet
// RLIMIT_NOFILE on the first large tree.
type dirCache struct {
	limit int

	mu   sync.Mutex
	refs map[*node]*dirRef
	lru  list.List // of *dirRef, most recently used first
}

// dirRef is an open directory with its users counted.
type dirRef struct {
	backing.Dir
	cache *dirCache
	node  *node

	// guarded by cache.mu
	users int
	elem  *list.Element // nil once it left the cache
}

func newDirCache(limit int) *dirCache {
	return &dirCache{limit: limit, refs: make(map[*node]*dirRef)}
}

// get returns the cached descriptor of n, or nil.
func (c *dirCache) get(n *node) *dirRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.refs[n]
	if r != nil {
		r.users++
		c.lru.MoveToFront(r.elem)
	}
	return r
}

// put gives the cache an open directory and returns it in use. If another
// goroutine was first, its descriptor is returned and d is closed.
func (c *dirCache) put(n *node, d backing.Dir) *dirRef {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.refs[n]; r != nil {
		d.Close()
		r.users++
		return r
	}
	r := &dirRef{Dir: d, cache: c, node: n, users: 1}
	c.refs[n] = r
	r.elem = c.lru.PushFront(r)
	for c.lru.Len() > c.limit {
		c.evictLocked(c.lru.Back().Value.(*dirRef))
	}
	return r
}

// drop forgets the descriptor of n.
func (c *dirCache) drop(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.refs[n]; r != nil {
		c.evictLocked(r)
	}
}

func (c *dirCache) evictLocked(r *dirRef) {
	c.lru.Remove(r.elem)
	r.elem = nil
	delete(c.refs, r.node)
	if r.users == 0 {
		r.Dir.Close()
	}
}

// closeAll closes whatever is not in use.
func (c *dirCache) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.refs {
		c.evictLocked(r)
	}
}

// use adds a user to a directory that is in use already.
func (r *dirRef) use() *dirRef {
	r.cache.mu.Lock()
	r.users++
	r.cache.mu.Unlock()
	return r
}

// release ends one use.
func (r *dirRef) release() {
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	r.users--
	if r.users == 0 && r.elem == nil {
		r.Dir.Close()
	}
}

// openDir returns the directory of the backing that n stands for; ESTALE when
// another one has taken its place. The caller releases it.
func (s *Server) openDir(n *node) (*dirRef, syscall.Errno) {
	if r := s.dirs.get(n); r != nil {
		return r, 0
	}
	if r := s.openedDir(n); r != nil {
		return r, 0
	}
	d, errno := s.reopenDir(n)
	if errno != 0 {
		return nil, errno
	}
	st, err := d.Stat()
	if err == nil && st.ID() != n.id {
		err = syscall.ESTALE
	}
	if err != nil {
		d.Close()
		return nil, errnoOf(err)
	}
	return s.dirs.put(n, d), 0
}

// placed checks that a directory still is where its path says: the host, or
// another view of the same files, may have moved it, and whoever is in it must
// not go on under the rules of the old place. ESTALE if it is elsewhere.
func (s *Server) placed(n *node) syscall.Errno {
	if n.kind != kindDir {
		return 0
	}
	d, err := n.mount.tree.Dir(s.pathOf(n).Rel(n.mount.target))
	if err != nil {
		return syscall.ESTALE
	}
	defer d.Close()
	if st, err := d.Stat(); err != nil || st.ID() != n.id {
		return syscall.ESTALE
	}
	n.seenAt.Store(time.Now().UnixNano())
	return 0
}

// placedLately is placed where it is enough that the directory was in its place
// within the lifetime that the kernel's own knowledge has.
func (s *Server) placedLately(n *node) syscall.Errno {
	if time.Now().UnixNano()-n.seenAt.Load() < int64(s.lifetime) {
		return 0
	}
	return s.placed(n)
}

// reopenDir opens the directory at n's place: the root of its mount, or its
// name in its parent.
func (s *Server) reopenDir(n *node) (backing.Dir, syscall.Errno) {
	s.mu.RLock()
	var at dentry
	if len(n.names) > 0 {
		at = n.names[0]
	}
	isTarget := n.path == n.mount.target
	s.mu.RUnlock()
	if isTarget {
		d, err := n.mount.tree.Dir("")
		return d, errnoOf(err)
	}
	if at.dir == nil {
		return nil, syscall.ESTALE
	}
	parent, errno := s.openDir(at.dir)
	if errno != 0 {
		return nil, errno
	}
	defer parent.release()
	d, err := parent.DirAt(at.name)
	return d, errnoOf(err)
}
