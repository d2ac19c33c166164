package bazil

import (
	"io"
	"log/slog"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/policy"
)

// TestInterruptBeforeTheWait interrupts a request for a lock while its handler
// is still held up by the record of its decision. The wait that follows ends at
// once: the kernel does not interrupt a request twice, and whoever is killed
// would stay until somebody gave the lock back.
func TestInterruptBeforeTheWait(t *testing.T) {
	w := mount(t, parsePolicy(t, []string{"noted audit lock /**", "all allow * /**"}))
	makeFile(t, w.at+"/file", "")
	holder, err := unix.Open(w.at+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	defer unix.Close(holder)
	check(t, unix.Flock(holder, unix.LOCK_EX), nil, "flock")

	came, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	w.records.hold(func(a fs.Access) {
		if a.Op == policy.Lock {
			first.Do(func() { close(came); <-goOn })
		}
	})
	tid, ended := lockFile(w.at + "/file")
	<-came
	requests := func(op string) float64 { return w.counters("sandboxfs_requests_total")[op] }
	before := requests("setlk")
	unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
	eventually(t, "the request is interrupted", func() bool { return requests("interrupt") >= 1 })
	close(goOn)
	eventually(t, "the wait ends", func() bool { return requests("setlk") > before })
	check(t, unix.Flock(holder, unix.LOCK_UN), nil, "flock(LOCK_UN)")
	check(t, <-ended, nil, "flock, asked for again")
}

// newTestLoop returns a loop that reads nothing.
func newTestLoop() *loop {
	return newLoop(nil, -1, nil, metrics.New(metrics.NewRegistry(), "test"), slog.New(slog.NewTextHandler(io.Discard, nil)))
}

// TestWaitAfterTheEnd lets a handler begin to wait when the view is gone.
func TestWaitAfterTheEnd(t *testing.T) {
	l := newTestLoop()
	l.stop(nil)
	l.interrupts.end()
	w := newWorker(l)
	w.request, w.serial = 7, 1
	l.busy.Store(1)
	l.idle.Store(1) // so that no worker is started, which would read from no connection
	w.Yield()
	select {
	case <-w.Interrupted():
	default:
		t.Error("a wait that begins after the end is not interrupted")
	}
}

// TestRest has many workers come and go at once. None that leaves is counted as
// idle: the token that it was thought to take would lie about until another
// came back.
func TestRest(t *testing.T) {
	l := newTestLoop()
	var comers sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		comers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if l.rest() {
					l.idle.Add(-1)
				}
			}
		})
	}
	for range 1_000_000 {
		if n := l.idle.Load(); n > idleWorkers {
			t.Errorf("%d workers count as idle, want %d at most", n, idleWorkers)
			break
		}
	}
	close(stop)
	comers.Wait()
}
