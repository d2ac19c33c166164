package fs

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// world is a server of a view that lies in memory, called as a transport does.
type world struct {
	*Server
	tree    *backing.Memory // of the first mount
	records *recorder
}

// recorder keeps what the gate records, or refuses to.
type recorder struct {
	mu     sync.Mutex
	got    []Access
	fail   bool
	during func() // what happens while something is recorded
}

func (r *recorder) Record(a Access) error {
	if r.during != nil {
		r.during()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, a)
	if r.fail {
		return errors.New("the disk is full")
	}
	return nil
}

// take returns what was recorded since the last take.
func (r *recorder) take() []Access {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// thread is a reader that does nothing but wait.
type thread struct{ interrupt chan struct{} }

func (t thread) Yield()                       {}
func (t thread) Interrupted() <-chan struct{} { return t.interrupt }

// caller returns this process as a caller.
func caller() *Caller {
	return &Caller{Pid: uint32(os.Getpid()), Uid: uint32(os.Geteuid()), Gid: uint32(os.Getegid()), Thread: thread{}}
}

// rules makes a policy of lines "name decision operations path", the operations
// with commas between them.
func rules(t *testing.T, lines ...string) *policy.Policy {
	t.Helper()
	var compiled []policy.BuiltinRule
	for _, line := range lines {
		f := strings.Fields(line)
		d, ok := policy.ParseDecision(f[1])
		r := policy.BuiltinRule{Name: f[0], Paths: []string{f[3]}, Decision: d}
		for name := range strings.SplitSeq(f[2], ",") {
			op, known := policy.ParseOp(name)
			r.Ops |= op.Covers()
			ok = ok && (known || name == "*")
		}
		if f[2] == "*" {
			r.Ops = policy.AllOps
		}
		if !ok {
			t.Fatalf("no rule: %q", line)
		}
		compiled = append(compiled, r)
	}
	return policy.Builtin("test", compiled...)
}

// viewOf returns the view of one mount at the root.
func viewOf(t *testing.T, lines ...string) *overlay.View {
	t.Helper()
	return viewWith(t, overlay.Mount{Target: vpath.Root, Source: "/memory", Layers: layers(t, lines...)})
}

func viewWith(t *testing.T, mounts ...overlay.Mount) *overlay.View {
	t.Helper()
	v, err := overlay.New(mounts)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func layers(t *testing.T, lines ...string) []overlay.Layer {
	t.Helper()
	return []overlay.Layer{{Kind: "mount", Policy: rules(t, lines...)}}
}

const allowAll = "all allow * /**"

// newWorld serves a view of one mount under the given rules.
func newWorld(t *testing.T, lines ...string) *world {
	t.Helper()
	return serve(t, Config{View: viewOf(t, lines...), Trees: []backing.Tree{backing.NewMemory()}})
}

// serve makes a server; a tree that is given must be in memory.
func serve(t *testing.T, c Config) *world {
	t.Helper()
	w := &world{records: &recorder{}}
	w.tree, _ = c.Trees[0].(*backing.Memory)
	c.Recorder, c.Metrics = w.records, metrics.New(metrics.NewRegistry(), "test")
	c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	s, err := NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	w.Server = s
	t.Cleanup(s.Close)
	return w
}

// fill makes names in the backing, beside the view: directories end with a
// slash, "a=b" is a hard link a to b, "a>b" a symbolic link a to b, all else a
// file that holds its name.
func (w *world) fill(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			dir, base := parent(t, w.tree, strings.TrimSuffix(name, "/"))
			err = dir.MkdirAt(base, 0o755)
		case strings.Contains(name, ">"):
			link, target, _ := strings.Cut(name, ">")
			dir, base := parent(t, w.tree, link)
			err = dir.SymlinkAt(target, base)
		case strings.Contains(name, "="):
			link, old, _ := strings.Cut(name, "=")
			dir, base := parent(t, w.tree, old)
			var obj backing.Object
			if obj, err = dir.ObjectAt(base); err == nil {
				dir, base = parent(t, w.tree, link)
				err = obj.LinkTo(dir, base)
				obj.Close()
			}
		default:
			dir, base := parent(t, w.tree, name)
			var f backing.File
			if f, err = dir.CreateAt(base, unix.O_RDWR, 0o644); err == nil {
				_, err = f.WriteAt([]byte(name), 0)
				f.Close()
			}
		}
		if err != nil {
			t.Fatalf("making %s in the backing: %v", name, err)
		}
	}
}

