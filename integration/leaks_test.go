package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// held is what a daemon holds, by the metric that counts it.
var held = []string{"sandboxfs_nodes", "sandboxfs_open_handles", "go_goroutines", "process_open_fds"}

func (m *mount) holds() map[string]float64 {
	values := map[string]float64{}
	for _, name := range held {
		values[name] = m.metric(name)
	}
	return values
}

// TestNothingLeaks has many callers do anything at random, and then the daemon
// hold what it held at the start. The directories that it keeps open for speed
// are closed when the kernel forgets them.
func TestNothingLeaks(t *testing.T) {
	needRoot(t) // to drop the kernel's caches
	operations := int64(20_000)
	if soak {
		operations = 200_000
	}
	w := newWorld(t)
	for i := range 4 {
		w.mkdir(fmt.Sprintf("root/d%d", i))
	}
	m := w.view(rule("hidden", "hide", `"*"`, "/d0/n0"), allowAll)
	names(t, m.Path)
	before := m.holds()
	var done atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done.Add(1) <= operations {
				randomCall(m.Path)
			}
		})
	}
	all.Wait()
	busy := m.holds()
	dirs, err := filepath.Glob(m.Path + "/d*")
	must(t, err)
	for _, dir := range dirs {
		os.RemoveAll(dir)
	}
	eventually(t, "everything is given back", func() error {
		must(t, os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0))
		now := m.holds()
		for name, value := range now {
			slack := 0.0
			if name == "go_goroutines" || name == "process_open_fds" {
				slack = 4 // workers that wait, a request for metrics
			}
			if value > before[name]+slack {
				return fmt.Errorf("%s is %v, was %v", name, value, before[name])
			}
		}
		t.Logf("%d operations; before %v, during %v, after %v", operations, before, busy, now)
		return nil
	})
}
