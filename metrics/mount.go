package metrics

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Mount counts the decisions about the paths of one mount.
type Mount struct {
	row *row
}

// Mount returns the counters of the mount with that target; "" stands for the
// paths that no mount governs. Two calls with one target count together.
func (m *Metrics) Mount(target vpath.Path) *Mount {
	return &Mount{m.decisions.row(string(target))}
}

// Decisions returns how many were made, on all mounts.
func (m *Metrics) Decisions() uint64 { return m.decisions.sum() }

// Decided counts one decision about an operation.
func (c *Mount) Decided(op policy.Op, d policy.Decision) {
	c.row.cells[int(op)*policy.NumDecisions+int(d)].add(1)
}