// parent opens the directory that holds a name of the backing.
func parent(t *testing.T, tree backing.Tree, name string) (backing.Dir, string) {
	t.Helper()
	at, base := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		at, base = name[:i], name[i+1:]
	}
	dir, err := tree.Dir(at)
	if err != nil {
		t.Fatalf("Dir(%q) = %v", at, err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir, base
}

// content returns what a file of the backing holds.
func (w *world) content(t *testing.T, name string) string {
	t.Helper()
	dir, base := parent(t, w.tree, name)
	f, err := dir.OpenAt(base, unix.O_RDONLY)
	if err != nil {
		t.Fatalf("OpenAt(%q) = %v", name, err)
	}
	defer f.Close()
	buf := make([]byte, 1000)
	n, err := f.ReadAt(buf, 0)
	if err != nil {
		t.Fatalf("ReadAt = %v", err)
	}
	return string(buf[:n])
}

// has reports whether the backing has that name.
func (w *world) has(t *testing.T, name string) bool {
	t.Helper()
	dir, base := parent(t, w.tree, name)
	_, err := dir.StatAt(base)
	return err == nil
}

// walk looks a path up, component by component, and returns the last entry.
func (w *world) walk(path string) (Entry, syscall.Errno) {
	e := Entry{Node: RootID}
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		at := e.Node
		if name == "" {
			continue
		}
		if errno := w.Lookup(caller(), at, name, &e); errno != 0 {
			return e, errno
		}
	}
	return e, 0
}

// at returns the node of a path that is there.
func (w *world) at(t *testing.T, path string) NodeID {
	t.Helper()
	e, errno := w.walk(path)
	want(t, errno, 0, "lookup of "+path)
	return e.Node
}

// open opens the file at path until the end of the test.
func (w *world) open(t *testing.T, path string, flags uint32) HandleID {
	t.Helper()
	var o Opened
	want(t, w.Open(caller(), w.at(t, path), flags, &o), 0, "open of "+path)
	t.Cleanup(func() { w.Release(o.Handle) })
	return o.Handle
}

// want ends the test unless a call gave that errno.
func want(t *testing.T, got, errno syscall.Errno, call string) {
	t.Helper()
	if got != errno {
		t.Fatalf("%s = %v, want %v", call, name(got), name(errno))
	}
}

func name(errno syscall.Errno) string {
	if errno == 0 {
		return "no error"
	}
	return unix.ErrnoName(errno)
}

// wantEvents compares what was recorded since the last look, as "op path rule".
func (w *world) wantEvents(t *testing.T, lines ...string) {
	t.Helper()
	var got []string
	for _, a := range w.records.take() {
		got = append(got, a.Op.String()+" "+string(a.Path)+" "+a.Verdict.Rule.Name)
	}
	if !slices.Equal(got, lines) {
		t.Errorf("events %q, want %q", got, lines)
	}
}

// eventually ends the test unless ok comes true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within ten seconds", what)
		}
	}
}

func TestNewServerWantsWhatItNeeds(t *testing.T) {
	full := Config{
		View: viewOf(t, allowAll), Trees: []backing.Tree{backing.NewMemory()}, Recorder: &recorder{},
		Metrics: metrics.New(metrics.NewRegistry(), "test"), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for name, change := range map[string]func(c *Config){
		"a tree too few": func(c *Config) { c.Trees = nil },
		"no recorder":    func(c *Config) { c.Recorder = nil },
		"no metrics":     func(c *Config) { c.Metrics = nil },
		"no log":         func(c *Config) { c.Log = nil },
	} {
		c := full
		change(&c)
		if s, err := NewServer(c); err == nil {
			s.Close()
			t.Errorf("NewServer with %s = nil error", name)
		}
	}
}
