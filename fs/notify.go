package fs

import (
	"sync"

	"github.com/sandboxfs/sandboxfs/metrics"
)

// Notifier tells the kernel to drop what it has cached. Its calls may block
// until somebody else's operation in the same directory is answered.
type Notifier interface {
	InvalidateData(node NodeID)              // attributes and pages
	InvalidateEntry(dir NodeID, name string) // the name, and what lies below
}

// notifications sends notices from goroutines of its own: never from a reader,
// never under a lock, and none waits behind one that a busy directory holds up.
type notifications struct {
	metrics *metrics.Metrics

	mu      sync.Mutex
	to      Notifier // nil until there is a kernel
	queue   []notice
	queued  map[notice]bool
	workers int
	closed  bool
	calls   sync.WaitGroup // of to
}

// notice is one thing to tell; an empty name means the node itself.
type notice struct {
	node NodeID
	name string
}

// notifyWorkers bounds how many notices can be held up at once.
const notifyWorkers = 64

func newNotifications(m *metrics.Metrics) *notifications {
	return &notifications{metrics: m, queued: make(map[notice]bool)}
}

// Notify sets where notices go, nil for nowhere. Earlier ones are dropped: a
// kernel that was not there has nothing cached. The former Notifier is not
// called any more when it returns.
func (s *Server) Notify(to Notifier) {
	for _, q := range [...]*notifications{s.notify, s.names} {
		q.mu.Lock()
		q.to, q.queue = to, nil
		clear(q.queued)
		q.mu.Unlock()
		q.calls.Wait()
	}
}

// data tells that a node's attributes and content are not what the kernel has.
func (q *notifications) data(n NodeID) { q.send(notice{node: n}) }

// entry tells that a name does not lead where the kernel thinks.
func (q *notifications) entry(dir NodeID, name string) { q.send(notice{dir, name}) }

func (q *notifications) send(n notice) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.to == nil || q.closed || q.queued[n] {
		return
	}
	q.queued[n] = true
	q.queue = append(q.queue, n)
	if q.workers < min(notifyWorkers, len(q.queue)) {
		q.workers++
		go q.work()
	}
}

// work sends notices until there are none.
func (q *notifications) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.queue) > 0 && !q.closed {
		n, to := q.queue[0], q.to
		q.queue = q.queue[1:]
		delete(q.queued, n)
		q.calls.Add(1)
		q.mu.Unlock()
		if n.name == "" {
			to.InvalidateData(n.node)
			q.metrics.Invalidated("inode")
		} else {
			to.InvalidateEntry(n.node, n.name)
			q.metrics.Invalidated("entry")
		}
		q.calls.Done()
		q.mu.Lock()
	}
	q.workers--
}

func (q *notifications) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
}
