package metrics

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sandboxfs/sandboxfs/policy"
)

// expect compares the exposition of the named metrics with text.
func expect(t *testing.T, g prometheus.Gatherer, text string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(g, strings.NewReader(text), names...); err != nil {
		t.Error(err)
	}
}

func TestNothingHappened(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "v1.2.3")
	m.Mount("/")
	m.Operation("lookup")
	expect(t, reg, `
# HELP sandboxfs_build_info Always 1; the label holds the version.
# TYPE sandboxfs_build_info gauge
sandboxfs_build_info{version="v1.2.3"} 1
# HELP sandboxfs_bytes_total File contents that passed through the daemon.
# TYPE sandboxfs_bytes_total counter
sandboxfs_bytes_total{direction="read"} 0
sandboxfs_bytes_total{direction="written"} 0
# HELP sandboxfs_nodes Nodes that the kernel knows.
# TYPE sandboxfs_nodes gauge
sandboxfs_nodes 0
# HELP sandboxfs_open_handles Files and directories that are open in a view.
# TYPE sandboxfs_open_handles gauge
sandboxfs_open_handles 0
# HELP sandboxfs_policy_generation Number of the policy snapshot that decides.
# TYPE sandboxfs_policy_generation gauge
sandboxfs_policy_generation 0
# HELP sandboxfs_policy_reloads_total Loads of a changed profile or policy, by result. After an error the last good one stays.
# TYPE sandboxfs_policy_reloads_total counter
sandboxfs_policy_reloads_total{result="error"} 0
sandboxfs_policy_reloads_total{result="ok"} 0
`, "sandboxfs_build_info", "sandboxfs_bytes_total", "sandboxfs_nodes", "sandboxfs_open_handles",
		"sandboxfs_policy_generation", "sandboxfs_policy_reloads_total",
		"sandboxfs_decisions_total", "sandboxfs_rule_hits_total", "sandboxfs_requests_total",
		"sandboxfs_operation_duration_seconds", "sandboxfs_unsupported_total", "sandboxfs_invalidations_total",
		"sandboxfs_container_operations_total")
}

func TestDecisions(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "dev")
	root, cache := m.Mount("/"), m.Mount("/cache")
	root.Decided(policy.Open, policy.Allow)
	root.Decided(policy.Open, policy.Allow)
	root.Decided(policy.Rename, policy.Hide)
	cache.Decided(policy.Read, policy.Deny)
	m.Mount("/cache").Decided(policy.Read, policy.Deny)
	m.Mount("").Decided(policy.Create, policy.Deny)
	m.Mount("/\xff").Decided(policy.Stat, policy.Audit)
	expect(t, reg, `
# HELP sandboxfs_decisions_total Decisions of the policy, by target of the mount, operation and decision.
# TYPE sandboxfs_decisions_total counter
sandboxfs_decisions_total{decision="allow",mount="/",operation="open"} 2
sandboxfs_decisions_total{decision="audit",mount="/�",operation="stat"} 1
sandboxfs_decisions_total{decision="deny",mount="",operation="create"} 1
sandboxfs_decisions_total{decision="deny",mount="/cache",operation="read"} 2
sandboxfs_decisions_total{decision="hide",mount="/",operation="rename"} 1
`, "sandboxfs_decisions_total")
	if n := m.Decisions(); n != 7 {
		t.Errorf("Decisions() = %d, want 7", n)
	}
}

// Every pair has a cell of its own: none counts for its neighbour.
func TestDecidedEveryPair(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	c := New(reg, "dev").Mount("/")
	want := 0
	for op := range policy.Op(policy.NumOps) {
		for d := range policy.Decision(policy.NumDecisions) {
			c.Decided(op, d)
			want++
		}
	}
	if n, err := testutil.GatherAndCount(reg, "sandboxfs_decisions_total"); n != want || err != nil {
		t.Errorf("GatherAndCount(decisions) = %d, %v, want %d", n, err, want)
	}
}

