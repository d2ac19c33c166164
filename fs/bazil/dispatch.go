package bazil

import (
	"os"
	"syscall"
	"time"

	"bazil.org/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/metrics"
)

// dispatch answers a request and returns the operation that it was.
func (w *worker) dispatch(c *fs.Caller, req fuse.Request) *metrics.Operation {
	s, ops := w.loop.server, &w.loop.operations
	node := fs.NodeID(req.Hdr().Node)
	switch r := req.(type) {
	case *fuse.LookupRequest:
		var e fs.Entry
		w.replyEntry(s.Lookup(c, node, r.Name, &e), &e)
		return ops.lookup
	case *fuse.GetattrRequest:
		var a fs.Attr
		w.replyAttr(s.Getattr(c, node, &a), &a)
		return ops.getattr
	case *fuse.ReadRequest:
		return w.read(c, s, r)
	case *fuse.WriteRequest:
		n, errno := s.Write(c, fs.HandleID(r.Handle), r.Data, r.Offset, fs.WriteIn{
			FromCache: r.Flags&fuse.WriteCache != 0,
			KillSetID: r.Flags&fuse.WriteKillSUIDGID != 0,
		})
		b := w.payload(8)
		order.PutUint32(b, uint32(n))
		order.PutUint32(b[4:], 0)
		w.reply(errno, 8)
		return ops.write
	case *fuse.OpenRequest:
		var o fs.Opened
		if r.Dir {
			w.replyOpen(s.Opendir(c, node, &o), &o)
			return ops.opendir
		}
		w.replyOpen(s.Open(c, node, uint32(r.Flags), &o), &o)
		return ops.open
	case *fuse.ReleaseRequest:
		s.Release(fs.HandleID(r.Handle))
		w.reply(0, 0)
		if r.Dir {
			return ops.releasedir
		}
		return ops.release
	case *fuse.ForgetRequest:
		s.Forget(node, r.N)
		return ops.forget
	case *fuse.BatchForgetRequest:
		for _, f := range r.Forget {
			s.Forget(fs.NodeID(f.NodeID), f.N)
		}
		return ops.forget
	case *fuse.ReadlinkRequest:
		target, errno := s.Readlink(c, node)
		w.replyBytes(errno, []byte(target))
		return ops.readlink
	case *fuse.SetattrRequest:
		var a fs.Attr
		in := setattrIn(r)
		w.replyAttr(s.Setattr(c, node, &in, &a), &a)
		return ops.setattr
	}
	return w.dispatchNames(c, s, ops, req, node)
}

// dispatchNames answers the requests that make, move or remove names.
func (w *worker) dispatchNames(c *fs.Caller, s *fs.Server, ops *operations, req fuse.Request, node fs.NodeID) *metrics.Operation {
	var e fs.Entry
	switch r := req.(type) {
	case *fuse.CreateRequest:
		var o fs.Opened
		w.replyCreate(s.Create(c, node, r.Name, uint32(r.Flags), rawMode(r.Mode), &e, &o), &e, &o)
		return ops.create
	case *fuse.MkdirRequest:
		w.replyEntry(s.Mkdir(c, node, r.Name, rawMode(r.Mode), &e), &e)
		return ops.mkdir
	case *fuse.MknodRequest:
		w.replyEntry(s.Mknod(c, node, r.Name, rawMode(r.Mode), &e), &e)
		return ops.mknod
	case *fuse.SymlinkRequest:
		w.replyEntry(s.Symlink(c, node, r.NewName, r.Target, &e), &e)
		return ops.symlink
	case *fuse.LinkRequest:
		w.replyEntry(s.Link(c, fs.NodeID(r.OldNode), node, r.NewName, &e), &e)
		return ops.link
	case *fuse.RemoveRequest:
		if r.Dir {
			w.reply(s.Rmdir(c, node, r.Name), 0)
			return ops.rmdir
		}
		w.reply(s.Unlink(c, node, r.Name), 0)
		return ops.unlink
	case *fuse.RenameRequest:
		w.reply(s.Rename(c, node, r.OldName, fs.NodeID(r.NewDir), r.NewName), 0)
		return ops.rename
	}
	return w.dispatchRest(c, s, ops, req, node)
}

