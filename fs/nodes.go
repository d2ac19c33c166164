package fs

import (
	"slices"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// node returns the node that the kernel calls num; ESTALE for one that it has
// already forgotten.
func (s *Server) node(num NodeID) (*node, syscall.Errno) {
	s.mu.RLock()
	n := s.nodes[num]
	s.mu.RUnlock()
	if n == nil {
		return nil, syscall.ESTALE
	}
	return n, 0
}

// dir returns the directory that the kernel calls num, for names in it. One that
// has lost its place in the view, or lies below such a one, is ENOENT: what its
// path is now, and so what may be done in it, nobody knows.
func (s *Server) dir(num NodeID) (*node, syscall.Errno) {
	n, errno := s.node(num)
	if errno != 0 {
		return nil, errno
	}
	if !n.isDir() {
		return nil, syscall.ENOTDIR
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for above := n; above.num != RootID; above = above.names[0].dir {
		if len(above.names) == 0 {
			return nil, syscall.ENOENT
		}
	}
	return n, 0
}

// pathOf returns the path of a directory.
func (s *Server) pathOf(dir *node) vpath.Path {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return dir.path
}

// pathIn returns the path of name in the directory that the kernel calls num,
// for a record; "" where there is none.
func (s *Server) pathIn(num NodeID, name string) vpath.Path {
	dir, errno := s.dir(num)
	if errno != 0 {
		return ""
	}
	return s.pathOf(dir).Join(name)
}

// pathsOf returns every path that n is known by.
func (s *Server) pathsOf(n *node) []vpath.Path {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return n.pathsLocked(nil)
}

// firstPath returns a path that n is known by.
func (s *Server) firstPath(n *node) vpath.Path {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if n.kind != kindFile || len(n.names) == 0 {
		return n.path
	}
	return n.names[0].dir.path.Join(n.names[0].name)
}

// child returns the path of name in dir and the node known there, which may be nil.
func (s *Server) child(dir *node, name string) (vpath.Path, *node) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return dir.path.Join(name), dir.children[name]
}

// changesOf returns how often this view has changed a name in dir.
func (s *Server) changesOf(dir *node) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return dir.changes
}

// enter finds or makes the node for what was found under name in dir and
// counts one reference of the kernel. It returns nil if a name in dir was
// changed after seen was asked for: what was found may be gone, and must not
// take the place of what came after.
func (s *Server) enter(dir *node, name string, f found, seen uint64) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if dir.changes != seen {
		return nil
	}
	return s.enterLocked(dir, name, f)
}

// made is enter for a name that an operation of this view has just made.
func (s *Server) made(dir *node, name string, f found) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir.changes++
	return s.enterLocked(dir, name, f)
}

// enterLocked enters what was found. An object that is another one than before
// gets a node of its own.
func (s *Server) enterLocked(dir *node, name string, f found) *node {
	n := dir.children[name]
	if n != nil && (n.kind != f.kind || n.id != f.id) {
		s.unlinkLocked(n, dentry{dir, name})
		n = nil
	}
	if n == nil && f.kind == kindFile {
		if n = s.files[f.id]; n != nil {
			s.linkFurtherLocked(n, dentry{dir, name})
		}
	}
	if n == nil {
		n = s.newNodeLocked(f)
		s.linkLocked(n, dentry{dir, name})
	}
	n.lookups++
	return n
}

func (s *Server) newNodeLocked(f found) *node {
	s.lastNode++
	n := &node{num: s.lastNode, kind: f.kind, mount: f.mount, id: f.id}
	if n.isDir() {
		n.children = make(map[string]*node)
	}
	s.nodes[n.num] = n
	if n.kind == kindFile {
		s.files[n.id] = n
	}
	s.metrics.Nodes(1)
	return n
}