func TestRuleHits(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "dev")
	old := &policy.Rule{Name: "no-dotenv", Policy: "workspace-rw"}
	m.Rule(old, policy.Deny)
	m.Rule(old, policy.Hide)
	m.Rule(policy.DefaultDeny, policy.Deny)
	m.Generation(2)
	reloaded := &policy.Rule{Name: "no-dotenv", Policy: "workspace-rw"}
	m.Rule(reloaded, policy.Deny)
	expect(t, reg, `
# HELP sandboxfs_policy_generation Number of the policy snapshot that decides.
# TYPE sandboxfs_policy_generation gauge
sandboxfs_policy_generation 2
# HELP sandboxfs_rule_hits_total Decisions that a rule made. Built-in rules have no policy.
# TYPE sandboxfs_rule_hits_total counter
sandboxfs_rule_hits_total{decision="deny",policy="",rule="builtin:default-deny"} 1
sandboxfs_rule_hits_total{decision="deny",policy="workspace-rw",rule="no-dotenv"} 2
sandboxfs_rule_hits_total{decision="hide",policy="workspace-rw",rule="no-dotenv"} 1
`, "sandboxfs_rule_hits_total", "sandboxfs_policy_generation")
	if _, held := m.rules.Load(old); held {
		t.Error("Generation(2) kept the rule of the generation before")
	}
}

func TestGaugesAndCounters(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "dev")
	m.Handles(+1)
	m.Handles(+1)
	m.Handles(-1)
	m.Nodes(7)
	m.Nodes(-2)
	m.Read(4096)
	m.Wrote(10)
	m.Wrote(5)
	m.Reload(true)
	m.Reload(false)
	m.Reload(false)
	m.Invalidated("inode")
	m.Invalidated("inode")
	m.Invalidated("entry")
	m.Unsupported("ioctl")
	m.Operation("forget").Observe(0)
	m.Container("exec", true)
	m.Container("exec", true)
	m.Container("exec", false)
	m.Container("remove", true)
	expect(t, reg, `
# HELP sandboxfs_bytes_total File contents that passed through the daemon.
# TYPE sandboxfs_bytes_total counter
sandboxfs_bytes_total{direction="read"} 4096
sandboxfs_bytes_total{direction="written"} 15
# HELP sandboxfs_container_operations_total What was done with containers, by operation and result.
# TYPE sandboxfs_container_operations_total counter
sandboxfs_container_operations_total{operation="exec",result="error"} 1
sandboxfs_container_operations_total{operation="exec",result="ok"} 2
sandboxfs_container_operations_total{operation="remove",result="ok"} 1
# HELP sandboxfs_invalidations_total What the kernel was told to forget, by kind.
# TYPE sandboxfs_invalidations_total counter
sandboxfs_invalidations_total{kind="entry"} 1
sandboxfs_invalidations_total{kind="inode"} 2
# HELP sandboxfs_nodes Nodes that the kernel knows.
# TYPE sandboxfs_nodes gauge
sandboxfs_nodes 5
# HELP sandboxfs_open_handles Files and directories that are open in a view.
# TYPE sandboxfs_open_handles gauge
sandboxfs_open_handles 1
# HELP sandboxfs_policy_reloads_total Loads of a changed profile or policy, by result. After an error the last good one stays.
# TYPE sandboxfs_policy_reloads_total counter
sandboxfs_policy_reloads_total{result="error"} 2
sandboxfs_policy_reloads_total{result="ok"} 1
# HELP sandboxfs_requests_total Requests of the kernel that reached the daemon, by FUSE operation.
# TYPE sandboxfs_requests_total counter
sandboxfs_requests_total{operation="forget"} 1
# HELP sandboxfs_unsupported_total Requests of the kernel that the transport refuses, by FUSE operation.
# TYPE sandboxfs_unsupported_total counter
sandboxfs_unsupported_total{operation="ioctl"} 1
`, "sandboxfs_bytes_total", "sandboxfs_container_operations_total", "sandboxfs_invalidations_total", "sandboxfs_nodes", "sandboxfs_open_handles",
		"sandboxfs_policy_reloads_total", "sandboxfs_requests_total", "sandboxfs_unsupported_total")
}

