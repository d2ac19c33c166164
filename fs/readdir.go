package fs

import (
	"container/list"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// DirEntry is one entry of a listing.
type DirEntry struct {
	Name string
	Ino  uint64
	Type uint8 // DT_…
}

// listing is what a directory held when it was last read from its start. An
// offset is an index into it, so that it holds still for telldir(3).
type listing struct {
	mu         sync.Mutex
	generation uint64 // of the view that the names were shown by

	entries atomic.Pointer[[]DirEntry] // nil when it is to be read anew; set by listings
	place   *list.Element              // guarded by listings.mu
}

// listings bounds what is kept of directories that are open and were not read
// to their end, which would be for the caller to choose.
type listings struct {
	mu    sync.Mutex
	kept  list.List // of *listing, the oldest first
	total int       // entries in all of them
}

// maxListed is how many entries are kept. Whoever goes on to read a listing
// that was dropped reads the directory anew, from the same index.
const maxListed = 1 << 18

// keep gives l its entries, and drops the oldest listings that are too much.
func (k *listings) keep(l *listing, entries []DirEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(l)
	l.entries.Store(&entries)
	l.place = k.kept.PushBack(l)
	k.total += len(entries)
	for k.total > maxListed && k.kept.Len() > 1 {
		k.dropLocked(k.kept.Front().Value.(*listing))
	}
}

// drop lets go of the entries of l.
func (k *listings) drop(l *listing) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dropLocked(l)
}

func (k *listings) dropLocked(l *listing) {
	if l.place == nil {
		return
	}
	k.kept.Remove(l.place)
	k.total -= len(*l.entries.Swap(nil))
	l.place = nil
}

// Opendir opens a directory for listing.
func (s *Server) Opendir(c *Caller, num NodeID, out *Opened) syscall.Errno {
	n, errno := s.dir(num)
	if errno != 0 {
		return errno
	}
	if s.full() {
		return syscall.ENFILE
	}
	if errno := s.placedLately(n); errno != 0 {
		return errno
	}
	if errno := s.gate(c, n, policy.List); errno != 0 {
		return errno
	}
	h := &handle{node: n}
	if n.kind == kindDir {
		if h.dir, errno = s.openDir(n); errno != 0 {
			return errno
		}
	}
	s.open(h)
	out.Handle = h.id
	return 0
}

// Readdir calls emit with the entries from off on, each with the offset of the
// one after it, until emit returns false. Offset 0 reads the directory afresh.
func (s *Server) Readdir(c *Caller, id HandleID, off uint64, emit func(e DirEntry, next uint64) bool) syscall.Errno {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return errno
	}
	if errno := s.gate(c, h.node, policy.List); errno != 0 {
		return errno
	}
	snap := s.snap.Load()
	h.listing.mu.Lock()
	defer h.listing.mu.Unlock()
	var entries []DirEntry
	if kept := h.listing.entries.Load(); kept != nil && off != 0 {
		entries = *kept
	} else {
		if entries, errno = s.list(h.node); errno != 0 {
			return errno
		}
		s.listings.keep(&h.listing, entries)
		h.listing.generation = snap.generation
	}
	if off >= uint64(len(entries)) {
		s.listings.drop(&h.listing) // read to the end: it is not kept for as long as the directory is open
		return 0
	}
	path := s.pathOf(h.node)
	for i := off; i < uint64(len(entries)); i++ {
		if h.listing.generation != snap.generation && h.node.hides(snap.view, path.Join(entries[i].Name)) {
			continue // hidden by a reload since the listing was read
		}
		if !emit(entries[i], i+1) {
			break
		}
	}
	return 0
}

// list returns the entries of a directory: those of the backing that are not
// hidden, and the names that lead to mounts, in their place.
func (s *Server) list(n *node) ([]DirEntry, syscall.Errno) {
	view := s.View()
	s.mu.RLock()
	path, parent := n.path, n
	if len(n.names) > 0 {
		parent = n.names[0].dir
	}
	s.mu.RUnlock()
	entries := []DirEntry{
		{".", s.dirInode(n), syscall.DT_DIR},
		{"..", s.dirInode(parent), syscall.DT_DIR},
	}
	names := view.Names(path)
	above := make(map[string]bool, len(names))
	for _, name := range names {
		if f, errno := s.locate(view, n, name, path.Join(name)); errno == 0 {
			above[name] = true
			entries = append(entries, s.entryOf(name, path.Join(name), &f))
		}
	}
	if n.kind != kindDir {
		return entries, 0
	}
	return s.listBacking(view, n, path, above, entries)
}

// listBacking appends what the backing holds, but for names in above.
func (s *Server) listBacking(view *overlay.View, n *node, path vpath.Path, above map[string]bool, entries []DirEntry) ([]DirEntry, syscall.Errno) {
	d, errno := s.openDir(n)
	if errno != 0 {
		return nil, errno
	}
	defer d.release()
	found, err := d.ReadDir()
	if err != nil {
		return nil, errnoOf(err)
	}
	mayHide := view.MayHide(path)
	for _, e := range found {
		if r := ownRule(view, backing.ID{Dev: n.id.Dev, Ino: e.Ino}); r != nil && r.Decision == policy.Hide {
			continue
		}
		if above[e.Name] || isFresh(e.Name) || mayHide && n.hides(view, path.Join(e.Name)) {
			continue
		}
		entries = append(entries, DirEntry{e.Name, s.inodes.number(n.id.Dev, e.Ino), e.Type})
	}
	return entries, 0
}

// entryOf returns the entry for a name that leads to a mount.
func (s *Server) entryOf(name string, path vpath.Path, f *found) DirEntry {
	switch f.kind {
	case kindSynth:
		return DirEntry{name, synthesised(inodeSynth, path), syscall.DT_DIR}
	case kindDevice:
		return DirEntry{name, synthesised(inodeDevice, path), syscall.DT_REG}
	}
	return DirEntry{name, s.inodes.number(f.stat.Dev, f.stat.Ino), uint8(f.stat.Mode >> 12)}
}

// dirInode returns the st_ino of a directory.
func (s *Server) dirInode(n *node) uint64 {
	if n.kind == kindSynth {
		return synthesised(inodeSynth, s.pathOf(n))
	}
	return s.inodes.number(n.id.Dev, n.id.Ino)
}
