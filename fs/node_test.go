package fs

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// TestWatch tells what is done to a file, and asks after each step whether
// somebody else has changed it.
func TestWatch(t *testing.T) {
	at := func(size uint64, mtime, ctime int64) *backing.Stat {
		return &backing.Stat{Size: size, Mtime: unix.Timespec{Sec: mtime}, Ctime: unix.Timespec{Sec: ctime}}
	}
	for name, steps := range map[string][]func(w *watch) (got, want bool){
		"the first look finds nothing": {
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
		},
		"size, mtime and ctime each tell": {
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { return w.observe(at(2, 1, 1)), true },
			func(w *watch) (bool, bool) { return w.observe(at(2, 2, 1)), true },
			func(w *watch) (bool, bool) { return w.observe(at(2, 2, 2)), true },
			func(w *watch) (bool, bool) { return w.observe(at(2, 2, 2)), false },
		},
		"an own change of ctime is forgiven once": {
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { w.own(); return w.observe(at(1, 1, 2)), false },
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 3)), true },
		},
		"and of ctime only": {
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { w.own(); return w.observe(at(1, 2, 2)), true },
		},
		"an own write is none of others": {
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { return w.begin(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { return w.observe(at(5, 2, 2)), false },
			func(w *watch) (bool, bool) { w.end(at(5, 2, 2)); return w.observe(at(5, 2, 2)), false },
			func(w *watch) (bool, bool) { return w.observe(at(6, 3, 3)), true },
		},
		"what was changed before an own write is found": {
			func(w *watch) (bool, bool) { return w.observe(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { return w.begin(at(2, 2, 2)), true },
			func(w *watch) (bool, bool) { return w.begin(at(3, 3, 3)), false }, // within the bracket
		},
		"an end without a look": {
			func(w *watch) (bool, bool) { return w.begin(at(1, 1, 1)), false },
			func(w *watch) (bool, bool) { w.end(nil); return w.observe(at(1, 1, 1)), true },
		},
	} {
		var w watch
		for i, step := range steps {
			if got, want := step(&w); got != want {
				t.Errorf("%s: step %d says %t", name, i, got)
			}
		}
	}
}

// notices keeps what the kernel would be told.
type notices struct {
	mu  sync.Mutex
	got []notice
}

func (n *notices) add(x notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, x)
}

func (n *notices) InvalidateData(node NodeID)              { n.add(notice{node: node}) }
func (n *notices) InvalidateEntry(dir NodeID, name string) { n.add(notice{dir, name}) }

func (n *notices) has(x notice) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, y := range n.got {
		if x == y {
			return true
		}
	}
	return false
}

