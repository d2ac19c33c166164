package overlay

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Mode is what a zone can do at most.
type Mode string

// The modes of zones. The empty Mode is ModeRO.
const (
	ModeRO Mode = "ro"
	ModeRW Mode = "rw"
)

// Approval is what a change in a zone needs, apart from the mode.
type Approval string

// The approvals of zones. The empty Approval is ApprovalAsk.
const (
	ApprovalPre     Approval = "preApproved"
	ApprovalAsk     Approval = "ask"
	ApprovalBlocked Approval = "blocked"
)

// Zone is a directory of the host that is shown at /Name.
type Zone struct {
	Name   string
	Path   string // host path, as Mount.Source
	Mode   Mode
	Write  Approval // of writing and creating
	Delete Approval // of deleting and renaming
}

// decisions says what an approval comes to in a policy.
var decisions = map[Approval]policy.Decision{
	ApprovalPre:     policy.Allow,
	ApprovalAsk:     policy.Ask,
	ApprovalBlocked: policy.Deny,
}

// DefaultZones returns the zones of a project that configures none: cache and
// workspace, writable after approval, below the host directory root.
func DefaultZones(root string) []Zone {
	return []Zone{
		{Name: "cache", Path: path.Join(root, "cache"), Mode: ModeRW},
		{Name: "workspace", Path: path.Join(root, "workspace"), Mode: ModeRW},
	}
}

// ZoneMount returns the mount that shows z, under a policy made of its
// approvals and under further layers. Errors: a name that is not one component,
// a mode or an approval that is not known.
func ZoneMount(z Zone, further ...Layer) (Mount, error) {
	z, err := z.normal()
	if err != nil {
		return Mount{}, err
	}
	target := vpath.Root.Join(z.Name)
	approvals := z.policy(target)
	return Mount{
		Target:   target,
		Source:   z.Path,
		ReadOnly: z.Mode == ModeRO,
		Policy:   approvals.Name,
		Zone:     true,
		Layers:   append([]Layer{{Kind: "mount", Policy: approvals}}, further...),
	}, nil
}

// policy puts the approvals into rules. Their words reach whoever is refused,
// which is why they do not speak of zones.
func (z Zone) policy(target vpath.Path) *policy.Policy {
	everything := []string{policy.Literal(string(target)) + "/**"}
	return policy.Builtin("approvals", policy.BuiltinRule{
		Name:     "builtin:approval-read",
		Paths:    everything,
		Ops:      policy.ReadOps,
		Decision: policy.Allow,
	}, policy.BuiltinRule{
		Name:     "builtin:approval-write",
		Paths:    everything,
		Ops:      policy.WriteOps | policy.CreateOps,
		Decision: decisions[z.Write],
		Message:  approvalMessages[z.Write],
	}, policy.BuiltinRule{
		Name:     "builtin:approval-delete",
		Paths:    everything,
		Ops:      policy.DeleteOps,
		Decision: decisions[z.Delete],
		Message:  approvalMessages[z.Delete],
	})
}

var approvalMessages = map[Approval]string{
	ApprovalAsk:     "needs approval here",
	ApprovalBlocked: "is blocked here",
}

// DelegateZones returns the zones of a child that declares child under a parent
// that has parent: those that both name, at the parent's path, with the stricter
// approvals of both. A child that declares nothing has no zone, and so no file.
// Errors: *EscalationError where the child wants to write what the parent can
// only read; and those of ZoneMount.
func DelegateZones(parent, child []Zone) ([]Zone, error) {
	var given []Zone
	for _, want := range child {
		want, err := want.normal()
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(parent, func(z Zone) bool { return z.Name == want.Name })
		if i < 0 {
			continue
		}
		has, err := parent[i].normal()
		if err != nil {
			return nil, err
		}
		if want.Mode == ModeRW && has.Mode == ModeRO {
			return nil, zoneEscalation(want)
		}
		want.Path = has.Path
		want.Write = stricterApproval(has.Write, want.Write)
		want.Delete = stricterApproval(has.Delete, want.Delete)
		given = append(given, want)
	}
	return given, nil
}

func stricterApproval(a, b Approval) Approval {
	if decisions[b].Stricter(decisions[a]) {
		return b
	}
	return a
}

// normal checks z and replaces what is empty by its meaning.
func (z Zone) normal() (Zone, error) {
	z.Mode = cmp.Or(z.Mode, ModeRO)
	z.Write = cmp.Or(z.Write, ApprovalAsk)
	z.Delete = cmp.Or(z.Delete, ApprovalAsk)
	if p, err := vpath.Parse("/" + z.Name); err != nil || p.Base() != z.Name {
		return z, fmt.Errorf("zone %q: the name must be one component of a path", z.Name)
	}
	if z.Mode != ModeRO && z.Mode != ModeRW {
		return z, fmt.Errorf("zone %q: mode %q, want ro or rw", z.Name, z.Mode)
	}
	for _, a := range []Approval{z.Write, z.Delete} {
		if _, known := decisions[a]; !known {
			return z, fmt.Errorf("zone %q: approval %q, want preApproved, ask or blocked", z.Name, a)
		}
	}
	return z, nil
}
