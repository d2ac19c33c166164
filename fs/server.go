package fs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// Symlinks says what a view does with symbolic links.
type Symlinks uint8

// The modes; the words of a profile.
const (
	SymlinksFollow Symlinks = iota // shown as they are: the caller's kernel walks them
	SymlinksInside                 // refused where the target leaves the view
	SymlinksReject                 // none is read or made
)

// Owner is the identity that the owner of a mount's source is shown as.
type Owner struct{ Uid, Gid uint32 }

// Config is what a Server is made of. View, Trees, Recorder, Metrics and Log
// are required.
type Config struct {
	View *overlay.View
	// Trees are the open sources of View.Mounts, by the same index; that of a
	// file or a symbolic link is the directory that holds it, that of a device
	// is nil.
	Trees      []backing.Tree
	Recorder   Recorder
	Metrics    *metrics.Metrics
	Log        *slog.Logger
	Symlinks   Symlinks
	Mountpoint string // host path of the view; "" where there is none. Needed by SymlinksInside for absolute targets
	Owner      *Owner
	Lifetime   time.Duration // of names and attributes in the kernel; 0 means one second
}

// Server serves one view to one kernel connection. Its methods are safe for
// concurrent use.
type Server struct {
	// dependencies
	recorder Recorder
	metrics  *metrics.Metrics
	log      *slog.Logger
	dirs     *dirCache
	notify   *notifications // of data: a page that outlives its right must not wait behind a name
	names    *notifications // of entries, which a busy directory holds up

	// constant after NewServer
	mounts     map[vpath.Path]*mount
	unmounted  *metrics.Mount
	symlinks   Symlinks
	mountpoint string
	owner      *Owner
	lifetime   time.Duration
	uid        uint32 // the daemon's own
	gid        uint32
	started    time.Time
	stop       chan struct{}
	maxHandles int // open files and directories; what is left of RLIMIT_NOFILE is the daemon's own

	// moves keeps paths true while they are acted on. Whoever makes or removes a
	// name holds it for reading, from the decision to the end of the act; who
	// moves a directory, or puts a configuration of git in its place, holds it for
	// writing, from before the look at what lies below, or on the way. Else
	// something could be built in a directory that has just been found harmless,
	// while it moves to a guarded place. It is the one lock that is held during a
	// system call on the backing.
	moves sync.RWMutex

	snap     atomic.Pointer[snapshot]
	inodes   inodes
	handles  handles
	listings listings
	locks    locks

	unrecorded atomic.Int64 // accesses that could not be recorded, since one was

	// mu guards the fields of every node that say so, and those below.
	mu       sync.RWMutex
	nodes    map[NodeID]*node
	files    map[backing.ID]*node
	lastNode NodeID
}

// snapshot is a view with its number. A reload swaps the pointer to it.
type snapshot struct {
	view       *overlay.View
	generation uint64
}

// mount is what the server keeps for one row of the mount table.
type mount struct {
	target   vpath.Path
	kind     overlay.Kind
	zone     bool
	device   string // of KindDevice: "null", "zero" or "urandom"
	tree     backing.Tree
	base     string  // of a file or a symbolic link: its name in holder
	holder   *dirRef // of a file or a symbolic link: the directory that holds it
	counters *metrics.Mount
	uid, gid uint32 // owner of the source, for Config.Owner
	linked   atomic.Pointer[linkedTops]
}

// directoryDescriptors bounds how many directories are kept open.
const directoryDescriptors = 4096

