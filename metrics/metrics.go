// Package metrics holds every Prometheus metric of sandboxfs, and is the only
// package that imports the Prometheus library. Whoever counts asks once for a
// counter by name (Mount, Rule, Operation) and keeps it: to count is then an
// atomic add, without a lookup, a lock or an allocation.
//
// No path is ever a label but the target of a mount. A counter that is still
// zero is not shown, so that a mount does not fill the page with the hundred
// pairs of operation and decision that never happen in it.
package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sandboxfs/sandboxfs/policy"
)

// Metrics counts what one daemon does, over all of its mounts. Its methods are
// safe for concurrent use.
type Metrics struct {
	decisions     *tally
	ruleHits      *tally
	requests      *tally
	unsupported   *tally
	invalidations *tally
	bytes         *tally
	reloads       *tally
	containers    *tally

	durations   *prometheus.HistogramVec
	openHandles prometheus.Gauge
	nodes       prometheus.Gauge
	generation  prometheus.Gauge
	build       *prometheus.GaugeVec

	read, written       *cell
	reloadOK, reloadErr *cell
	rules               sync.Map // *policy.Rule → *row of ruleHits; emptied by Generation
}

// durationBuckets reach from a verdict out of the cache to a call that somebody
// was asked about.
var durationBuckets = []float64{
	1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
}

// New returns the metrics of a daemon of that version, registered with reg
// together with the collectors of the Go runtime and of the process. Like
// MustRegister it panics when reg already holds one of them.
func New(reg prometheus.Registerer, version string) *Metrics {
	m := &Metrics{
		decisions: newTally("sandboxfs_decisions_total",
			"Decisions of the policy, by target of the mount, operation and decision.",
			[]string{"mount"}, []string{"operation", "decision"}, decisionCells()),
		ruleHits: newTally("sandboxfs_rule_hits_total",
			"Decisions that a rule made. Built-in rules have no policy.",
			[]string{"policy", "rule"}, []string{"decision"}, decisionNames()),
		requests: newTally("sandboxfs_requests_total",
			"Requests of the kernel that reached the daemon, by FUSE operation.",
			[]string{"operation"}, nil, nil),
		unsupported: newTally("sandboxfs_unsupported_total",
			"Requests of the kernel that the transport refuses, by FUSE operation.",
			[]string{"operation"}, nil, nil),
		invalidations: newTally("sandboxfs_invalidations_total",
			"What the kernel was told to forget, by kind.",
			[]string{"kind"}, nil, nil),
		bytes: newTally("sandboxfs_bytes_total",
			"File contents that passed through the daemon.",
			[]string{"direction"}, nil, nil),
		reloads: newTally("sandboxfs_policy_reloads_total",
			"Loads of a changed profile or policy, by result. After an error the last good one stays.",
			[]string{"result"}, nil, nil),
		containers: newTally("sandboxfs_container_operations_total",
			"What was done with containers, by operation and result.",
			[]string{"operation", "result"}, nil, nil),

		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "sandboxfs_operation_duration_seconds",
			Help:    "Time from the arrival of a request to its answer, by FUSE operation.",
			Buckets: durationBuckets,
		}, []string{"operation"}),
		openHandles: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sandboxfs_open_handles",
			Help: "Files and directories that are open in a view.",
		}),
		nodes: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sandboxfs_nodes",
			Help: "Nodes that the kernel knows.",
		}),
		generation: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sandboxfs_policy_generation",
			Help: "Number of the policy snapshot that decides.",
		}),
		build: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sandboxfs_build_info",
			Help: "Always 1; the label holds the version.",
		}, []string{"version"}),
	}
	m.read, m.written = m.bytes.shown("read"), m.bytes.shown("written")
	m.reloadOK, m.reloadErr = m.reloads.shown("ok"), m.reloads.shown("error")
	m.build.WithLabelValues(valid(version)).Set(1)

	reg.MustRegister(m.decisions, m.ruleHits, m.requests, m.unsupported, m.invalidations, m.bytes, m.reloads, m.containers,
		m.durations, m.openHandles, m.nodes, m.generation, m.build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// NewRegistry returns an empty registry for New and Handler.
func NewRegistry() *prometheus.Registry { return prometheus.NewRegistry() }

// Handles adds delta to the number of open handles.
func (m *Metrics) Handles(delta int) { m.openHandles.Add(float64(delta)) }

// Nodes adds delta to the number of nodes that the kernel knows.
func (m *Metrics) Nodes(delta int) { m.nodes.Add(float64(delta)) }

// Read counts n bytes that a file was read for.
func (m *Metrics) Read(n int) { m.read.add(uint64(n)) }

// Wrote counts n bytes that were written to a file.
func (m *Metrics) Wrote(n int) { m.written.add(uint64(n)) }

// Reload counts one attempt to load a changed profile or policy.
func (m *Metrics) Reload(ok bool) {
	if ok {
		m.reloadOK.add(1)
	} else {
		m.reloadErr.add(1)
	}
}

// Container counts one operation on a container. The op comes from a closed set
// ("ensure", "exec", "remove").
func (m *Metrics) Container(op string, ok bool) {
	result := "error"
	if ok {
		result = "ok"
	}
	m.containers.row(op, result).cells[0].add(1)
}

// Generation sets the number of the policy snapshot that decides. The counters
// that Rule remembers for the rules of older ones are let go; their values stay.
func (m *Metrics) Generation(n uint64) {
	m.generation.Set(float64(n))
	m.rules.Clear()
}

// Invalidated counts one notice to the kernel. The kind comes from a closed set
// ("inode", "entry", …).
func (m *Metrics) Invalidated(kind string) { m.invalidations.row(kind).cells[0].add(1) }

// Unsupported counts one request that the transport refuses on purpose. The op
// comes from a closed set.
func (m *Metrics) Unsupported(op string) { m.unsupported.row(op).cells[0].add(1) }

// Rule counts that r made the decision d. Rules of the same name and policy
// count together, so that a reload does not start them again at zero.
func (m *Metrics) Rule(r *policy.Rule, d policy.Decision) {
	known, ok := m.rules.Load(r)
	if !ok {
		known, _ = m.rules.LoadOrStore(r, m.ruleHits.row(r.Policy, r.Name))
	}
	known.(*row).cells[d].add(1)
}

func decisionNames() [][]string {
	var names [][]string
	for d := range policy.Decision(policy.NumDecisions) {
		names = append(names, []string{d.String()})
	}
	return names
}

func decisionCells() [][]string {
	var cells [][]string
	for op := range policy.Op(policy.NumOps) {
		for _, d := range decisionNames() {
			cells = append(cells, []string{op.String(), d[0]})
		}
	}
	return cells
}
