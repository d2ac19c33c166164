package fs

import (
	"sync"
	"sync/atomic"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// kind says what a node stands for.
type kind uint8

const (
	kindDir    kind = iota // a directory of a backing
	kindSynth              // a synthesised directory
	kindFile               // all else of a backing: regular files, links, FIFOs, sockets
	kindDevice             // null, zero or urandom
)

// node is one inode of the view. A directory's node is its place: parent and
// name. A file's node is its identity in the backing with the set of names it
// is known by; its verdict is the strictest of them.
type node struct {
	// constant
	num   NodeID
	kind  kind
	mount *mount     // nil for a synthesised directory
	id    backing.ID // zero for what no backing holds

	// verdict caches what may be done: generation<<opBits | the operations whose
	// verdict is a plain allow. It is written with Server.mu held for reading,
	// and cleared with Server.mu held for writing whenever a name changes.
	verdict atomic.Uint64

	// opener is the thread that opened the file for writing last and has done
	// nothing to it since: its truncation to 0 is that of O_TRUNC.
	opener atomic.Uint32

	// seenAt is when a directory was last found in its place, in ns.
	seenAt atomic.Int64

	// process made the file, in a zone: it may save it under another name there.
	process atomic.Uint32

	// git says that the file has, or had, a name that git looks for somewhere.
	git atomic.Bool

	// pointed is what a pointer of git held before it was truncated to be written
	// anew.
	pointed atomic.Pointer[pointed]

	watch watch

	// guarded by Server.mu
	path     vpath.Path       // of a directory or device; of a file its last name, once it has none
	names    []dentry         // empty for the root and for what was removed
	children map[string]*node // of a directory: those known to the kernel
	changes  uint64           // of a directory: how often this view changed a name in it
	lookups  uint64           // references that the kernel holds
	handles  []*handle
	kept     backing.Object // of a file whose last name this view has removed; else nil
}

// dentry is one name of a node.
type dentry struct {
	dir  *node
	name string
}

// opBits is the number of low bits of node.verdict that hold operations.
const opBits = policy.NumOps

// isDir reports whether the node is a directory of any kind.
func (n *node) isDir() bool { return n.kind == kindDir || n.kind == kindSynth }

// allows reports whether the cached verdict of that generation permits op.
func (n *node) allows(generation uint64, op policy.Op) bool {
	v := n.verdict.Load()
	return v>>opBits == generation && v&(1<<op) != 0
}

// cache keeps the operations that are plainly allowed at that generation.
// Server.mu must be held for reading.
func (n *node) cache(generation uint64, allowed policy.OpSet) {
	n.verdict.Store(generation<<opBits | uint64(allowed))
}

// pathsLocked appends every path that n is known by. Server.mu must be held.
func (n *node) pathsLocked(paths []vpath.Path) []vpath.Path {
	if n.kind != kindFile || len(n.names) == 0 {
		return append(paths, n.path)
	}
	for _, d := range n.names {
		paths = append(paths, d.dir.path.Join(d.name))
	}
	return paths
}

// watch remembers what a file's size and times were when the kernel was last
// told, so that a change from beside the view is noticed.
type watch struct {
	mu      sync.Mutex
	valid   bool
	lenient bool // the next change of ctime alone is our own
	writers int  // own writes under way
	stamp   stamp
}

// stamp is what changes when a file's content does.
type stamp struct {
	size        uint64
	msec, mnsec int64
	csec, cnsec int64
}

func stampOf(st *backing.Stat) stamp {
	return stamp{st.Size, st.Mtime.Sec, st.Mtime.Nsec, st.Ctime.Sec, st.Ctime.Nsec}
}

// sameData reports whether two stamps differ in ctime at most.
func (s stamp) sameData(t stamp) bool {
	return s.size == t.size && s.msec == t.msec && s.mnsec == t.mnsec
}

// observe compares st with what was last seen, remembers it, and reports
// whether somebody else has changed the file since.
func (w *watch) observe(st *backing.Stat) (changed bool) {
	now := stampOf(st)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writers > 0 {
		return false
	}
	changed = w.valid && now != w.stamp && !(w.lenient && now.sameData(w.stamp))
	w.valid, w.lenient, w.stamp = true, false, now
	return changed
}

// own says that an operation of this view has changed, or is about to change,
// the file's ctime without its content.
func (w *watch) own() {
	w.mu.Lock()
	w.lenient = true
	w.mu.Unlock()
}

// begin opens a bracket around an own change of content, at whose start the
// file was as st says; it reports whether somebody else had changed it before.
func (w *watch) begin(st *backing.Stat) (changed bool) {
	now := stampOf(st)
	w.mu.Lock()
	defer w.mu.Unlock()
	changed = w.writers == 0 && w.valid && now != w.stamp && !(w.lenient && now.sameData(w.stamp))
	w.writers++
	return changed
}

// end closes the bracket, with the file as st says; nil if that is not known,
// and then the next look at the file finds it changed.
func (w *watch) end(st *backing.Stat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writers--
	w.valid, w.lenient, w.stamp = true, false, stamp{}
	if st != nil {
		w.stamp = stampOf(st)
	}
}
