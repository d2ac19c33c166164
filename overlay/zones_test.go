package overlay

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

func zoneView(t *testing.T, zones ...Zone) *View {
	t.Helper()
	var mounts []Mount
	for _, z := range zones {
		m, err := ZoneMount(z)
		if err != nil {
			t.Fatalf("ZoneMount(%+v) = %v", z, err)
		}
		mounts = append(mounts, m)
	}
	return newView(t, mounts...)
}

func TestS2_03_ApprovalsAreApartFromTheMode(t *testing.T) {
	v := zoneView(t,
		Zone{Name: "input", Path: "/h/input", Mode: ModeRO, Write: ApprovalPre},
		Zone{Name: "drafts", Path: "/h/drafts", Mode: ModeRW, Write: ApprovalPre, Delete: ApprovalPre},
		Zone{Name: "final", Path: "/h/final", Mode: ModeRW, Delete: ApprovalBlocked},
		Zone{Name: "sealed", Path: "/h/sealed", Mode: ModeRW, Write: ApprovalBlocked},
		Zone{Name: "od{d}*", Path: "/h/odd", Mode: ModeRW},
	)
	for _, c := range []struct {
		p                         vpath.Path
		read, write, make, remove string
	}{
		{"/input/f", "allow", "deny", "deny", "deny"},
		{"/drafts/f", "allow", "allow", "allow", "allow"},
		{"/final/f", "allow", "ask", "ask", "deny"},
		{"/sealed/f", "allow", "deny", "deny", "ask"},
		{"/od{d}*/f", "allow", "ask", "ask", "ask"},
		{"/odd/f", "deny", "deny", "deny", "deny"},
	} {
		for _, check := range []struct {
			ops      policy.OpSet
			decision string
		}{
			{policy.ReadOps, c.read},
			{policy.WriteOps, c.write},
			{policy.CreateOps, c.make},
			{policy.DeleteOps, c.remove},
		} {
			for op := range policy.Op(policy.NumOps) {
				if got := v.Decide(c.p, op); check.ops.Has(op) && got.Decision.String() != check.decision {
					t.Errorf("Decide(%s, %s) = %s %s, want %s", c.p, op, got.Decision, got.Rule.Name, check.decision)
				}
			}
		}
	}
	want(t, v, policy.Write, "/input/f", "deny builtin:readonly-mount")
	want(t, v, policy.Write, "/final/f", "ask builtin:approval-write")
	want(t, v, policy.Rmdir, "/final/f", "deny builtin:approval-delete")
}

// TestS2_01_ZonesAreMounts also is S0-09: zones convert to mounts.
func TestS2_01_ZonesAreMounts(t *testing.T) {
	base := Layer{Kind: "base", Policy: rules("base", "deny read /data/secret", "allow * /**")}
	m, err := ZoneMount(Zone{Name: "data", Path: "/h/data"}, base)
	if err != nil {
		t.Fatal(err)
	}
	if m.Target != "/data" || m.Source != "/h/data" || !m.ReadOnly || !m.Zone || len(m.Layers) != 2 {
		t.Errorf("ZoneMount(data) = %+v, want a readonly mount of two layers at /data", m)
	}
	want(t, newView(t, m), policy.Read, "/data/secret", "deny deny read /data/secret")
}

func TestS2_05_NoZoneVocabularyReachesTheModel(t *testing.T) {
	for _, write := range []Approval{ApprovalPre, ApprovalAsk, ApprovalBlocked} {
		m, err := ZoneMount(Zone{Name: "data", Path: "/h/data", Mode: ModeRW, Write: write})
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range m.Layers[0].Policy.Rules {
			if text := m.Policy + rule.Name + rule.Message; strings.Contains(strings.ToLower(text), "zone") {
				t.Errorf("approval %s: rule %q of policy %q says %q", write, rule.Name, m.Policy, rule.Message)
			}
		}
	}
}

func TestS2_02_DefaultZones(t *testing.T) {
	v := zoneView(t, DefaultZones("/project/.sandbox")...)
	for p, host := range map[vpath.Path]string{"/cache/x.pdf": "/project/.sandbox/cache/x.pdf", "/workspace": "/project/.sandbox/workspace"} {
		if got, _ := v.HostPath(p); got != host {
			t.Errorf("HostPath(%s) = %q, want %q", p, got, host)
		}
		want(t, v, policy.Write, p, "ask builtin:approval-write")
	}
}

