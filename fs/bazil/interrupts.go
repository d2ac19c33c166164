package bazil

import (
	"sync"

	"bazil.org/fuse"
)

// interrupts are the requests whose handlers no longer hold up the reading, by
// the kernel's number. The kernel interrupts a request once, and that may come
// before its handler begins to wait.
type interrupts struct {
	mu    sync.Mutex
	slow  map[fuse.RequestID]chan struct{} // closed by the INTERRUPT
	ended bool
}

func (i *interrupts) addLocked(id fuse.RequestID) {
	if i.slow == nil {
		i.slow = make(map[fuse.RequestID]chan struct{})
	}
	ch := make(chan struct{})
	if i.ended {
		close(ch)
	}
	i.slow[id] = ch
}

// of returns the channel of a request that was handed over.
func (i *interrupts) of(id fuse.RequestID) <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.slow[id]
}

func (i *interrupts) remove(id fuse.RequestID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.slow, id)
}

// interrupt ends the wait of a request, also one that it begins later.
func (i *interrupts) interrupt(id fuse.RequestID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.interruptLocked(id)
}

func (i *interrupts) interruptLocked(id fuse.RequestID) {
	ch := i.slow[id]
	if ch == nil {
		return
	}
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// end interrupts every request, and those that are handed over later.
func (i *interrupts) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = true
	for id := range i.slow {
		i.interruptLocked(id)
	}
}
