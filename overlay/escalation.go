package overlay

import (
	"fmt"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// EscalationError reports that a child asked for more than its parent has.
type EscalationError struct {
	Mount vpath.Path // target of the mount that stands in the way
	Asked string     // what was asked for
	Cure  string     // what to do instead
}

// Error names the mount and the cure.
func (e *EscalationError) Error() string {
	return fmt.Sprintf("permission escalation: %s; %s", e.Asked, e.Cure)
}

// Code returns the error code of the HTTP API.
func (e *EscalationError) Code() string { return "PERMISSION_ESCALATION" }

func readonlyEscalation(m *Mount) error {
	return &EscalationError{
		Mount: m.Target,
		Asked: fmt.Sprintf("readonly: false asked for, but mount %s is readonly", m.Target),
		Cure:  "leave readonly out to inherit it, or restrict to a mount that is writable",
	}
}

func zoneEscalation(z Zone) error {
	return &EscalationError{
		Mount: vpath.Root.Join(z.Name),
		Asked: fmt.Sprintf("zone %q: mode rw asked for, but the parent has it ro", z.Name),
		Cure:  "ask for ro, or give the parent rw",
	}
}
