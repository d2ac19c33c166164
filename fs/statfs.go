package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// Statfs returns the figures of the file system behind a node.
func (s *Server) Statfs(c *Caller, num NodeID) (backing.StatFS, syscall.Errno) {
	n, errno := s.node(num)
	if errno != 0 {
		return backing.StatFS{}, errno
	}
	if errno := s.gateStat(c, n); errno != 0 {
		return backing.StatFS{}, errno
	}
	if n.mount == nil || n.mount.tree == nil {
		return backing.StatFS{Bsize: 4096, Frsize: 4096, Namelen: 255}, 0
	}
	if n.mount.holder != nil {
		st, err := n.mount.holder.Statfs()
		return st, errnoOf(err)
	}
	d, err := n.mount.tree.Dir("")
	if err != nil {
		return backing.StatFS{}, errnoOf(err)
	}
	defer d.Close()
	st, err := d.Statfs()
	return st, errnoOf(err)
}
