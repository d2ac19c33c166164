package fs

import "time"

// pollInterval is how often open files are looked at for changes from beside
// the view that nothing tells of.
const pollInterval = time.Second

// pollOpenFiles drops the kernel's pages of open files that somebody beside the
// view has changed: a reader that holds a file open, or maps it, would
// otherwise see the old content for good.
func (s *Server) pollOpenFiles() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		for _, h := range s.handles.borrowFiles() {
			if st, err := h.file.Stat(); err == nil && h.node.watch.observe(&st) {
				s.notify.data(h.node.num)
			}
			h.done()
		}
	}
}

// borrowFiles returns one open file of each node. The caller calls done.
func (t *handles) borrowFiles() []*handle {
	t.mu.RLock()
	defer t.mu.RUnlock()
	seen := make(map[*node]bool, len(t.open))
	var out []*handle
	for _, h := range t.open {
		if h.file != nil && !seen[h.node] {
			seen[h.node] = true
			h.users.Add(1)
			out = append(out, h)
		}
	}
	return out
}
