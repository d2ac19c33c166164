package selftest

import (
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// order tells the agent what to try.
type order struct {
	Attempt    int
	Path, Free string // host paths
}

// outcome is what it came to, as the agent saw it.
type outcome struct {
	Got    []byte // what could be read
	Err    string
	Revoke bool // nothing yet: the agent waits until everything is forbidden
}

// Agent makes the attempts that come in, until r ends. It is the whole work of
// the process that plays the agent.
func Agent(r io.Reader, w io.Writer) error {
	in, out := json.NewDecoder(r), json.NewEncoder(w)
	made := 0
	unix.Umask(0)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		revoke := func() error {
			if err := out.Encode(outcome{Revoke: true}); err != nil {
				return err
			}
			return in.Decode(&order{})
		}
		if err := out.Encode(carryOut(o, &agent{path: o.Path, free: o.Free, made: &made, revoke: revoke})); err != nil {
			return err
		}
	}
}

func carryOut(o order, a *agent) outcome {
	err := attempts[o.Attempt].try(a)
	for i := len(a.undo) - 1; i >= 0; i-- {
		a.undo[i]()
	}
	result := outcome{Got: a.got}
	if err != nil {
		result.Err = err.Error()
	}
	return result
}

// link is the way to an agent.
type link struct {
	in         *json.Decoder
	out        *json.Encoder
	mountpoint string
	free       vpath.Path
	revoke     func() error
}

func (l *link) send(i int, path vpath.Path) (outcome, error) {
	host := func(p vpath.Path) string { return filepath.Join(l.mountpoint, string(p)) }
	var result outcome
	if err := l.out.Encode(order{i, host(path), host(l.free)}); err != nil {
		return result, err
	}
	err := l.in.Decode(&result)
	if err == nil && result.Revoke {
		if err = errors.Join(l.revoke(), l.out.Encode(order{})); err == nil {
			result = outcome{}
			err = l.in.Decode(&result)
		}
	}
	return result, err
}
