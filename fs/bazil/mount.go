package bazil

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"

	"bazil.org/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/metrics"
)

// Options of Mount. Metrics and Log are required.
type Options struct {
	FSName     string // shown as the source in the list of mounts
	AllowOther bool   // let other users in; needs root or user_allow_other in /etc/fuse.conf
	Metrics    *metrics.Metrics
	Log        *slog.Logger
}

// Mount is a mounted view.
type Mount struct {
	dir    string
	conn   *fuse.Conn
	dev    int // own descriptor of the connection
	server *fs.Server
	loop   *loop
}

// subtype is the file system type behind "fuse." in the list of mounts, where
// package mountinfo knows a view by it.
const subtype = "sandboxfs"

// maxReadahead is what the kernel may prefetch; more made sequential writes
// slower and nothing faster.
const maxReadahead = 128 << 10

// New mounts the view of server at dir, which must be an absolute path. It is
// nosuid and nodev. Nothing is answered before Serve runs.
func New(dir string, server *fs.Server, o Options) (*Mount, error) {
	options := []fuse.MountOption{
		fuse.FSName(o.FSName), fuse.Subtype(subtype),
		fuse.DefaultPermissions(),
		fuse.AsyncRead(), fuse.MaxReadahead(maxReadahead),
		fuse.HandleKillPriv(), // else every first write of a file asks for security.capability
		fuse.LockingFlock(),
	}
	if o.AllowOther {
		options = append(options, fuse.AllowOther())
	}
	conn, dev, err := connect(dir, options)
	if err != nil {
		return nil, err
	}
	m := &Mount{dir: dir, conn: conn, dev: dev, server: server}
	m.loop = newLoop(conn, dev, server, o.Metrics, o.Log)
	server.Notify(notifier{dev: dev, log: o.Log})
	return m, nil
}

// Serve answers until the view is unmounted, and returns when the last request
// is answered. The mount is then of no further use.
func (m *Mount) Serve() error {
	err := m.loop.serve()
	m.server.Notify(nil)
	mounting.Lock()
	defer mounting.Unlock()
	m.conn.Close()
	unix.Close(m.dev)
	return err
}

// Unmount detaches the view: EBUSY while it is in use, unless lazy, which lets
// those who are in it finish.
func (m *Mount) Unmount(lazy bool) error {
	return Unmount(m.dir, lazy)
}

// Unmount detaches whatever FUSE file system is at dir, also one whose daemon
// is gone. The error of a mount in use wraps unix.EBUSY.
func Unmount(dir string, lazy bool) error {
	flags, option := unix.UMOUNT_NOFOLLOW, "-u"
	if lazy {
		flags, option = flags|unix.MNT_DETACH, "-uz"
	}
	err := unix.Unmount(dir, flags)
	if err != unix.EPERM {
		if err != nil {
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
		return nil
	}
	out, err := exec.Command("fusermount3", option, "--", dir).CombinedOutput()
	switch {
	case err == nil:
		return nil
	case bytes.Contains(out, []byte("busy")):
		return fmt.Errorf("unmount %s: %w", dir, unix.EBUSY)
	case len(out) > 0:
		return fmt.Errorf("unmount %s: %s", dir, bytes.TrimSpace(out))
	}
	return fmt.Errorf("unmount %s: %w", dir, err)
}

// mounting keeps mounts of one process apart: the library logs what the mount
// helper says to the standard logger, and does not tell its descriptor. The
// number of one that is closed meanwhile would be that of the new one.
var mounting sync.Mutex

// connect mounts and returns the connection, with a descriptor of its device.
func connect(dir string, options []fuse.MountOption) (*fuse.Conn, int, error) {
	mounting.Lock()
	defer mounting.Unlock()
	var said bytes.Buffer
	out, flags := log.Writer(), log.Flags()
	log.SetOutput(&said)
	log.SetFlags(0)
	defer func() { log.SetOutput(out); log.SetFlags(flags) }()

	before, err := devices()
	if err != nil {
		return nil, -1, err
	}
	conn, err := fuse.Mount(dir, options...)
	if err != nil {
		return nil, -1, mountError(err, said.String())
	}
	dev, err := duplicate(before)
	if err != nil {
		Unmount(dir, true)
		conn.Close()
		return nil, -1, err
	}
	return conn, dev, nil
}

// duplicate duplicates the descriptor of /dev/fuse that was not there before, and
// keeps both from children: one that inherited it would keep the mount alive
// after the daemon's death.
func duplicate(before map[int]bool) (int, error) {
	now, err := devices()
	if err != nil {
		return -1, err
	}
	for fd := range now {
		if before[fd] {
			continue
		}
		unix.CloseOnExec(fd)
		dev, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return -1, fmt.Errorf("duplicate the descriptor of /dev/fuse: %w", err)
		}
		return dev, nil
	}
	return -1, errors.New("no descriptor of /dev/fuse found after mounting")
}

// devices returns the open descriptors of /dev/fuse.
func devices() (map[int]bool, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	fds := make(map[int]bool)
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err != nil || to != "/dev/fuse" {
			continue
		}
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err == nil {
			fds[fd] = true
		}
	}
	return fds, nil
}

// mountError prefers what the mount helper said to its exit status.
func mountError(err error, said string) error {
	if errors.Is(err, exec.ErrNotFound) || strings.Contains(err.Error(), exec.ErrNotFound.Error()) {
		return fmt.Errorf("fusermount3 is not installed: install fuse3 (apt-get install fuse3): %w", exec.ErrNotFound)
	}
	for line := range strings.SplitSeq(said, "\n") {
		if _, text, ok := strings.Cut(line, "fusermount3: "); ok {
			return errors.New(text)
		}
	}
	return err
}
