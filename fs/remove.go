package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Unlink removes a file's name.
func (s *Server) Unlink(c *Caller, parent NodeID, name string) syscall.Errno {
	return s.remove(c, parent, name, policy.Unlink, backing.Dir.UnlinkAt)
}

// Rmdir removes an empty directory. One with a mount below is not empty.
func (s *Server) Rmdir(c *Caller, parent NodeID, name string) syscall.Errno {
	return s.remove(c, parent, name, policy.Rmdir, backing.Dir.RmdirAt)
}

func (s *Server) remove(c *Caller, parent NodeID, name string, op policy.Op, act func(d backing.Dir, name string) error) syscall.Errno {
	s.moves.RLock()
	defer s.moves.RUnlock()
	dir, errno := s.dir(parent)
	if errno != 0 {
		return errno
	}
	if errno := s.placed(dir); errno != 0 {
		return errno
	}
	path, n := s.child(dir, name)
	a := access{op: op, path: path}
	if s.View().Pinned(path) {
		return s.refuse(c, a, policy.Mountpoint)
	}
	if errno := s.gateEntry(c, dir, n, a); errno != 0 {
		return errno
	}
	if dir.kind != kindDir || isFresh(name) {
		return syscall.ENOENT
	}
	if closed := s.closes(dir, name); closed.Closed() && s.gitOn(path) {
		return s.refuseGit(c, a, "%s", messages[closed])
	}
	d, errno := s.openDir(dir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	if n != nil && n.kind == kindDir {
		// Whoever is in it goes on by the descriptor.
		if inside, errno := s.openDir(n); errno == 0 {
			defer inside.release()
		}
	}
	r := s.keep(n, d, name)
	if err := act(d.Dir, name); err != nil {
		r.close()
		return errnoOf(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lostLocked(dentry{dir, name}, r)
	return 0
}
