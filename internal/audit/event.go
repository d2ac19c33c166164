// Package audit keeps the trail of what a view refused, asked about, or was
// told to note. A Trail makes one Event of each decision of the gate and hands
// it to its sinks: a Log of JSON lines, the Console of a foreground mount, the
// Memory of a test.
package audit

import (
	"cmp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Event is one decision, in the words that a reader of the trail sees. Its
// fields hold the bytes as they were; what makes them safe to print and to
// store is done where they are printed and stored.
type Event struct {
	Time       time.Time
	Session    string
	Mount      vpath.Path
	Operation  string
	Path       vpath.Path
	To         vpath.Path // the new name of rename and link; else ""
	Decision   string
	Rule       string
	At         string // "policies/default.yaml:14", the place of the rule; "" for a built-in one
	Policy     string // "" for a built-in rule
	Errno      string // "EACCES"; "" when the operation went ahead
	Pid        uint32
	Uid        uint32
	Command    string // comm of the pid; "" when it could not be read
	Container  string // of the process: the first digits of its id; "" outside of one
	Exec       string // id of the run that the process belongs to; "" without
	Generation uint64
	Message    string // of the rule, or what it says of this very access
}

// Sink takes events. An error says that the event is not kept.
type Sink interface {
	Write(Event) error
}

// newEvent returns the event of a, without the session and where it came from. Files of
// policies below dir are named from there.
func newEvent(a fs.Access, dir string, now time.Time) Event {
	r := a.Verdict.Rule
	if r == nil {
		r = policy.DefaultDeny // the zero Verdict is a denial without a rule
	}
	return Event{
		Time:       now,
		Mount:      a.Mount,
		Operation:  a.Op.String(),
		Path:       a.Path,
		To:         a.To,
		Decision:   a.Verdict.Decision.String(),
		Rule:       r.Name,
		At:         r.Pos.Short(dir),
		Policy:     r.Policy,
		Errno:      unix.ErrnoName(a.Errno),
		Pid:        a.Pid,
		Uid:        a.Uid,
		Command:    command(a.Pid),
		Generation: a.Generation,
		Message:    cmp.Or(a.Detail, r.Message),
	}
}
