package fs

import (
	"sync"
	"syscall"

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
	read       bool
	generation uint64 // of the view that the names were shown by
	entries    []DirEntry
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
	if off == 0 || !h.listing.read {
		entries, errno := s.list(h.node)
		if errno != 0 {
			return errno
		}
		h.listing.entries, h.listing.read, h.listing.generation = entries, true, snap.generation
	}
	if off >= uint64(len(h.listing.entries)) {
		h.listing.entries, h.listing.read = nil, false // read to the end: it is not kept for as long as the directory is open
		return 0
	}
	path := s.pathOf(h.node)
	for i := off; i < uint64(len(h.listing.entries)); i++ {
		if h.listing.generation != snap.generation && h.node.hides(snap.view, path.Join(h.listing.entries[i].Name)) {
			continue // hidden by a reload since the listing was read
		}
		if !emit(h.listing.entries[i], i+1) {
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
		if above[e.Name] || mayHide && n.hides(view, path.Join(e.Name)) {
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