func TestObserve(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "dev")
	m.Operation("lookup").Observe(3 * time.Microsecond)
	m.Operation("lookup").Observe(4 * time.Second)
	expect(t, reg, `
# HELP sandboxfs_operation_duration_seconds Time from the arrival of a request to its answer, by FUSE operation.
# TYPE sandboxfs_operation_duration_seconds histogram
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="1e-06"} 0
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="2e-06"} 0
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="5e-06"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="1e-05"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="2e-05"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="5e-05"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.0001"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.0002"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.0005"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.001"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.002"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.005"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.01"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.02"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.05"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.1"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.2"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="0.5"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="1"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="2"} 1
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="5"} 2
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="10"} 2
sandboxfs_operation_duration_seconds_bucket{operation="lookup",le="+Inf"} 2
sandboxfs_operation_duration_seconds_sum{operation="lookup"} 4.000003
sandboxfs_operation_duration_seconds_count{operation="lookup"} 2
# HELP sandboxfs_requests_total Requests of the kernel that reached the daemon, by FUSE operation.
# TYPE sandboxfs_requests_total counter
sandboxfs_requests_total{operation="lookup"} 2
`, "sandboxfs_operation_duration_seconds", "sandboxfs_requests_total")
}

func TestConcurrentUse(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "dev")
	c, op := m.Mount("/"), m.Operation("read")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				c.Decided(policy.Read, policy.Allow)
				op.Observe(time.Microsecond)
				m.Rule(policy.RootStat, policy.Allow)
				m.Invalidated("inode")
			}
		})
	}
	wg.Go(func() {
		for n := range 100 {
			m.Generation(uint64(n))
			if _, err := reg.Gather(); err != nil {
				t.Errorf("Gather() = %v", err)
				return
			}
		}
	})
	wg.Wait()
	expect(t, reg, `
# HELP sandboxfs_decisions_total Decisions of the policy, by target of the mount, operation and decision.
# TYPE sandboxfs_decisions_total counter
sandboxfs_decisions_total{decision="allow",mount="/",operation="read"} 4000
# HELP sandboxfs_requests_total Requests of the kernel that reached the daemon, by FUSE operation.
# TYPE sandboxfs_requests_total counter
sandboxfs_requests_total{operation="read"} 4000
# HELP sandboxfs_rule_hits_total Decisions that a rule made. Built-in rules have no policy.
# TYPE sandboxfs_rule_hits_total counter
sandboxfs_rule_hits_total{decision="allow",policy="",rule="builtin:root"} 4000
`, "sandboxfs_decisions_total", "sandboxfs_requests_total", "sandboxfs_rule_hits_total")
}

// What happens on every operation of the file system allocates nothing.
func TestCountingAllocatesNothing(t *testing.T) {
	m := New(prometheus.NewPedanticRegistry(), "dev")
	c, op := m.Mount("/"), m.Operation("read")
	tests := map[string]func(){
		"Decided": func() { c.Decided(policy.Read, policy.Allow) },
		"Observe": func() { op.Observe(time.Millisecond) },
		"Rule":    func() { m.Rule(policy.RootStat, policy.Allow) },
		"Read":    func() { m.Read(1) },
		"Handles": func() { m.Handles(1) },
	}
	for name, count := range tests {
		if n := testing.AllocsPerRun(100, count); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

func BenchmarkDecided(b *testing.B) {
	c := New(prometheus.NewRegistry(), "dev").Mount("/")
	b.ReportAllocs()
	for b.Loop() {
		c.Decided(policy.Read, policy.Allow)
	}
}

func BenchmarkObserve(b *testing.B) {
	op := New(prometheus.NewRegistry(), "dev").Operation("read")
	b.ReportAllocs()
	for b.Loop() {
		op.Observe(70 * time.Microsecond)
	}
}

func BenchmarkRule(b *testing.B) {
	m := New(prometheus.NewRegistry(), "dev")
	b.ReportAllocs()
	for b.Loop() {
		m.Rule(policy.RootStat, policy.Allow)
	}
}
