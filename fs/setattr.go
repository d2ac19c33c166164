package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/policy"
)

// SetattrIn is a request to change attributes; a nil field stays as it is.
type SetattrIn struct {
	Mode         *uint32 // 07777 bits
	Uid, Gid     *uint32
	Size         *uint64
	Atime, Mtime *unix.Timespec // Nsec may be unix.UTIME_NOW
	Handle       HandleID       // of ftruncate; 0 where the request names none
	KillSetID    bool           // clear set-uid and set-gid as a write by another user does
}

// Setattr changes attributes of a node and returns the new ones. Every change
// is decided before the first is made.
func (s *Server) Setattr(c *Caller, num NodeID, in *SetattrIn, out *Attr) syscall.Errno {
	n, errno := s.node(num)
	if errno != 0 {
		return errno
	}
	for _, op := range setattrOps(in) {
		if op == policy.Truncate {
			errno = s.gateTruncate(c, n, in)
		} else {
			errno = s.gate(c, n, op)
		}
		if errno != 0 {
			return errno
		}
	}
	if n.git.Load() && (in.Size != nil || in.Mode != nil) {
		s.moves.RLock()
		defer s.moves.RUnlock()
		if errno := s.guardSetattr(c, n, in); errno != 0 {
			return errno
		}
	}
	switch n.kind {
	case kindDevice:
		s.deviceAttr(n, out)
		return 0
	case kindSynth:
		s.synthAttr(s.pathOf(n), out)
		return 0
	}
	errno = s.withHandleOr(n, in.Handle, func(obj backing.Object) error {
		return s.change(n, obj, in)
	})
	if errno != 0 {
		return errno
	}
	return s.getattr(n, out)
}

// setattrOps returns the operations that a change asks for.
func setattrOps(in *SetattrIn) []policy.Op {
	ops := make([]policy.Op, 0, 4)
	if in.Mode != nil {
		ops = append(ops, policy.Chmod)
	}
	if in.Uid != nil || in.Gid != nil {
		ops = append(ops, policy.Chown)
	}
	if in.Size != nil {
		ops = append(ops, policy.Truncate)
	}
	if in.Atime != nil || in.Mtime != nil {
		ops = append(ops, policy.Utimes)
	}
	return ops
}

// gateTruncate decides a change of size. O_TRUNC reaches the daemon as an open
// followed by this, without the flag and without a handle (Linux 6.18): to size
// 0 by the thread that has just opened the file for writing, it asks for write.
func (s *Server) gateTruncate(c *Caller, n *node, in *SetattrIn) syscall.Errno {
	opener := n.opener.Swap(0)
	if in.Handle != 0 {
		if h, errno := s.handles.get(in.Handle); errno == 0 && h.node == n {
			return s.gateData(c, h, policy.Truncate)
		}
	}
	if *in.Size == 0 && opener != 0 && opener == c.Pid {
		return s.gate(c, n, policy.Write)
	}
	return s.gate(c, n, policy.Truncate)
}

// change carries out a change on the object that n is.
func (s *Server) change(n *node, obj backing.Object, in *SetattrIn) error {
	if in.Size != nil {
		if errno := s.changing(n, obj, func() error { return obj.Truncate(int64(*in.Size)) }); errno != 0 {
			return errno
		}
	}
	n.watch.own()
	if in.Uid != nil || in.Gid != nil {
		if err := s.chown(n, obj, in); err != nil {
			return err
		}
	}
	if in.Mode != nil {
		mode := *in.Mode & 07777 & noSetuid
		if s.owner != nil && n.kind == kindFile {
			mode &^= unix.S_ISGID // the group on the host is not the one that the caller has
		}
		if err := obj.Chmod(mode); err != nil {
			return err
		}
	}
	if in.KillSetID {
		if err := killSetID(obj); err != nil {
			return err
		}
	}
	if in.Atime != nil || in.Mtime != nil {
		return obj.Utimes(timeOrOmit(in.Atime), timeOrOmit(in.Mtime))
	}
	return nil
}

// chown changes the owner. Under Config.Owner only the mapped pair can be
// given away and taken: anybody else's files stay theirs.
func (s *Server) chown(n *node, obj backing.Object, in *SetattrIn) error {
	uid, gid := -1, -1
	if s.owner != nil {
		if in.Uid != nil && *in.Uid != s.owner.Uid || in.Gid != nil && *in.Gid != s.owner.Gid {
			return notOwner
		}
	}
	if in.Uid != nil {
		u, _ := s.stored(n.mount, *in.Uid, 0)
		uid = int(u)
	}
	if in.Gid != nil {
		_, g := s.stored(n.mount, 0, *in.Gid)
		gid = int(g)
	}
	return obj.Chown(uid, gid)
}

// killSetID clears set-uid, and set-gid of a file that its group may execute,
// as a change by somebody without CAP_FSETID does; the daemon has it.
func killSetID(obj backing.Object) error {
	st, err := obj.Stat()
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return err
	}
	mode := st.Mode & 07777
	keep := mode & noSetuid
	if mode&unix.S_IXGRP != 0 {
		keep &^= unix.S_ISGID
	}
	if keep == mode {
		return nil
	}
	return obj.Chmod(keep)
}

func timeOrOmit(t *unix.Timespec) unix.Timespec {
	if t == nil {
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return *t
}

// withHandleOr calls act with the open file that id names, else with any open
// file of n or the object itself. fchmod, futimens and fsetxattr arrive without
// a handle (Linux 6.18), also after the file's last name is gone.
func (s *Server) withHandleOr(n *node, id HandleID, act func(backing.Object) error) syscall.Errno {
	if id != 0 {
		if h, errno := s.handles.get(id); errno == 0 && h.node == n && h.file != nil {
			return errnoOf(act(h.file))
		}
	}
	return s.withObject(n, act)
}

// withObject calls act with the very object that n is, whatever stands under
// its name by now.
func (s *Server) withObject(n *node, act func(backing.Object) error) syscall.Errno {
	if n.kind == kindDir {
		d, errno := s.openDir(n)
		if errno != 0 {
			return errno
		}
		defer d.release()
		return errnoOf(act(d.Dir))
	}
	errno := s.atName(n, func(d *dirRef, name string) error {
		obj, err := d.ObjectAt(name)
		if err != nil {
			return n.same(nil, err)
		}
		defer obj.Close()
		st, err := obj.Stat()
		if err = n.same(&st, err); err != nil {
			return err
		}
		if err = act(obj); err == syscall.ESTALE {
			err = syscall.EIO
		}
		return err
	})
	if errno != syscall.ESTALE {
		return errno
	}
	return s.withRemains(n, act)
}
