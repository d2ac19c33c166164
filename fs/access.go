package fs

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Access is one decision of the gate, as it is handed to a Recorder.
type Access struct {
	Mount      vpath.Path // target of the mount that governs Path; "" when none does
	Op         policy.Op
	Path       vpath.Path
	To         vpath.Path // new name of rename and link; else ""
	Verdict    policy.Verdict
	Detail     string        // what the rule says of this very access, in the place of its message; else ""
	Errno      syscall.Errno // 0 when the operation goes ahead
	Pid        uint32        // 0 for page write-back and for callers in a foreign pid namespace
	Uid        uint32
	Generation uint64
}

// Recorder keeps the audit trail. Record is called for every denial, hide, ask
// and audit decision, never for a plain allow, and from several goroutines at
// once. An error turns an audit decision into a denial (EIO): what must be
// recorded and cannot be does not happen.
type Recorder interface {
	Record(Access) error
}
