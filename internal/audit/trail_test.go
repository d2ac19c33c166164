package audit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestTrailRecord(t *testing.T) {
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	rule := &policy.Rule{Name: "no-dotenv", Policy: "default", Message: "no",
		Pos: strictyaml.Pos{File: "policies/default.yaml", Line: 14, Col: 5}}
	pid := uint32(os.Getpid())
	tests := []struct {
		access fs.Access
		want   Event
	}{
		{fs.Access{Mount: "/", Op: policy.Rename, Path: "/a", To: "/b", Verdict: policy.Verdict{Decision: policy.Deny, Rule: rule},
			Errno: syscall.EACCES, Pid: pid, Uid: 7, Generation: 3},
			Event{Session: "s", Mount: "/", Operation: "rename", Path: "/a", To: "/b", Decision: "deny", Rule: "no-dotenv",
				At: "policies/default.yaml:14", Policy: "default", Errno: "EACCES", Pid: pid, Uid: 7,
				Command: strings.TrimSpace(string(comm)), Generation: 3, Message: "no"}},
		{fs.Access{Op: policy.Write, Path: "/a", Verdict: policy.Verdict{Decision: policy.Audit, Rule: rule}},
			Event{Session: "s", Operation: "write", Path: "/a", Decision: "audit", Rule: "no-dotenv",
				At: "policies/default.yaml:14", Policy: "default", Message: "no"}},
		{fs.Access{Op: policy.Write, Path: "/a", Verdict: policy.Verdict{Decision: policy.Audit, Rule: rule}, Detail: "not this one"},
			Event{Session: "s", Operation: "write", Path: "/a", Decision: "audit", Rule: "no-dotenv",
				At: "policies/default.yaml:14", Policy: "default", Message: "not this one"}},
		{fs.Access{Op: policy.Write, Path: "/a", Errno: syscall.EROFS},
			Event{Session: "s", Operation: "write", Path: "/a", Decision: "deny", Rule: "builtin:default-deny",
				Errno: "EROFS", Message: policy.DefaultDeny.Message}},
	}
	for _, tt := range tests {
		var m Memory
		before := time.Now()
		if err := NewTrail("s", "", &m).Record(tt.access); err != nil {
			t.Errorf("Record(%+v) = %v", tt.access, err)
			continue
		}
		got := m.Events()[0]
		if got.Time.Before(before) || got.Time.After(time.Now()) {
			t.Errorf("Record(%+v): time %v is not now", tt.access, got.Time)
		}
		got.Time = time.Time{}
		if got != tt.want {
			t.Errorf("Record(%+v) made\n%+v, want\n%+v", tt.access, got, tt.want)
		}
	}
}

type broken struct{}

func (broken) Write(Event) error { return errors.New("disk full") }

// A sink that fails does not keep the event from the others, and its error is
// the caller's: what happens then is for the gate to say.
func TestTrailErrors(t *testing.T) {
	var m Memory
	err := NewTrail("", "", broken{}, &m).Record(fs.Access{Op: policy.Read, Path: "/x"})
	if fmt.Sprint(err) != "disk full" {
		t.Errorf("Record() = %v, want disk full", err)
	}
	if n := len(m.Events()); n != 1 {
		t.Errorf("the second sink got %d events, want 1", n)
	}
}

func TestCommand(t *testing.T) {
	for _, pid := range []uint32{0, 1 << 30} {
		if got := command(pid); got != "" {
			t.Errorf("command(%d) = %q, want none", pid, got)
		}
	}
}
