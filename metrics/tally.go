package metrics

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// A tally is one counter metric whose values lie in arrays. Its labels come in
// two parts: the outer ones name a row, which is looked up once and kept; the
// inner ones name a cell of the row, from a set that is fixed and addressed by
// index. CounterVec would make a child of every cell at first use, and show it
// although it is zero.
type tally struct {
	desc  *prometheus.Desc
	inner [][]string // label values of each cell of a row

	mu   sync.Mutex
	rows map[string]*row // guarded by mu; by the outer label values, joined
}

// row holds the cells under one set of outer label values.
type row struct {
	outer []string
	cells []cell
}

// cell is one counter. A cell is shown once it is not zero, or from the start
// if always is set.
type cell struct {
	n      atomic.Uint64
	always bool
}

func (c *cell) add(n uint64) { c.n.Add(n) }

// newTally returns a tally. Without inner labels a row is a single cell.
func newTally(name, help string, outer, inner []string, cells [][]string) *tally {
	if len(inner) == 0 {
		cells = [][]string{nil}
	}
	return &tally{
		desc:  prometheus.NewDesc(name, help, slices.Concat(outer, inner), nil),
		inner: cells,
		rows:  make(map[string]*row),
	}
}

// row returns the row of these outer label values, and makes it at first.
func (t *tally) row(outer ...string) *row {
	for i, v := range outer {
		outer[i] = valid(v)
	}
	key := strings.Join(outer, "\x00")
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[key]
	if r == nil {
		r = &row{outer: slices.Clone(outer), cells: make([]cell, len(t.inner))}
		t.rows[key] = r
	}
	return r
}

// shown returns the one cell of a row that is shown although it is zero. It is
// called before the tally is registered.
func (t *tally) shown(outer ...string) *cell {
	c := &t.row(outer...).cells[0]
	c.always = true
	return c
}

// sum is what all cells add up to.
func (t *tally) sum() (n uint64) {
	for _, r := range t.snapshot() {
		for i := range r.cells {
			n += r.cells[i].n.Load()
		}
	}
	return n
}

// Describe implements prometheus.Collector.
func (t *tally) Describe(ch chan<- *prometheus.Desc) { ch <- t.desc }

// Collect implements prometheus.Collector.
func (t *tally) Collect(ch chan<- prometheus.Metric) {
	for _, r := range t.snapshot() {
		for i := range r.cells {
			n := r.cells[i].n.Load()
			if n == 0 && !r.cells[i].always {
				continue
			}
			labels := slices.Concat(r.outer, t.inner[i])
			ch <- prometheus.MustNewConstMetric(t.desc, prometheus.CounterValue, float64(n), labels...)
		}
	}
}

func (t *tally) snapshot() []*row {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows := make([]*row, 0, len(t.rows))
	for _, r := range t.rows {
		rows = append(rows, r)
	}
	return rows
}

// valid returns s as a label value, which must be UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
