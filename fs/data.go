package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/policy"
)

// longTransfer is the size in bytes above which a transfer may take long
// enough for the transport to read on meanwhile.
const longTransfer = 16 << 10

// Read fills p from off and returns how many bytes there were.
func (s *Server) Read(c *Caller, id HandleID, p []byte, off int64) (int, syscall.Errno) {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return 0, errno
	}
	op := policy.Read
	if h.exec {
		op = policy.Exec
	}
	if errno := s.gateData(c, h, op); errno != 0 {
		return 0, errno
	}
	if h.file == nil {
		return readDevice(h.node, p)
	}
	if len(p) > longTransfer {
		c.Thread.Yield()
	}
	n, err := h.file.ReadAt(p, off)
	if err != nil {
		return 0, errnoOf(err)
	}
	s.metrics.Read(n)
	return n, 0
}

// WriteIn says how a write came about.
type WriteIn struct {
	FromCache bool // the kernel writes back pages of a mapping
	KillSetID bool // clear set-uid and set-gid: the writer is not privileged
}

// Write writes p at off, or at the end for a descriptor opened with O_APPEND.
func (s *Server) Write(c *Caller, id HandleID, p []byte, off int64, in WriteIn) (int, syscall.Errno) {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return 0, errno
	}
	if errno := s.gateData(c, h, policy.Write); errno != 0 {
		return 0, errno
	}
	if h.file == nil {
		return len(p), 0
	}
	if len(p) > longTransfer {
		c.Thread.Yield()
	}
	if h.node.opener.Load() != 0 {
		h.node.opener.Store(0)
	}
	release, errno := s.guardWrite(c, h, p, off, in)
	if errno != 0 {
		return 0, errno
	}
	if release != nil {
		defer release()
	}
	var n int
	errno = s.changing(h.node, h.file, func() (err error) {
		if in.KillSetID {
			if err := killSetID(h.file); err != nil {
				return err
			}
		}
		if h.flags&unix.O_APPEND != 0 && !in.FromCache {
			n, err = h.file.Append(p)
		} else {
			n, err = h.file.WriteAt(p, off)
		}
		return err
	})
	if errno != 0 {
		return 0, errno
	}
	s.metrics.Wrote(n)
	return n, 0
}

// changing brackets a change of a file's content, so that it is told apart
// from one that comes from beside the view.
func (s *Server) changing(n *node, obj backing.Object, act func() error) syscall.Errno {
	st, err := obj.Stat()
	if err != nil {
		return errnoOf(err)
	}
	if n.watch.begin(&st) {
		s.notify.data(n.num)
	}
	errno := errnoOf(act())
	if st, err = obj.Stat(); err != nil {
		n.watch.end(nil)
	} else {
		n.watch.end(&st)
	}
	return errno
}

// Fsync writes a file's data, and unless dataOnly its attributes, to the disk.
func (s *Server) Fsync(c *Caller, id HandleID, dataOnly bool) syscall.Errno {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return errno
	}
	op := policy.Read
	if writes(h.flags) {
		op = policy.Write
	}
	if errno := s.gateData(c, h, op); errno != 0 || h.file == nil {
		return errno
	}
	c.Thread.Yield()
	return errnoOf(h.file.Sync(dataOnly))
}

// FsyncDir writes a directory to the disk.
func (s *Server) FsyncDir(c *Caller, id HandleID) syscall.Errno {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return errno
	}
	if errno := s.gate(c, h.node, policy.List); errno != 0 || h.node.kind != kindDir {
		return errno
	}
	d, errno := s.openDir(h.node)
	if errno != 0 {
		return errno
	}
	defer d.release()
	c.Thread.Yield()
	return errnoOf(d.Sync())
}

// Allocate is fallocate(2); it changes what a file holds and asks for write.
func (s *Server) Allocate(c *Caller, id HandleID, mode uint32, off, length int64) syscall.Errno {
	h, errno := s.handles.get(id)
	if errno != 0 {
		return errno
	}
	if errno := s.gateData(c, h, policy.Write); errno != 0 {
		return errno
	}
	if h.file == nil {
		return syscall.ENODEV
	}
	c.Thread.Yield()
	if h.node.git.Load() {
		s.moves.RLock()
		defer s.moves.RUnlock()
		if errno := s.guardChange(c, h.node, policy.Write); errno != 0 {
			return errno
		}
	}
	return s.changing(h.node, h.file, func() error {
		if err := h.file.Allocate(mode, off, length); err != nil {
			return err
		}
		return killSetID(h.file)
	})
}
