package bazil

import (
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
)

// Codes of notifications, linux/fuse.h. They stand where a reply has its errno.
const (
	notifyInvalInode = 2
	notifyInvalEntry = 3
)

// notifier writes notifications to the device.
type notifier struct {
	dev int
	log *slog.Logger
}

// InvalidateData makes the kernel drop a node's attributes and pages.
func (n notifier) InvalidateData(node fs.NodeID) {
	b := make([]byte, headerSize+24)
	order.PutUint64(b[headerSize:], uint64(node))
	order.PutUint64(b[headerSize+8:], 0)
	order.PutUint64(b[headerSize+16:], ^uint64(0)) // length -1: all of it
	n.send(b, notifyInvalInode)
}

// InvalidateEntry makes the kernel look a name up again.
func (n notifier) InvalidateEntry(dir fs.NodeID, name string) {
	b := make([]byte, headerSize+16, headerSize+16+len(name)+1)
	order.PutUint64(b[headerSize:], uint64(dir))
	order.PutUint32(b[headerSize+8:], uint32(len(name)))
	b = append(append(b, name...), 0)
	n.send(b, notifyInvalEntry)
}

// send writes a notification. ENOENT and ENOTDIR say that the kernel has
// nothing cached; EBADF and ENODEV that the view is gone.
func (n notifier) send(b []byte, code uint32) {
	order.PutUint32(b, uint32(len(b)))
	order.PutUint32(b[4:], code)
	switch _, err := unix.Write(n.dev, b); err {
	case nil, unix.ENOENT, unix.ENOTDIR, unix.EBADF, unix.ENODEV:
	default:
		n.log.Warn("the kernel refused a notification", "err", err)
	}
}
