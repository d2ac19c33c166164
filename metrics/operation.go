package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Operation counts the requests of one FUSE operation and the time they take.
type Operation struct {
	requests *cell
	name     string
	vec      *prometheus.HistogramVec
	duration atomic.Pointer[prometheus.Observer] // nil until the first Observe
}

// Operation returns the counters of the FUSE operation of that name, which
// comes from a closed set ("lookup", "getattr", …). Two calls with one name
// count together.
func (m *Metrics) Operation(name string) *Operation {
	return &Operation{requests: &m.requests.row(name).cells[0], name: valid(name), vec: m.durations}
}

// Observe counts one request and the time that it took.
func (o *Operation) Observe(d time.Duration) {
	o.requests.add(1)
	h := o.duration.Load()
	if h == nil {
		first := o.vec.WithLabelValues(o.name)
		o.duration.Store(&first)
		h = &first
	}
	(*h).Observe(d.Seconds())
}
