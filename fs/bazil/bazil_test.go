package bazil

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/fs/posixtest"
	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestMain(m *testing.M) {
	unix.Umask(0)
	posixtest.Child()
	if dir := os.Getenv(deviceDir); dir != "" {
		fmt.Fprintln(os.Stderr, dropRights(dir))
		os.Exit(1)
	}
	if dir := os.Getenv(actorDir); dir != "" {
		act(dir)
		os.Exit(0)
	}
	if path := os.Getenv(mapped); path != "" {
		useMapping(path)
		os.Exit(0)
	}
	code := m.Run()
	printMatrix(os.Stdout)
	os.Exit(code)
}

// recorder keeps what the gate records.
type recorder struct {
	mu   sync.Mutex
	got  []fs.Access
	then func(fs.Access) // called with what was recorded; may be nil
}

func (r *recorder) Record(a fs.Access) error {
	r.mu.Lock()
	r.got = append(r.got, a)
	then := r.then
	r.mu.Unlock()
	if then != nil {
		then(a)
	}
	return nil
}

// hold sets what happens to a request after it was recorded.
func (r *recorder) hold(then func(fs.Access)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.then = then
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// since returns what was recorded after the first n.
func (r *recorder) since(n int) []fs.Access {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got[n:])
}

// view is a mounted view of one directory of the host.
type view struct {
	at       string // mountpoint
	backing  string
	server   *fs.Server
	mount    *Mount
	records  *recorder
	counters func(metric string) map[string]float64 // by the values of the labels
	end      func()                                 // unmounts and ends the server; it may be called again
	detached bool                                   // the test has unmounted it
}

func allowAll() *policy.Policy {
	return policy.Builtin("all", policy.BuiltinRule{Name: "builtin:all", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Allow})
}

func rootView(t *testing.T, source string, policies ...*policy.Policy) *overlay.View {
	t.Helper()
	var layers []overlay.Layer
	for _, p := range policies {
		layers = append(layers, overlay.Layer{Kind: "mount", Policy: p})
	}
	v, err := overlay.New([]overlay.Mount{{Target: vpath.Root, Source: source, Layers: layers}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// mount mounts a new directory under the given policies.
func mount(t *testing.T, policies ...*policy.Policy) *view {
	t.Helper()
	return mountOf(t, tempDir(t), policies...)
}

// mountOf mounts a directory of the host.
func mountOf(t *testing.T, source string, policies ...*policy.Policy) *view {
	t.Helper()
	tree, err := backing.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	return mountView(t, source, rootView(t, source, policies...), tree)
}

// mountView mounts a view whose first mount is a directory; its trees are those
// of the view's mounts. It begins with everything allowed, and comes to v by a
// reload.
func mountView(t *testing.T, source string, v *overlay.View, trees ...backing.Tree) *view {
	t.Helper()
	return mountWith(t, source, v, func(*fs.Config) {}, trees...)
}

// mountWith is mountView with a server that is set up in another way.
func mountWith(t *testing.T, source string, v *overlay.View, set func(*fs.Config), trees ...backing.Tree) *view {
	t.Helper()
	w := &view{at: tempDir(t), backing: source, records: &recorder{}}
	registry := metrics.NewRegistry()
	m := metrics.New(registry, "test")
	w.counters = func(metric string) map[string]float64 {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		values := make(map[string]float64)
		for _, f := range families {
			for _, c := range f.GetMetric() {
				var labels []string
				for _, l := range c.GetLabel() {
					labels = append(labels, l.GetValue())
				}
				if f.GetName() == metric {
					values[strings.Join(labels, " ")] = c.GetCounter().GetValue()
				}
			}
		}
		return values
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	mounts := slices.Clone(v.Mounts())
	for i := range mounts {
		mounts[i].ReadOnly, mounts[i].Layers = false, []overlay.Layer{{Kind: "mount", Policy: allowAll()}}
	}
	open, err := overlay.New(mounts)
	if err != nil {
		t.Fatal(err)
	}
	config := fs.Config{View: open, Trees: trees, Recorder: w.records, Metrics: m, Log: log}
	set(&config)
	server, err := fs.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	w.server = server
	w.mount, err = New(w.at, server, Options{FSName: "test", AllowOther: os.Geteuid() == 0, Metrics: m, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- w.mount.Serve() }()
	w.end = sync.OnceFunc(func() {
		if !w.detached {
			if err := w.mount.Unmount(false); err != nil {
				t.Errorf("unmount: %v", err)
				w.mount.Unmount(true)
			}
		}
		if err := <-done; err != nil {
			t.Errorf("Serve() = %v", err)
		}
		server.Close()
	})
	t.Cleanup(w.end)
	refusePoll(t, filepath.Join(w.at, string(mounts[0].Target)))
	if err := server.Swap(v); err != nil {
		t.Fatal(err)
	}
	return w
}

// refusePoll makes the kernel ask once whether a file is ready, and hear that it
// need not ask. Package os asks so for each file that it opens, in a call that
// Go's scheduler does not know to be blocking: while this process serves the
// view too, a collection of garbage at that moment would never end.
func refusePoll(t *testing.T, dir string) {
	t.Helper()
	name := dir + "/poll"
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Unlink(name)
	defer unix.Close(fd)
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	w := mount(t, allowAll())
	file := filepath.Join(w.at, "d", "f")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(w.backing, "d", "f"))
	if err != nil || string(got) != "hello" {
		t.Errorf("the backing has %q, %v; want hello", got, err)
	}
	if got, err = os.ReadFile(file); err != nil || string(got) != "hello" {
		t.Errorf("the view has %q, %v; want hello", got, err)
	}
	if err := os.Rename(file, file+"2"); err != nil {
		t.Error(err)
	}
	names, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(names) != 1 || names[0].Name() != "f2" {
		t.Errorf("ReadDir = %v, %v; want f2", names, err)
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Error(err)
	}
	if got := w.records.got; len(got) != 0 {
		t.Errorf("plain allows were recorded: %v", got)
	}
}
