package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// subtreeLimit is how many entries below a directory are looked at before its
// rename is refused, which makes tools copy it name by name.
const subtreeLimit = 20000

// Rename moves a name. Both ends are decided, and nothing may become allowed
// by the move, to the file or to anything below the directory.
func (s *Server) Rename(c *Caller, oldParent NodeID, oldName string, newParent NodeID, newName string) syscall.Errno {
	from, errno := s.dir(oldParent)
	if errno != 0 {
		return errno
	}
	to, errno := s.dir(newParent)
	if errno != 0 {
		return errno
	}
	m := move{oldDir: from, newDir: to, oldName: oldName, newName: newName}
	defer s.lockMove(&m)()
	for _, dir := range [...]*node{from, to} {
		if errno := s.placed(dir); errno != 0 {
			return errno
		}
	}
	m.old, m.node = s.child(from, oldName)
	m.new, m.replaced = s.child(to, newName)
	if len(m.new) > maxPath {
		return syscall.ENAMETOOLONG
	}
	if isFresh(oldName) || isFresh(newName) {
		return syscall.ENOENT
	}
	if errno := s.gateRename(c, &m); errno != 0 {
		return errno
	}
	if taken, errno := s.guardMove(c, &m); taken || errno != 0 {
		return errno
	}
	before := s.moving(&m)
	if errno := s.renameBacking(&m); errno != 0 {
		return errno
	}
	s.moved(&m)
	s.narrowed(before)
	return 0
}

// lockMove holds names still for a move, all of them if it is, or may be, that
// of a directory, makes a directory one of git's, or says where the files of a
// repository are: no link may come to be on the way there meanwhile. It returns
// what lets them go.
func (s *Server) lockMove(m *move) (unlock func()) {
	name := gitguard.NameOf(m.newName)
	if _, n := s.child(m.oldDir, m.oldName); n != nil && n.kind == kindFile && !name.Marks() && !name.Configures() {
		s.moves.RLock()
		return s.moves.RUnlock
	}
	s.moves.Lock()
	m.alone = true
	return s.moves.Unlock
}

// move is a rename under way.
type move struct {
	oldDir, newDir   *node
	oldName, newName string
	old, new         vpath.Path
	node, replaced   *node   // as far as they are known
	alone            bool    // nothing else makes or moves a name meanwhile
	isLink           bool    // what is moved
	remains          remains // of what is replaced
}

// gateRename decides a rename: mounts, the old name, the new name, and whether
// anything is gained.
func (s *Server) gateRename(c *Caller, m *move) syscall.Errno {
	view := s.View()
	a := access{op: policy.Rename, path: m.old, to: m.new}
	if view.Pinned(m.old) || view.Pinned(m.new) && !m.newDir.hides(view, m.new) {
		return s.refuse(c, a, policy.Mountpoint)
	}
	if s.savesInZone(c, view, m) {
		return s.gateEntry(c, m.newDir, m.replaced, access{op: policy.Write, path: m.new})
	}
	if errno := s.gateEntry(c, m.oldDir, m.node, a); errno != 0 {
		return errno
	}
	target, errno := s.gateNewName(c, view, m)
	if errno != 0 {
		return errno
	}
	if m.oldDir.mount == nil || s.mountAt(view, m.old) != s.mountAt(view, m.new) {
		return s.refuse(c, a, policy.CrossMount)
	}
	f, errno := s.locate(view, m.oldDir, m.oldName, m.old)
	if errno != 0 {
		return errno
	}
	m.isLink = f.stat.Mode&syscall.S_IFMT == syscall.S_IFLNK
	if target != nil && target.id == f.id {
		return 0
	}
	if m.isLink {
		if errno := s.gateName(c, m.newDir, m.new, policy.Symlink); errno != 0 {
			return errno
		}
	}
	if f.kind != kindDir {
		if !s.linkMayStand(m.node, m.new) {
			return s.refuse(c, a, policy.SymlinkEscape)
		}
		if mayGain(view, m.old, m.new) {
			return s.refuse(c, a, policy.Subtree)
		}
		return 0
	}
	if !m.alone {
		return syscall.ESTALE // it was a file when the kernel looked
	}
	return s.gateSubtree(c, view, m, a)
}