// linkLocked makes d a name of n.
func (s *Server) linkLocked(n *node, d dentry) {
	n.names = append(n.names, d)
	if n.kind == kindFile && (gitguard.NameOf(d.name).Guarded() || gitguard.NameOf(d.dir.path.Base()).Closed()) {
		n.git.Store(true)
	}
	d.dir.children[d.name] = n
	if n.kind != kindFile {
		n.path = d.dir.path.Join(d.name)
	}
	n.verdict.Store(0)
}

// unlinkLocked takes the name d from n. The last name of a file is remembered
// as its path: what is still open goes on being judged by it.
func (s *Server) unlinkLocked(n *node, d dentry) {
	i := slices.Index(n.names, d)
	if i < 0 {
		return
	}
	if n.kind == kindFile && len(n.names) == 1 {
		n.path = d.dir.path.Join(d.name)
	}
	n.names = slices.Delete(n.names, i, i+1)
	if d.dir.children[d.name] == n {
		delete(d.dir.children, d.name)
	}
	n.verdict.Store(0)
	s.dropLocked(d.dir)
	s.dropLocked(n)
}

// goneLocked takes n out of the table of identities: its file has no name left
// in the backing, and the inode number may be used again at once.
func (s *Server) goneLocked(n *node) {
	if s.files[n.id] == n {
		delete(s.files, n.id)
	}
}

// repathLocked sets the path of a directory that was moved, and of all
// directories known below it.
func (s *Server) repathLocked(n *node, path vpath.Path) {
	n.verdict.Store(0)
	if n.kind == kindFile {
		return
	}
	n.path = path
	for name, child := range n.children {
		s.repathLocked(child, path.Join(name))
	}
}

// Forget takes back count references of the kernel.
func (s *Server) Forget(num NodeID, count uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.nodes[num]
	if n == nil || num == RootID {
		return
	}
	n.lookups -= min(count, n.lookups)
	s.dropLocked(n)
}

// dropLocked removes n once nothing refers to it any more, and then whatever
// it was the last to refer to.
func (s *Server) dropLocked(n *node) {
	if n.num == RootID || n.lookups > 0 || len(n.children) > 0 || len(n.handles) > 0 || s.nodes[n.num] != n {
		return
	}
	delete(s.nodes, n.num)
	s.goneLocked(n)
	s.metrics.Nodes(-1)
	if n.kept != nil {
		n.kept.Close()
	}
	s.dirs.drop(n)
	for _, d := range slices.Clone(n.names) {
		s.unlinkLocked(n, d)
	}
}

// same returns ESTALE when st is not the object that n was made for, or when
// its name is gone; else err. The kernel then looks the name up again. It reads
// st only where err is nil.
func (n *node) same(st *backing.Stat, err error) error {
	if err == syscall.ENOENT || err == nil && st.ID() != n.id {
		return syscall.ESTALE
	}
	return err
}

// atName calls act with the directory and the name of each name of a file
// until one does not answer ESTALE.
func (s *Server) atName(n *node, act func(d *dirRef, name string) error) syscall.Errno {
	var buf [2]dentry
	s.mu.RLock()
	names := append(buf[:0], n.names...)
	s.mu.RUnlock()
	for _, at := range names {
		d, name, errno := s.holderOf(at)
		if errno == syscall.ESTALE {
			continue
		}
		if errno != 0 {
			return errno
		}
		err := act(d, name)
		d.release()
		if err != syscall.ESTALE {
			return errnoOf(err)
		}
	}
	return syscall.ESTALE
}

// holderOf returns the directory of the backing, and the name in it, that a
// name of the view stands for. The caller releases it.
func (s *Server) holderOf(at dentry) (*dirRef, string, syscall.Errno) {
	if m := s.mounts[s.pathOf(at.dir).Join(at.name)]; m != nil && m.holder != nil {
		return m.holder.use(), m.base, 0
	}
	if at.dir.kind != kindDir {
		return nil, "", syscall.ESTALE
	}
	d, errno := s.openDir(at.dir)
	return d, at.name, errno
}
