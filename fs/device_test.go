package fs

import (
	"bytes"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// TestDevices uses the devices that a view serves itself, as regular files.
// S1-05.
func TestDevices(t *testing.T) {
	mounts := []overlay.Mount{{Target: "/", Source: "/memory", Layers: layers(t, "no-random deny open /dev/urandom", allowAll)}}
	trees := []backing.Tree{backing.NewMemory()}
	for _, name := range []string{"null", "zero", "urandom"} {
		mounts = append(mounts, overlay.Mount{Target: vpath.Path("/dev/" + name), Source: "/dev/" + name, Kind: overlay.KindDevice, ReadOnly: true, Layers: layers(t, allowAll)})
		trees = append(trees, nil)
	}
	w := serve(t, Config{View: viewWith(t, mounts...), Trees: trees})
	for name, c := range map[string]struct {
		mode uint32
		read []byte // of 4 bytes
	}{"null": {0o666, []byte{}}, "zero": {0o666, make([]byte, 4)}, "urandom": {0o444, nil}} {
		if a := w.attr(t, "/dev/"+name); a.Mode != unix.S_IFREG|c.mode || a.Size != 0 {
			t.Errorf("%s: mode %#o, size %d", name, a.Mode, a.Size)
		}
		var o Opened
		node := w.at(t, "/dev/"+name)
		want(t, w.Open(caller(), node, unix.O_RDWR, &o), 0, "open of "+name)
		if !o.DirectIO {
			t.Errorf("%s is read through the page cache, in which a file of size 0 holds nothing", name)
		}
		buf := bytes.Repeat([]byte{0xee}, 4)
		n, errno := w.Read(caller(), o.Handle, buf, 0)
		if errno != 0 || c.read != nil && !bytes.Equal(buf[:n], c.read) || c.read == nil && n != 4 {
			t.Errorf("%s: read % x, %v", name, buf[:n], errno)
		}
		if n, errno := w.Write(caller(), o.Handle, []byte("text"), 0, WriteIn{}); n != 4 || errno != 0 {
			t.Errorf("%s: write = %d, %v", name, n, errno)
		}
		size := uint64(0)
		var a Attr
		want(t, w.Setattr(caller(), node, &SetattrIn{Size: &size}, &a), 0, "truncate of "+name)
		want(t, w.Allocate(caller(), o.Handle, 0, 0, 10), syscall.ENODEV, "fallocate of "+name)
		want(t, w.Fsync(caller(), o.Handle, false), 0, "fsync of "+name)
		w.Release(o.Handle)
		want(t, w.Unlink(caller(), w.at(t, "/dev"), name), syscall.EBUSY, "unlink of "+name)
	}
}