// gateNewName decides the new name: write if something is there, else create.
func (s *Server) gateNewName(c *Caller, view *overlay.View, m *move) (*found, syscall.Errno) {
	a := access{op: policy.Create, path: m.new}
	if m.newDir.hides(view, m.new) {
		return nil, s.gateEntry(c, m.newDir, nil, a)
	}
	f, errno := s.locate(view, m.newDir, m.newName, m.new)
	if f.own != nil {
		return nil, s.refuse(c, a, f.own)
	}
	switch errno {
	case 0:
		a.op = policy.Write
		return &f, s.gateEntry(c, m.newDir, m.replaced, a)
	case syscall.ENOENT:
		return nil, s.gateEntry(c, m.newDir, nil, a)
	}
	return nil, errno
}

// gateSubtree decides whether a directory may move with all that lies below:
// by proof from the rules, else by looking at every entry.
func (s *Server) gateSubtree(c *Caller, view *overlay.View, m *move, a access) syscall.Errno {
	if mayTell(view, m.old, m.new) {
		return s.refuse(c, a, policy.Subtree)
	}
	if view.Alike(m.old, m.new) {
		return 0
	}
	d, errno := s.openDir(m.oldDir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	top, err := d.DirAt(m.oldName)
	if err != nil {
		return errnoOf(err)
	}
	defer top.Close()
	c.Thread.Yield()
	left := subtreeLimit
	same, err := sameBelow(view, top, m.old, m.new, &left)
	if err != nil {
		return errnoOf(err)
	}
	if !same {
		return s.refuse(c, a, policy.Subtree)
	}
	return 0
}

// sameBelow walks a directory and reports whether no entry could tell the two
// places apart (mayTell). It gives up, with false, after left entries.
func sameBelow(view *overlay.View, d backing.Dir, from, to vpath.Path, left *int) (bool, error) {
	entries, err := d.ReadDir()
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if *left--; *left < 0 {
			return false, nil
		}
		was, is := from.Join(e.Name), to.Join(e.Name)
		if mayTell(view, was, is) {
			return false, nil
		}
		same, err := sameEntry(view, d, e, was, is, left)
		if !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// sameEntry goes on below an entry that is, or turns out to be, a directory.
func sameEntry(view *overlay.View, d backing.Dir, e backing.Dirent, from, to vpath.Path, left *int) (bool, error) {
	if e.Type != syscall.DT_DIR && e.Type != syscall.DT_UNKNOWN {
		return true, nil
	}
	sub, err := d.DirAt(e.Name)
	switch err {
	case nil:
		defer sub.Close()
		return sameBelow(view, sub, from, to, left)
	case syscall.ENOTDIR, syscall.ELOOP, syscall.ENOENT:
		return true, nil
	}
	return false, err
}

func (s *Server) renameBacking(m *move) syscall.Errno {
	from, errno := s.openDir(m.oldDir)
	if errno != 0 {
		return errno
	}
	defer from.release()
	to, errno := s.openDir(m.newDir)
	if errno != 0 {
		return errno
	}
	defer to.release()
	m.remains = s.keep(m.replaced, to, m.newName)
	if err := from.RenameAt(m.oldName, to.Dir, m.newName); err != nil {
		m.remains.close()
		return errnoOf(err)
	}
	return 0
}

// moved brings the nodes to where the backing is now.
func (s *Server) moved(m *move) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.oldDir.changes++
	n := m.oldDir.children[m.oldName]
	if n != nil && n == m.newDir.children[m.newName] {
		m.remains.close()
		return // two names of one file: rename(2) does nothing
	}
	s.lostLocked(dentry{m.newDir, m.newName}, m.remains)
	if n = m.oldDir.children[m.oldName]; n == nil {
		return
	}
	n.lookups++ // so that it does not go while it has no name
	s.unlinkLocked(n, dentry{m.oldDir, m.oldName})
	s.linkLocked(n, dentry{m.newDir, m.newName})
	s.repathLocked(n, m.new)
	n.lookups--
	s.dropLocked(n)
	n.watch.own()
}
