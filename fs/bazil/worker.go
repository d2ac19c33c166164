package bazil

import (
	"time"

	"bazil.org/fuse"

	"github.com/sandboxfs/sandboxfs/fs"
)

// worker is one goroutine of the loop. It implements fs.Thread for the request
// that it handles.
type worker struct {
	loop *loop
	out  []byte // the reply: header and payload

	// of the request under way
	request   fuse.RequestID
	serial    uint64
	interrupt <-chan struct{} // nil before Yield
}

func newWorker(l *loop) *worker {
	return &worker{loop: l, out: make([]byte, headerSize+maxReply)}
}

// run waits for the token, reads as long as it has it, and waits again.
func (w *worker) run() {
	l := w.loop
	defer l.workers.Done()
	for {
		if !l.rest() {
			return
		}
		select {
		case <-l.token:
			l.idle.Add(-1)
		case <-l.ended:
			l.idle.Add(-1)
			return
		}
		for leading := true; leading; {
			req, ok := l.read()
			if !ok {
				return
			}
			leading = w.handle(req)
		}
	}
}

// handle answers one request and reports whether this worker still leads.
func (w *worker) handle(req fuse.Request) bool {
	l := w.loop
	hdr := req.Hdr()
	w.request, w.serial, w.interrupt = hdr.ID, l.serial.Add(1), nil
	l.request.Store(uint64(w.request))
	l.busy.Store(w.serial)
	l.wake()

	start := time.Now()
	c := fs.Caller{Pid: hdr.Pid, Uid: hdr.Uid, Gid: hdr.Gid, Thread: w}
	w.dispatch(&c, req).Observe(time.Since(start))
	(&fuse.ForgetRequest{Header: *hdr}).Respond() // gives the message back to the library's pool

	if l.busy.CompareAndSwap(w.serial, 0) {
		return true
	}
	l.interrupts.remove(w.request)
	return false
}

// Yield lets another worker read.
func (w *worker) Yield() {
	if w.interrupt == nil {
		w.loop.handOver(w.serial, w.request)
		w.interrupt = w.loop.interrupts.of(w.request)
	}
}

// Interrupted returns the channel that the kernel's INTERRUPT closes.
func (w *worker) Interrupted() <-chan struct{} { return w.interrupt }