// NewServer returns a server for c.View. It takes over c.Trees, which Close
// closes; with an error they stay the caller's.
func NewServer(c Config) (*Server, error) {
	mounts := c.View.Mounts()
	if len(c.Trees) != len(mounts) {
		return nil, fmt.Errorf("fs: %d trees for %d mounts", len(c.Trees), len(mounts))
	}
	if c.Recorder == nil || c.Metrics == nil || c.Log == nil {
		return nil, errors.New("fs: a server needs a recorder, metrics and a log")
	}
	s := &Server{
		recorder:   c.Recorder,
		metrics:    c.Metrics,
		log:        c.Log,
		dirs:       newDirCache(directoryLimit()),
		notify:     newNotifications(c.Metrics),
		names:      newNotifications(c.Metrics),
		mounts:     make(map[vpath.Path]*mount, len(mounts)),
		unmounted:  c.Metrics.Mount(""),
		symlinks:   c.Symlinks,
		mountpoint: c.Mountpoint,
		owner:      c.Owner,
		lifetime:   cmp.Or(c.Lifetime, time.Second),
		uid:        uint32(os.Geteuid()),
		gid:        uint32(os.Getegid()),
		started:    time.Now(),
		stop:       make(chan struct{}),
		maxHandles: descriptorLimit() / 2,
		nodes:      make(map[NodeID]*node),
		files:      make(map[backing.ID]*node),
		lastNode:   RootID,
	}
	for i := range mounts {
		m, err := s.newMount(&mounts[i], c.Trees[i])
		if err != nil {
			return nil, err
		}
		s.mounts[m.target] = m
	}
	s.snap.Store(&snapshot{view: c.View, generation: 1})
	s.metrics.Generation(1)
	if err := s.newRoot(); err != nil {
		return nil, err
	}
	go s.pollOpenFiles()
	return s, nil
}

func (s *Server) newMount(m *overlay.Mount, tree backing.Tree) (*mount, error) {
	out := &mount{target: m.Target, kind: m.Kind, zone: m.Zone, tree: tree, counters: s.metrics.Mount(m.Target)}
	if m.Kind == overlay.KindDevice {
		out.device = vpath.Path(m.Source).Base()
		return out, nil
	}
	dir, err := tree.Dir("")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", m.Source, err)
	}
	st, err := dir.Stat()
	if m.Kind == overlay.KindDir {
		dir.Close()
	} else {
		out.base = vpath.Path(m.Source).Base()
		out.holder = &dirRef{Dir: dir, cache: s.dirs, users: 1}
		if err == nil {
			st, err = dir.StatAt(out.base)
		}
	}
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("stat %s: %w", m.Source, err)
	}
	s.inodes.device(st.Dev)
	out.uid, out.gid = st.Uid, st.Gid
	return out, nil
}

// newRoot makes the node of the view's root, which is never forgotten.
func (s *Server) newRoot() error {
	root := &node{num: RootID, kind: kindSynth, path: vpath.Root, children: make(map[string]*node), lookups: 1}
	if m := s.mounts[vpath.Root]; m != nil {
		dir, err := m.tree.Dir("")
		if err != nil {
			return err
		}
		st, err := dir.Stat()
		if err != nil {
			dir.Close()
			return err
		}
		root.kind, root.mount, root.id = kindDir, m, st.ID()
		s.dirs.put(root, dir).release()
	}
	s.nodes[RootID] = root
	return nil
}

// Close ends the server's own work and closes everything it holds open. No
// operation may be under way.
func (s *Server) Close() {
	close(s.stop)
	s.notify.close()
	s.names.close()
	s.metrics.Handles(-s.handles.closeAll())
	s.forgetAll()
	s.dirs.closeAll()
	for _, m := range s.mounts {
		if m.holder != nil {
			m.holder.release()
		}
		if m.tree != nil {
			m.tree.Close()
		}
	}
}

// View returns the view that is in force.
func (s *Server) View() *overlay.View { return s.snap.Load().view }

// Generation returns the number of the view that is in force, counting from 1.
func (s *Server) Generation() uint64 { return s.snap.Load().generation }

// OpenHandles returns how many files and directories are open.
func (s *Server) OpenHandles() int { return s.handles.count() }

func directoryLimit() int { return min(descriptorLimit()/4, directoryDescriptors) }

// descriptorLimit returns how many descriptors the process may have.
func descriptorLimit() int {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil {
		return 1024
	}
	return int(min(lim.Cur, 1<<30))
}