// dispatchRest answers everything else. What is refused is in refusals.
func (w *worker) dispatchRest(c *fs.Caller, s *fs.Server, ops *operations, req fuse.Request, node fs.NodeID) *metrics.Operation {
	switch r := req.(type) {
	case *fuse.GetxattrRequest:
		value, errno := s.Getxattr(c, node, r.Name)
		w.replyXattr(errno, value, r.Size)
		return ops.getxattr
	case *fuse.ListxattrRequest:
		names, errno := s.Listxattr(c, node)
		w.replyXattr(errno, names, r.Size)
		return ops.listxattr
	case *fuse.SetxattrRequest:
		w.reply(s.Setxattr(c, node, r.Name, r.Xattr, int(r.Flags)), 0)
		return ops.setxattr
	case *fuse.RemovexattrRequest:
		w.reply(s.Removexattr(c, node, r.Name), 0)
		return ops.removexattr
	case *fuse.StatfsRequest:
		st, errno := s.Statfs(c, node)
		w.replyStatfs(errno, &st)
		return ops.statfs
	case *fuse.FsyncRequest:
		if r.Dir {
			w.reply(s.FsyncDir(c, fs.HandleID(r.Handle)), 0)
			return ops.fsyncdir
		}
		w.reply(s.Fsync(c, fs.HandleID(r.Handle), r.Flags&1 != 0), 0)
		return ops.fsync
	case *fuse.FAllocateRequest:
		w.reply(s.Allocate(c, fs.HandleID(r.Handle), uint32(r.Mode), int64(r.Offset), int64(r.Length)), 0)
		return ops.fallocate
	case *fuse.LockRequest:
		w.reply(s.Flock(c, fs.HandleID(r.Handle), flockOf(r.Lock.Type), false), 0)
		return ops.setlk
	case *fuse.LockWaitRequest:
		w.reply(s.Flock(c, fs.HandleID(r.Handle), flockOf(r.Lock.Type), true), 0)
		return ops.setlk
	case *fuse.UnlockRequest:
		w.reply(s.Flock(c, fs.HandleID(r.Handle), unix.LOCK_UN, false), 0)
		return ops.setlk
	case *fuse.AccessRequest:
		w.reply(s.Access(c, node), 0)
		return ops.access
	case *fuse.InterruptRequest:
		w.loop.interrupts.interrupt(r.IntrID)
		return ops.interrupt
	case *fuse.DestroyRequest:
		w.reply(0, 0)
		return ops.destroy
	}
	return w.refuse(req)
}

// read answers READ and READDIR into the worker's own buffer.
func (w *worker) read(c *fs.Caller, s *fs.Server, r *fuse.ReadRequest) *metrics.Operation {
	size := min(r.Size, maxReply)
	b := w.payload(size)
	if !r.Dir {
		n, errno := s.Read(c, fs.HandleID(r.Handle), b, r.Offset)
		w.reply(errno, n)
		return w.loop.operations.read
	}
	n := 0
	errno := s.Readdir(c, fs.HandleID(r.Handle), uint64(r.Offset), func(e fs.DirEntry, next uint64) bool {
		size := putDirent(b[n:], e, next)
		n += size
		return size > 0
	})
	w.reply(errno, n)
	return w.loop.operations.readdir
}

// setattrIn translates a request. An attribute that is set to the present time
// has both its own bit and the one for now.
func setattrIn(r *fuse.SetattrRequest) fs.SetattrIn {
	in := fs.SetattrIn{KillSetID: r.Valid.SetattrKillSUIDGID()}
	if r.Valid.Mode() {
		mode := rawMode(r.Mode) & 07777
		in.Mode = &mode
	}
	if r.Valid.Uid() {
		in.Uid = &r.Uid
	}
	if r.Valid.Gid() {
		in.Gid = &r.Gid
	}
	if r.Valid.Size() {
		in.Size = &r.Size
	}
	in.Atime = timeOf(r.Valid.Atime(), r.Valid.AtimeNow(), r.Atime)
	in.Mtime = timeOf(r.Valid.Mtime(), r.Valid.MtimeNow(), r.Mtime)
	if r.Valid.Handle() {
		in.Handle = fs.HandleID(r.Handle)
	}
	return in
}

func timeOf(set, now bool, t time.Time) *unix.Timespec {
	switch {
	case now:
		return &unix.Timespec{Nsec: unix.UTIME_NOW}
	case set:
		return &unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
	}
	return nil
}

func flockOf(t fuse.LockType) int {
	switch t {
	case fuse.LockRead:
		return unix.LOCK_SH
	case fuse.LockWrite:
		return unix.LOCK_EX
	}
	return unix.LOCK_UN
}

// rawMode gives back the st_mode that the library made an os.FileMode of.
func rawMode(m os.FileMode) uint32 {
	mode := uint32(m.Perm())
	if m&os.ModeSetuid != 0 {
		mode |= syscall.S_ISUID
	}
	if m&os.ModeSetgid != 0 {
		mode |= syscall.S_ISGID
	}
	if m&os.ModeSticky != 0 {
		mode |= syscall.S_ISVTX
	}
	switch {
	case m&os.ModeIrregular != 0:
	case m.IsDir():
		mode |= syscall.S_IFDIR
	case m&os.ModeSymlink != 0:
		mode |= syscall.S_IFLNK
	case m&os.ModeNamedPipe != 0:
		mode |= syscall.S_IFIFO
	case m&os.ModeSocket != 0:
		mode |= syscall.S_IFSOCK
	case m&os.ModeCharDevice != 0:
		mode |= syscall.S_IFCHR
	case m&os.ModeDevice != 0:
		mode |= syscall.S_IFBLK
	default:
		mode |= syscall.S_IFREG
	}
	return mode
}
