package overlay

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// CanRead reports whether p may be read without anybody being asked, or listed
// where it is a synthesised directory. Whether it exists is not asked.
func (v *View) CanRead(p vpath.Path) bool {
	if v.governing(p) == nil {
		return v.permits(p, policy.List)
	}
	return v.permits(p, policy.Open) && v.permits(p, policy.Read)
}

// CanWrite reports whether p may be opened and written without anybody being
// asked. That a new file may be made there is policy.Create, asked by Decide.
func (v *View) CanWrite(p vpath.Path) bool {
	return v.permits(p, policy.Open) && v.permits(p, policy.Write)
}

func (v *View) permits(p vpath.Path, op policy.Op) bool {
	return v.Decide(p, op).Decision.Permits()
}

// EffectiveMount is a row of the mount table in the form that is printed.
type EffectiveMount struct {
	Path     vpath.Path `json:"path"`
	Source   string     `json:"source"`
	Target   vpath.Path `json:"target"`
	ReadOnly bool       `json:"readonly"`
	Policy   string     `json:"policy"`
	System   bool       `json:"system,omitempty"`
	Layers   []string   `json:"layers"` // "kind name", in the order in which they are asked
}

// Effective returns the mount table as it holds, after restriction, for people
// and for the API. Path and Target are the same virtual path.
func (v *View) Effective() []EffectiveMount {
	rows := make([]EffectiveMount, len(v.mounts))
	for i, m := range v.mounts {
		layers := make([]string, len(m.Layers))
		for j, l := range m.Layers {
			layers[j] = l.Kind + " " + l.Policy.Name
		}
		rows[i] = EffectiveMount{m.Target, m.Source, m.Target, m.ReadOnly, m.Policy, m.System, layers}
	}
	return rows
}
