package audit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/fs"
)

// Trail is the fs.Recorder of one session.
type Trail struct {
	session string
	dir     string
	sinks   []Sink
	origins origins
}

var _ fs.Recorder = (*Trail)(nil)

// NewTrail returns a Trail that hands every event to every sink. The session's
// name may be empty. Policy files below dir, the directory of the profile, are
// named from there.
func NewTrail(session, dir string, sinks ...Sink) *Trail {
	return &Trail{session: session, dir: dir, sinks: sinks, origins: origins{proc: "/proc"}}
}

// Record makes one event of a. Each sink gets it, also when one before failed;
// the error joins those of the sinks.
func (t *Trail) Record(a fs.Access) error {
	e := newEvent(a, t.dir, time.Now())
	e.Session = t.session
	from := t.origins.of(a.Pid)
	e.Container, e.Exec = from.container, from.exec
	var errs []error
	for _, s := range t.sinks {
		errs = append(errs, s.Write(e))
	}
	return errors.Join(errs...)
}

// command returns the comm of a process, or "" for one that cannot be seen or
// is gone. Nothing is remembered: a pid can belong to another process the next
// moment, and exec changes the name under the same one.
func command(pid uint32) string {
	if pid == 0 {
		return ""
	}
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(comm), "\n")
}
