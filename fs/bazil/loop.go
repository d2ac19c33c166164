package bazil

import (
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"bazil.org/fuse"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/metrics"
)

// loop reads requests with one goroutine at a time, the leader, which handles
// them in place: threads parked in read(2) are woken in turn by the kernel, so
// always the coldest, and a goroutine for each request costs two to four times
// as much. Before anything slow the leader hands its reading on (Yield); when a
// handler turns out slow, the watchdog does it.
type loop struct {
	// dependencies
	conn   *fuse.Conn
	dev    int
	server *fs.Server
	log    *slog.Logger

	// constant
	operations operations

	token   chan struct{} // one, for whoever reads
	ended   chan struct{}
	end     sync.Once
	err     error
	workers sync.WaitGroup
	idle    atomic.Int32 // workers that wait for the token

	// busy is the serial number of the request that the leader handles in
	// place, 0 for none. Whoever sets it from that number to 0 has the token: the
	// leader when it is done, Yield, or the watchdog.
	busy    atomic.Uint64
	request atomic.Uint64 // the kernel's number of that request
	serial  atomic.Uint64
	asleep  atomic.Bool   // the watchdog is
	awake   chan struct{} // wakes it

	interrupts interrupts
}

// Workers that are kept though they have nothing to do.
const idleWorkers = 4

// The watchdog looks once in a tick; a handler that it sees twice is slow. It
// goes to sleep after so many ticks without a request.
const (
	watchTick  = time.Millisecond
	sleepAfter = 100
)

func newLoop(conn *fuse.Conn, dev int, server *fs.Server, m *metrics.Metrics, log *slog.Logger) *loop {
	return &loop{
		conn: conn, dev: dev, server: server, log: log,
		operations: newOperations(m),
		token:      make(chan struct{}, 1),
		ended:      make(chan struct{}),
		awake:      make(chan struct{}, 1),
	}
}

// serve runs until the kernel ends the connection.
func (l *loop) serve() error {
	go l.watch()
	l.promote()
	<-l.ended
	l.interrupts.end() // nobody is left to wait for them
	l.workers.Wait()
	return l.err
}

// promote gives the token to another worker.
func (l *loop) promote() {
	l.token <- struct{}{}
	if l.idle.Load() == 0 {
		l.workers.Add(1)
		go newWorker(l).run()
	}
}

// rest counts a worker as idle, or reports that there are enough. A worker that
// leaves is never counted: promote would hand it the token.
func (l *loop) rest() bool {
	for {
		n := l.idle.Load()
		if n >= idleWorkers {
			return false
		}
		if l.idle.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// handOver lets another worker read while the leader goes on with the request
// of that serial number. From then on an INTERRUPT of it can be read, and is
// kept for it.
func (l *loop) handOver(serial uint64, id fuse.RequestID) {
	l.interrupts.mu.Lock()
	handed := l.busy.CompareAndSwap(serial, 0)
	if handed {
		l.interrupts.addLocked(id)
	}
	l.interrupts.mu.Unlock()
	if handed {
		l.promote()
	}
}

// stop ends the loop; err is nil when the view was unmounted.
func (l *loop) stop(err error) {
	l.end.Do(func() {
		l.err = err
		close(l.ended)
	})
}

// read returns the next request, or false at the end. A request that was
// interrupted before it could be read is ENOENT; EINTR and EAGAIN are nothing.
// An unmount amid a read is ECONNABORTED (Linux 6.18).
func (l *loop) read() (fuse.Request, bool) {
	for {
		req, err := l.conn.ReadRequest()
		switch err {
		case nil:
			return req, true
		case syscall.EINTR, syscall.ENOENT, syscall.EAGAIN:
			continue
		case io.EOF, syscall.ECONNABORTED:
			l.stop(nil)
			return nil, false
		}
		if _, ok := err.(syscall.Errno); ok {
			l.stop(err)
			return nil, false
		}
		l.log.Error("a request could not be understood", "err", err)
	}
}

// watch is the watchdog.
func (l *loop) watch() {
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	var seen, serial uint64
	for quiet := 0; ; {
		select {
		case <-l.ended:
			return
		case <-tick.C:
		}
		now := l.busy.Load()
		if now != 0 && now == seen {
			l.handOver(now, fuse.RequestID(l.request.Load()))
		}
		seen = now
		if s := l.serial.Load(); s != serial {
			serial, quiet = s, 0
		} else if quiet++; quiet > sleepAfter && now == 0 {
			quiet = 0
			l.sleep(tick)
		}
	}
}

// sleep stops the watchdog until there is a request.
func (l *loop) sleep(tick *time.Ticker) {
	tick.Stop()
	l.asleep.Store(true)
	if l.busy.Load() == 0 {
		select {
		case <-l.awake:
		case <-l.ended:
		}
	}
	l.asleep.Store(false)
	tick.Reset(watchTick)
}

// wake wakes the watchdog if it sleeps.
func (l *loop) wake() {
	if l.asleep.Load() && l.asleep.CompareAndSwap(true, false) {
		select {
		case l.awake <- struct{}{}:
		default:
		}
	}
}
