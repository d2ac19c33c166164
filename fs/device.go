package fs

import (
	"crypto/rand"
	"syscall"

	"golang.org/x/sys/unix"
)

// The devices that a view serves itself, as regular files: on a nodev mount the
// kernel opens no device file. Writes to null and zero succeed and are
// discarded; urandom has no write.

// deviceAttr fills out for a device.
func (s *Server) deviceAttr(n *node, out *Attr) {
	mode := uint32(0o666)
	if n.mount.device == "urandom" {
		mode = 0o444
	}
	s.ownAttr(synthesised(inodeDevice, n.mount.target), unix.S_IFREG|mode, out)
}

// openDevice makes a handle for a device. Without direct I/O the kernel would
// read nothing of a file of size 0.
func (s *Server) openDevice(n *node, flags uint32, out *Opened) {
	h := &handle{node: n, flags: flags}
	s.open(h)
	out.Handle, out.DirectIO = h.id, true
}

// readDevice fills p as the device does. It looks at the node and not at the
// handle: what has no file of the backing and is no device has nothing to read.
func readDevice(n *node, p []byte) (int, syscall.Errno) {
	if n.kind != kindDevice {
		return 0, syscall.EISDIR
	}
	switch n.mount.device {
	case "zero":
		clear(p)
		return len(p), 0
	case "urandom":
		rand.Read(p)
		return len(p), 0
	}
	return 0, 0
}
