package audit

import (
	"slices"
	"sync"
)

// Memory is a Sink that keeps events in memory, without a limit: for tests. The
// zero value is ready for use.
type Memory struct {
	mu     sync.Mutex
	events []Event // guarded by mu
}

// Write keeps e. It returns nil.
func (m *Memory) Write(e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.events = append(m.events, e)
	return nil
}

// Events returns a copy of the events so far, oldest first.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}