// TestChangesBeside changes files on the host: the kernel is told to drop what
// it has, at the next look or by itself if the file is open.
func TestChangesBeside(t *testing.T) {
	w := newWorld(t, allowAll)
	told := &notices{}
	w.Notify(told)
	w.fill(t, "file", "open")
	file := w.at(t, "/file")
	h := w.open(t, "/open", unix.O_RDWR)
	open := w.at(t, "/open")
	if _, errno := w.Write(caller(), h, []byte("own"), 0, WriteIn{}); errno != 0 {
		t.Fatal(name(errno))
	}
	w.at(t, "/open")
	w.at(t, "/file")
	for _, path := range []string{"file", "open"} {
		dir, base := parent(t, w.tree, path)
		f, err := dir.OpenAt(base, unix.O_WRONLY)
		if err == nil {
			_, err = f.WriteAt([]byte("from beside the view"), 0)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if told.has(notice{node: file}) {
			t.Error("the kernel was told of a closed file before anybody looked")
		}
	}
	w.at(t, "/file")
	eventually(t, "the kernel is told of the file that was looked at", func() bool { return told.has(notice{node: file}) })
	eventually(t, "the kernel is told of the open file", func() bool { return told.has(notice{node: open}) })
}

// TestSwapTells: of a reload the kernel is told of what differs, and of nothing
// else.
func TestSwapTells(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "same", "differs", "dir/", "dir/below")
	told := &notices{}
	w.Notify(told)
	same, differs, dir, below := w.at(t, "/same"), w.at(t, "/differs"), w.at(t, "/dir"), w.at(t, "/dir/below")
	if err := w.Swap(viewOf(t, "a deny read /differs", "b hide * /dir/below", allowAll)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []notice{{node: differs}, {RootID, "differs"}, {node: below}, {dir, "below"}} {
		eventually(t, "the kernel is told", func() bool { return told.has(n) })
	}
	for _, n := range []notice{{node: same}, {RootID, "same"}} {
		if told.has(n) {
			t.Errorf("the kernel was told of %v, which is as it was", n)
		}
	}
}

// TestNarrowingTells: a file that gets a further name, or moves with a
// directory, to where it cannot be stat-ed, is asked for anew by every name.
func TestNarrowingTells(t *testing.T) {
	w := newWorld(t, "a deny stat /shut/*", "b deny stat /b/file", allowAll)
	w.fill(t, "file", "other", "shut/", "a/", "a/file", "a/other")
	file, other, shut, dir, moved := w.at(t, "/file"), w.at(t, "/other"), w.at(t, "/shut"), w.at(t, "/a"), w.at(t, "/a/file")
	told := &notices{}
	w.Notify(told)
	var e Entry
	if errno := w.Link(caller(), file, shut, "file", &e); errno != 0 {
		t.Fatal(name(errno))
	}
	if errno := w.Rename(caller(), RootID, "a", RootID, "b"); errno != 0 {
		t.Fatal(name(errno))
	}
	for _, n := range []notice{{node: file}, {RootID, "file"}, {node: moved}, {dir, "file"}} {
		eventually(t, "the kernel is told", func() bool { return told.has(n) })
	}
	for _, n := range []notice{{node: other}, {RootID, "other"}, {dir, "other"}} {
		if told.has(n) {
			t.Errorf("the kernel was told of %v, which is as it was", n)
		}
	}
}

// blocked is a kernel that takes long over each notice.
type blocked struct{ in, out chan struct{} }

func (b blocked) InvalidateData(NodeID) {
	b.in <- struct{}{}
	<-b.out
}
func (b blocked) InvalidateEntry(NodeID, string) {}

// TestNotifyEnds: once Notify(nil) has returned, the former notifier is not
// called, and what was queued is dropped.
func TestNotifyEnds(t *testing.T) {
	w := newWorld(t, allowAll)
	slow := blocked{make(chan struct{}), make(chan struct{})}
	w.Notify(slow)
	w.notify.data(5)
	<-slow.in
	ended := make(chan struct{})
	go func() {
		w.Notify(nil)
		close(ended)
	}()
	eventually(t, "nothing more is taken", func() bool {
		w.notify.mu.Lock()
		defer w.notify.mu.Unlock()
		return w.notify.to == nil
	})
	w.notify.data(6)
	select {
	case <-ended:
		t.Error("Notify(nil) returned while a call was under way")
	default:
	}
	close(slow.out)
	<-ended
	w.notify.data(7)
	if n := len(w.notify.queue); n != 0 {
		t.Errorf("%d notices wait for nobody", n)
	}
}

// TestSwapTellsOfEachOperation whose results the kernel keeps, when it is taken
// and when it is given back. S1-09, X-05.
func TestSwapTellsOfEachOperation(t *testing.T) {
	finer := map[string]string{
		"stat": "", "exec": "",
		"read":  "finer allow open,stat,list,readlink,getxattr,lock,exec /file",
		"write": "finer allow truncate,chmod,chown,utimes,setxattr /file",
	}
	for op, allowed := range finer {
		for _, open := range []bool{true, false} {
			w := newWorld(t, allowAll)
			w.fill(t, "file")
			node := w.at(t, "/file")
			if open {
				w.open(t, "/file", unix.O_RDWR)
			}
			lines := []string{"none deny " + op + " /file", allowAll}
			if allowed != "" {
				lines = append([]string{allowed}, lines...)
			}
			for _, turn := range [][]string{lines, {allowAll}} {
				told := &notices{}
				w.Notify(told)
				if err := w.Swap(viewOf(t, turn...)); err != nil {
					t.Fatal(err)
				}
				if open || op == "stat" {
					eventually(t, "the kernel is told of "+op, func() bool { return told.has(notice{node: node}) })
				}
				w.notify.data(1 << 20) // taken from the queue after all of the reload
				eventually(t, "the last notice", func() bool { return told.has(notice{node: 1 << 20}) })
				if !open && op != "stat" && told.has(notice{node: node}) {
					t.Errorf("the kernel is told of %s, of which it keeps nothing", op)
				}
			}
		}
	}
}
