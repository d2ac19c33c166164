package bazil

import (
	"encoding/binary"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// Sizes of the structures of the protocol, linux/fuse.h (7.33).
const (
	headerSize = 16
	attrSize   = 88
	entrySize  = 40 + attrSize
	openSize   = 16
	direntSize = 24
	maxReply   = 128 << 10
)

// Flags of fuse_open_out.
const (
	fopenDirectIO  = 1 << 0
	fopenKeepCache = 1 << 1
)

// lastErrno is the highest errno that the kernel takes (linux/fs/fuse/dev.c,
// 6.18). A reply with a higher one is no reply: the caller would wait for good.
// File systems let such numbers out, as NFS does 524.
const lastErrno = 511

var order = binary.NativeEndian

// payload returns n bytes of room behind the header, not cleared.
func (w *worker) payload(n int) []byte { return w.out[headerSize : headerSize+n] }

// reply sends the header, with errno, and n bytes of payload. An error of the
// device means that nobody waits any more: the request was interrupted, or the
// view is gone.
func (w *worker) reply(errno syscall.Errno, n int) {
	if errno > lastErrno {
		errno = syscall.EIO
	}
	if errno != 0 {
		n = 0
	}
	order.PutUint32(w.out, uint32(headerSize+n))
	order.PutUint32(w.out[4:], uint32(-int32(errno)))
	order.PutUint64(w.out[8:], uint64(w.request))
	unix.Write(w.loop.dev, w.out[:headerSize+n])
}

// replyBytes sends b, which need not lie in the worker's buffer.
func (w *worker) replyBytes(errno syscall.Errno, b []byte) {
	if errno == 0 {
		copy(w.payload(len(b)), b)
	}
	w.reply(errno, len(b))
}

// replyEntry sends fuse_entry_out. A name that is known not to exist is an
// entry without a node, which the kernel may remember.
func (w *worker) replyEntry(errno syscall.Errno, e *fs.Entry) {
	if errno == syscall.ENOENT && e.Valid > 0 {
		*e = fs.Entry{Valid: e.Valid}
		errno = 0
	}
	if errno == 0 {
		putEntry(w.payload(entrySize), e)
	}
	w.reply(errno, entrySize)
}

// replyAttr sends fuse_attr_out.
func (w *worker) replyAttr(errno syscall.Errno, a *fs.Attr) {
	if errno == 0 {
		b := w.payload(16 + attrSize)
		putValid(b[0:], b[8:], a.Valid)
		order.PutUint32(b[12:], 0)
		putAttr(b[16:], a)
	}
	w.reply(errno, 16+attrSize)
}

// replyOpen sends fuse_open_out.
func (w *worker) replyOpen(errno syscall.Errno, o *fs.Opened) {
	if errno == 0 {
		putOpen(w.payload(openSize), o)
	}
	w.reply(errno, openSize)
}

// replyCreate sends fuse_entry_out and fuse_open_out.
func (w *worker) replyCreate(errno syscall.Errno, e *fs.Entry, o *fs.Opened) {
	if errno == 0 {
		b := w.payload(entrySize + openSize)
		putEntry(b, e)
		putOpen(b[entrySize:], o)
	}
	w.reply(errno, entrySize+openSize)
}

// replyXattr sends a value or a list, or its size when none of it was asked for.
func (w *worker) replyXattr(errno syscall.Errno, value []byte, size uint32) {
	switch {
	case errno == 0 && size == 0:
		b := w.payload(8)
		order.PutUint32(b, uint32(len(value)))
		order.PutUint32(b[4:], 0)
		w.reply(0, 8)
	case errno == 0 && len(value) > int(size):
		w.reply(syscall.ERANGE, 0)
	default:
		w.replyBytes(errno, value)
	}
}

// replyStatfs sends fuse_statfs_out.
func (w *worker) replyStatfs(errno syscall.Errno, st *backing.StatFS) {
	const size = 80
	if errno == 0 {
		b := w.payload(size)
		clear(b)
		for i, v := range [...]uint64{st.Blocks, st.Bfree, st.Bavail, st.Files, st.Ffree} {
			order.PutUint64(b[8*i:], v)
		}
		for i, v := range [...]uint32{st.Bsize, st.Namelen, st.Frsize} {
			order.PutUint32(b[40+4*i:], v)
		}
	}
	w.reply(errno, size)
}

func putEntry(b []byte, e *fs.Entry) {
	order.PutUint64(b[0:], uint64(e.Node))
	order.PutUint64(b[8:], 0) // generation: a node id is never used twice
	putValid(b[16:], b[32:], e.Valid)
	putValid(b[24:], b[36:], e.Attr.Valid)
	putAttr(b[40:], &e.Attr)
}

func putAttr(b []byte, a *fs.Attr) {
	for i, v := range [...]uint64{a.Ino, a.Size, a.Blocks, uint64(a.Atime.Sec), uint64(a.Mtime.Sec), uint64(a.Ctime.Sec)} {
		order.PutUint64(b[8*i:], v)
	}
	for i, v := range [...]uint32{uint32(a.Atime.Nsec), uint32(a.Mtime.Nsec), uint32(a.Ctime.Nsec),
		a.Mode, a.Nlink, a.Uid, a.Gid, a.Rdev, a.Blksize, 0} {
		order.PutUint32(b[48+4*i:], v)
	}
}

func putOpen(b []byte, o *fs.Opened) {
	var flags uint32
	if o.DirectIO {
		flags |= fopenDirectIO
	}
	if o.KeepCache {
		flags |= fopenKeepCache
	}
	order.PutUint64(b, uint64(o.Handle))
	order.PutUint32(b[8:], flags)
	order.PutUint32(b[12:], 0)
}

// putValid writes a lifetime as seconds and nanoseconds.
func putValid(sec, nsec []byte, d time.Duration) {
	order.PutUint64(sec, uint64(d/time.Second))
	order.PutUint32(nsec, uint32(d%time.Second))
}

// putDirent writes one fuse_dirent and returns its size; 0 if there is no room.
func putDirent(b []byte, e fs.DirEntry, next uint64) int {
	size := (direntSize + len(e.Name) + 7) &^ 7
	if size > len(b) {
		return 0
	}
	order.PutUint64(b[0:], e.Ino)
	order.PutUint64(b[8:], next)
	order.PutUint32(b[16:], uint32(len(e.Name)))
	order.PutUint32(b[20:], uint32(e.Type))
	clear(b[direntSize+copy(b[direntSize:], e.Name) : size])
	return size
}
