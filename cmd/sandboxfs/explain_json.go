package main

import (
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// explanation is what explain prints as JSON.
type explanation struct {
	Path      vpath.Path     `json:"path"`
	Host      string         `json:"host,omitempty"`
	Sandbox   string         `json:"sandbox,omitempty"`
	Operation string         `json:"operation"`
	Allowed   bool           `json:"allowed"`
	Decision  string         `json:"decision"`
	Rule      string         `json:"rule"`
	At        string         `json:"at"`
	Policy    string         `json:"policy"`
	Message   string         `json:"message"`
	Cure      string         `json:"cure,omitempty"`
	Content   string         `json:"content,omitempty"` // the rule that goes by what is written
	Mount     *vpath.Path    `json:"mount"`             // null where none governs the path
	Layers    []layerOutcome `json:"layers"`
}

// layerOutcome is what one policy says of one name of the path.
type layerOutcome struct {
	Path     vpath.Path    `json:"path"`
	Mount    vpath.Path    `json:"mount"`
	Kind     string        `json:"kind"`
	Policy   string        `json:"policy"`
	Decision string        `json:"decision"`
	Decides  bool          `json:"decides"`
	Rules    []ruleOutcome `json:"rules"`
}

type ruleOutcome struct {
	Rule     string `json:"rule"`
	At       string `json:"at"`
	Decision string `json:"decision"`
	Outcome  string `json:"outcome"`
	Decides  bool   `json:"decides"`
}

func explanationJSON(e explained) explanation {
	rule := e.Verdict.Rule
	out := explanation{
		Path: e.Place.Path, Host: e.host, Sandbox: e.sandbox, Operation: e.Op.String(),
		Allowed: e.Verdict.Decision.Permits(), Decision: e.Verdict.Decision.String(),
		Rule: rule.Name, At: rule.Pos.Short(e.dir), Policy: rule.Policy, Message: rule.Message,
		Layers: []layerOutcome{},
	}
	if !out.Allowed {
		out.Cure = cure(e)
	}
	if rule := e.content(); rule != nil {
		out.Content = rule.Name
	}
	if m := e.Place.Mount; m != nil {
		out.Mount = &m.Target
	}
	for _, n := range e.Names {
		for _, l := range n.Layers {
			out.Layers = append(out.Layers, e.layerJSON(n, l))
		}
	}
	return out
}

func (e explained) layerJSON(n overlay.Name, l overlay.LayerSteps) layerOutcome {
	out := layerOutcome{
		Path: n.Path, Mount: n.Mount.Target, Kind: l.Kind, Policy: l.Policy.Name,
		Decision: l.Verdict.Decision.String(), Decides: l.Decides,
	}
	for _, s := range l.Steps {
		out.Rules = append(out.Rules, ruleOutcome{
			Rule: s.Rule.Name, At: s.Rule.Pos.Short(e.dir), Decision: stepDecision(s).String(),
			Outcome: s.Outcome(), Decides: s.Decides,
		})
	}
	return out
}