func TestZoneMountRefuses(t *testing.T) {
	for _, z := range []Zone{
		{Name: ""},
		{Name: "."},
		{Name: ".."},
		{Name: "a/b"},
		{Name: "/a"},
		{Name: "a/"},
		{Name: "a\x00"},
		{Name: "a", Mode: "wo"},
		{Name: "a", Write: "sometimes"},
		{Name: "a", Delete: "preapproved"},
	} {
		if m, err := ZoneMount(z); err == nil {
			t.Errorf("ZoneMount(%+v) = %+v, want an error", z, m)
		}
		if _, err := DelegateZones(nil, []Zone{z}); err == nil {
			t.Errorf("DelegateZones(nil, %+v): no error", z)
		}
	}
}

func TestDelegateZonesRefusesABrokenParent(t *testing.T) {
	parent := []Zone{{Name: "data", Mode: "wo"}}
	if got, err := DelegateZones(parent, []Zone{{Name: "data"}}); err == nil || !strings.Contains(err.Error(), `mode "wo"`) {
		t.Errorf("DelegateZones(%+v, data) = %+v, %v, want an error about the mode", parent, got, err)
	}
}

func TestS2_04_Delegation(t *testing.T) {
	rw := func(name string) Zone { return Zone{Name: name, Path: "/h/" + name, Mode: ModeRW} }
	normal := func(name string, mode Mode, write Approval) Zone {
		return Zone{Name: name, Path: "/h/" + name, Mode: mode, Write: write, Delete: ApprovalAsk}
	}
	lenient := Zone{Name: "data", Path: "/h/data", Mode: ModeRW, Write: ApprovalPre}
	for _, c := range []struct {
		name          string
		parent, child []Zone
		want          []Zone
		refused       vpath.Path
	}{
		{"only what it declares",
			[]Zone{rw("data"), rw("workspace"), rw("cache")}, []Zone{{Name: "data", Mode: ModeRW}},
			[]Zone{normal("data", ModeRW, ApprovalAsk)}, ""},
		{"less than the parent", []Zone{rw("data")}, []Zone{{Name: "data", Mode: ModeRO}},
			[]Zone{normal("data", ModeRO, ApprovalAsk)}, ""},
		{"more than the parent", []Zone{{Name: "data", Path: "/h/data", Mode: ModeRO}}, []Zone{{Name: "data", Mode: ModeRW}},
			nil, "/data"},
		{"what the parent does not have", []Zone{rw("data")}, []Zone{{Name: "cache", Mode: ModeRO}}, nil, ""},
		{"nothing", []Zone{rw("data"), rw("workspace")}, nil, nil, ""},
		{"a path of its own is not heard", []Zone{rw("data")}, []Zone{{Name: "data", Path: "/etc", Mode: ModeRO}},
			[]Zone{normal("data", ModeRO, ApprovalAsk)}, ""},
		{"parent's stricter approval", []Zone{rw("data")}, []Zone{lenient},
			[]Zone{normal("data", ModeRW, ApprovalAsk)}, ""},
		{"child's stricter approval", []Zone{lenient}, []Zone{{Name: "data", Mode: ModeRW, Write: ApprovalBlocked}},
			[]Zone{normal("data", ModeRW, ApprovalBlocked)}, ""},
		{"both lenient", []Zone{lenient}, []Zone{lenient}, []Zone{normal("data", ModeRW, ApprovalPre)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := DelegateZones(c.parent, c.child)
			var escalation *EscalationError
			if errors.As(err, &escalation) {
				if escalation.Mount != c.refused || !strings.Contains(err.Error(), `zone "data"`) {
					t.Errorf("DelegateZones() = %v, want an escalation over %q", err, c.refused)
				}
				return
			}
			if err != nil || c.refused != "" || !reflect.DeepEqual(got, c.want) {
				t.Errorf("DelegateZones() = %+v, %v, want %+v, escalation over %q", got, err, c.want, c.refused)
			}
		})
	}
}
