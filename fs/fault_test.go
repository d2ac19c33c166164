package fs

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/metrics"
)

// session does one of everything, and goes on after errors.
func session(w *world) (errnos []syscall.Errno) {
	var e, dir Entry
	var o, second, d Opened
	var a Attr
	c := caller()
	did := func(errno syscall.Errno) bool {
		errnos = append(errnos, errno)
		return errno == 0
	}
	did(w.Mkdir(c, RootID, "dir", 0o755, &dir))
	if did(w.Create(c, RootID, "file", unix.O_RDWR, 0o2755, &e, &o)) {
		_, errno := w.Write(c, o.Handle, []byte("text"), 0, WriteIn{KillSetID: true})
		did(errno)
		_, errno = w.Read(c, o.Handle, make([]byte, 10), 0)
		did(errno)
		did(w.Allocate(c, o.Handle, 0, 0, 100))
		did(w.Fsync(c, o.Handle, false))
		did(w.Flock(c, o.Handle, unix.LOCK_EX, true))
		did(w.Open(c, e.Node, unix.O_RDWR, &second))
		size, mode, owner, now := uint64(3), uint32(0o600), c.Uid, unix.Timespec{Nsec: unix.UTIME_NOW}
		did(w.Setattr(c, e.Node, &SetattrIn{Size: &size, Mode: &mode, Uid: &owner, Mtime: &now}, &a))
		did(w.Setxattr(c, e.Node, "user.x", []byte(strings.Repeat("v", 1000)), 0))
		_, errno = w.Getxattr(c, e.Node, "user.x")
		did(errno)
		_, errno = w.Listxattr(c, e.Node)
		did(errno)
		did(w.Link(c, e.Node, RootID, "link", &e))
	}
	did(w.Symlink(c, RootID, "symlink", "file", &e))
	_, errno := w.Readlink(c, e.Node)
	did(errno)
	did(w.Mknod(c, RootID, "fifo", unix.S_IFIFO|0o600, &e))
	did(w.Opendir(c, RootID, &d))
	did(w.Readdir(c, d.Handle, 0, func(DirEntry, uint64) bool { return true }))
	did(w.FsyncDir(c, d.Handle))
	did(w.Rename(c, RootID, "link", RootID, "file2"))
	did(w.Rename(c, RootID, "fifo", RootID, "file"))
	did(w.Rename(c, RootID, "dir", RootID, "moved"))
	did(w.Unlink(c, RootID, "file"))
	did(w.Getattr(c, e.Node, &a))
	did(w.Rmdir(c, RootID, "moved"))
	_, errno = w.Statfs(c, RootID)
	did(errno)
	for _, h := range []HandleID{o.Handle, second.Handle, d.Handle} {
		w.Release(h)
	}
	return errnos
}

// TestFaults lets each call of the backing fail in turn: the errno comes
// through, nothing panics, and nothing stays open.
func TestFaults(t *testing.T) {
	for nth := 1; ; nth++ {
		tree := backing.NewMemory()
		calls := 0
		tree.Fail = func(op, name string) error {
			if calls++; calls == nth {
				return syscall.EDQUOT
			}
			return nil
		}
		errnos, ok := faulty(t, tree)
		if got := tree.OpenObjects(); got != 0 {
			t.Errorf("after a fault in call %d of the backing, %d objects stay open", nth, got)
		}
		if calls < nth {
			if i := slices.IndexFunc(errnos, func(e syscall.Errno) bool { return e != 0 }); i >= 0 {
				t.Errorf("without a fault call %d = %v", i, name(errnos[i]))
			}
			t.Logf("each of %d calls of the backing has failed", nth-1)
			return
		}
		for _, errno := range errnos {
			if ok && !slices.Contains(harmless, errno) {
				t.Errorf("a fault in call %d of the backing became %v", nth, name(errno))
			}
		}
	}
}

// harmless are the errnos that a fault, and the want of what it has kept from
// being made, may give.
var harmless = []syscall.Errno{0, syscall.EDQUOT, syscall.ENOENT, syscall.ESTALE, syscall.EBADF, syscall.EINVAL, syscall.ENODATA}

// faulty runs a session on a server of tree and closes it; not ok where there
// was no server.
func faulty(t *testing.T, tree backing.Tree) (errnos []syscall.Errno, ok bool) {
	t.Helper()
	s, err := NewServer(Config{
		View: viewOf(t, allowAll), Trees: []backing.Tree{tree}, Recorder: &recorder{},
		Metrics: metrics.New(metrics.NewRegistry(), "test"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		return nil, false
	}
	defer s.Close() // the kernel forgets nothing at an unmount
	return session(&world{Server: s}), true
}
