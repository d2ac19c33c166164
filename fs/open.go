package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Opened is the answer to an open.
type Opened struct {
	Handle    HandleID
	KeepCache bool // the kernel's pages are still good
	DirectIO  bool // the kernel keeps no pages for this descriptor
}

// execFlag is FMODE_EXEC, which execve(2) adds to the open flags (seen on
// Linux 6.18, also from a container).
const execFlag = 0x20

// openFlags are those that are passed on to the backing. O_DIRECT is not: the
// kernel's side of it is done before a request is made.
const openFlags = unix.O_ACCMODE | unix.O_APPEND | unix.O_SYNC | unix.O_DSYNC

// Open opens a file.
func (s *Server) Open(c *Caller, num NodeID, flags uint32, out *Opened) syscall.Errno {
	n, errno := s.node(num)
	if errno != 0 {
		return errno
	}
	if n.isDir() {
		return syscall.EISDIR
	}
	if s.full() {
		return syscall.ENFILE
	}
	generation := s.Generation()
	if errno := s.gateOpen(c, n, flags); errno != 0 {
		return errno
	}
	if errno := s.guardOpen(c, n, flags); errno != 0 {
		return errno
	}
	if n.kind == kindDevice {
		s.openDevice(n, flags, out)
		return 0
	}
	file, errno := s.openFile(n, flags)
	if errno != 0 {
		return errno
	}
	if writes(flags) {
		n.opener.Store(c.Pid)
	}
	s.opened(n, file, flags, "", out)
	// A reload that has come between did not see the handle: the kernel would go
	// on serving pages that it keeps.
	if s.Generation() != generation {
		if errno = s.gateOpen(c, n, flags); errno != 0 {
			s.Release(out.Handle)
		}
	}
	return errno
}

// gateOpen decides an open.
func (s *Server) gateOpen(c *Caller, n *node, flags uint32) syscall.Errno {
	for _, op := range openOps(flags) {
		if errno := s.gate(c, n, op); errno != 0 {
			return errno
		}
	}
	return 0
}

// openOps returns the operations that an open asks for.
func openOps(flags uint32) []policy.Op {
	switch {
	case flags&execFlag != 0:
		return execOps
	case flags&unix.O_ACCMODE == unix.O_RDONLY:
		return readOps
	case flags&unix.O_ACCMODE == unix.O_WRONLY:
		return writeOps
	}
	return readWriteOps
}

var (
	execOps      = []policy.Op{policy.Open, policy.Exec}
	readOps      = []policy.Op{policy.Open, policy.Read}
	writeOps     = []policy.Op{policy.Open, policy.Write}
	readWriteOps = []policy.Op{policy.Open, policy.Read, policy.Write}
)

func writes(flags uint32) bool { return flags&unix.O_ACCMODE != unix.O_RDONLY }

// openFile opens the backing's file by a name that still leads to it, else by
// what remains of it: the open may come from /proc/self/fd, or from a lookup
// that a rename onto the name overtook.
func (s *Server) openFile(n *node, flags uint32) (backing.File, syscall.Errno) {
	var file backing.File
	errno := s.atName(n, func(d *dirRef, name string) error {
		f, err := d.OpenAt(name, int(flags&openFlags))
		if err != nil {
			return n.same(nil, err)
		}
		st, err := f.Stat()
		if err = n.same(&st, err); err != nil {
			f.Close()
			return err
		}
		file = f
		return nil
	})
	if errno != syscall.ESTALE {
		return file, errno
	}
	errno = s.withRemains(n, func(obj backing.Object) (err error) {
		file, err = obj.Reopen(int(flags & openFlags))
		return err
	})
	return file, errno
}

// opened makes a handle for an open file and fills the reply.
func (s *Server) opened(n *node, file backing.File, flags uint32, maker vpath.Path, out *Opened) {
	h := &handle{node: n, file: file, flags: flags, exec: flags&execFlag != 0, maker: maker}
	st, err := file.Stat()
	out.KeepCache = err == nil && !n.watch.observe(&st)
	// The kernel computes the offset of an append from the size it knows; where
	// somebody else has appended too, its pages would hold the text in the wrong
	// place.
	out.DirectIO = flags&unix.O_APPEND != 0 && flags&unix.O_ACCMODE == unix.O_WRONLY
	s.open(h)
	out.Handle = h.id
}

// Create makes and opens a file. If the name is there already, which the
// kernel did not know, this is an open of it.
func (s *Server) Create(c *Caller, parent NodeID, name string, flags, mode uint32, entry *Entry, out *Opened) syscall.Errno {
	defer s.hold(name)()
	dir, path, errno := s.vacant(c, parent, name, policy.Create)
	if errno == syscall.EEXIST && flags&unix.O_EXCL == 0 {
		return s.openExisting(c, parent, name, flags, entry, out)
	}
	if errno != 0 {
		return errno
	}
	if s.full() {
		return syscall.ENFILE
	}
	d, errno := s.openDir(dir)
	if errno != 0 {
		return errno
	}
	defer d.release()
	if errno := s.guardMake(c, dir, d, name, access{op: policy.Create, path: path}); errno != 0 {
		return errno
	}
	var file backing.File
	errno = s.as(c, dir, d, func() (err error) {
		file, err = d.CreateAt(name, int(flags&openFlags), mode&noSetuid&07777)
		return err
	})
	if errno != 0 {
		return errno
	}
	st, err := file.Stat()
	if err != nil {
		file.Close()
		return errnoOf(err)
	}
	f := foundObject(dir.mount, st)
	n := s.made(dir, name, f)
	if dir.mount.zone {
		n.process.Store(processOf(c.Pid))
	}
	s.opened(n, file, flags, path, out)
	s.warm(s.snap.Load(), n, policy.Stat)
	s.fill(n, path, &f, entry)
	return 0
}

// openExisting opens what a create found under its name. ESTALE for what is no
// regular file makes the kernel look the name up again and walk a link itself.
func (s *Server) openExisting(c *Caller, parent NodeID, name string, flags uint32, entry *Entry, out *Opened) syscall.Errno {
	errno := s.Lookup(c, parent, name, entry)
	if errno != 0 {
		entry.Valid = 0 // that it is gone by now is no answer to a create
		return errno
	}
	if kind := entry.Attr.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		s.Forget(entry.Node, 1)
		return syscall.ESTALE
	}
	if errno = s.Open(c, entry.Node, flags, out); errno == 0 && flags&unix.O_TRUNC != 0 {
		if errno = s.truncateOpened(c, out.Handle); errno != 0 {
			s.Release(out.Handle)
		}
	}
	if errno != 0 {
		s.Forget(entry.Node, 1)
		return errno
	}
	entry.Attr.Valid = 0
	return 0
}

// truncateOpened does for O_TRUNC what the kernel leaves to a create.
func (s *Server) truncateOpened(c *Caller, id HandleID) syscall.Errno {
	h, errno := s.handles.get(id)
	if errno != 0 || h.file == nil {
		return errno
	}
	if errno := s.gate(c, h.node, policy.Write); errno != 0 {
		return errno
	}
	if errno := s.guardTruncate(c, h.node, 0); errno != 0 {
		return errno
	}
	return s.changing(h.node, h.file, func() error { return h.file.Truncate(0) })
}
