package selftest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Row is what became of one kind of attempt.
type Row struct {
	ID      string   `json:"id"` // of the requirement: X-01
	Attempt string   `json:"attempt"`
	Tried   int      `json:"tried"`
	Through []string `json:"through"`          // one line for each that got through
	Without string   `json:"reason,omitempty"` // why it was not tried at all
}

// Run makes every attempt on every target that it fits, through an agent that
// reads orders from w, answers at r and sees the view at mountpoint. It puts
// another view in force with swap, and this one again.
func (g *Ground) Run(mountpoint string, r io.Reader, w io.Writer, swap func(*overlay.View) error) ([]Row, error) {
	l := link{json.NewDecoder(r), json.NewEncoder(w), mountpoint, g.Free, func() error { return g.forbid(swap) }}
	var rows []Row
	for i := range attempts {
		a := &attempts[i]
		row := Row{ID: a.id, Attempt: a.name, Through: []string{}}
		if a.free && g.Free == "" {
			row.Without = "the profile has no directory where everything is allowed"
			rows = append(rows, row)
			continue
		}
		targets := g.Targets
		if a.aim == toKeep {
			targets = []*Target{{Path: g.Free, Exists: true}}
		}
		for _, t := range targets {
			if !g.fits(a, t) {
				continue
			}
			row.Tried++
			what, err := g.attempt(&l, i, t)
			if err != nil {
				return rows, fmt.Errorf("the process that plays the agent has ended in %q on %s: %w", a.name, t.Path, err)
			}
			if what != "" {
				t.broken = true
				row.Through = append(row.Through, fmt.Sprintf("%s: %s", t.Path, what))
			}
		}
		if a.aim == toKeep {
			if err := swap(g.View); err != nil {
				return rows, err
			}
		}
		if row.Tried == 0 {
			row.Without = "no rule of the profile refuses what it is after"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// attempt makes one attempt and says what has come of it, "" for nothing.
func (g *Ground) attempt(l *link, i int, t *Target) (string, error) {
	result, err := l.send(i, t.Path)
	if err != nil || attempts[i].aim != toTell {
		return g.judge(&attempts[i], t, result), err
	}
	if what := t.changed(false); what != "" {
		return what, nil
	}
	away := filepath.Join(filepath.Dir(t.source), "away")
	if err := os.Rename(t.source, away); err != nil {
		return "", err
	}
	without, err := l.send(i, t.Path)
	if _, gone := os.Lstat(t.source); gone == nil {
		return "it was made", err
	}
	if err := errors.Join(err, os.Rename(away, t.source)); err != nil {
		return "", err
	}
	if !bytes.Equal(result.Got, without.Got) {
		return fmt.Sprintf("it shows: %q with the file, %q without", result.Got, without.Got), nil
	}
	return t.changed(false), nil
}

// forbid puts a view in force that refuses everything.
func (g *Ground) forbid(swap func(*overlay.View) error) error {
	rows := slices.Clone(g.View.Mounts())
	nothing := policy.Builtin("revoked", policy.BuiltinRule{Name: "builtin:revoked", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Deny})
	for i := range rows {
		rows[i].Layers = []overlay.Layer{{Kind: "ceiling", Policy: nothing}}
	}
	view, err := overlay.New(rows)
	if err != nil {
		return err
	}
	return swap(view)
}

// judge says what an attempt on t has come to, "" for nothing.
func (g *Ground) judge(a *attempt, t *Target, o outcome) string {
	switch a.aim {
	case toKeep:
		return string(o.Got)
	case toRead:
		if bytes.Contains(o.Got, []byte(t.secret)) {
			return "its content was read"
		}
		return ""
	case toChange:
		return t.changed(a.moves)
	}
	for _, path := range []vpath.Path{t.Path, otherCase(t.Path)} {
		host, _ := g.View.HostPath(path)
		if _, err := os.Lstat(host); err == nil && g.View.Permitted(path)&policy.CreateOps == 0 {
			os.RemoveAll(host)
			return fmt.Sprintf("%s was made", path)
		}
	}
	return ""
}

func otherCase(p vpath.Path) vpath.Path {
	return p.Dir().Join(swapCase(p.Base()))
}

// changed compares the source of t with what it was made as.
func (t *Target) changed(moved bool) string {
	content, err := io.ReadAll(io.NewSectionReader(t.file, 0, 1<<20))
	if err != nil || string(content) != t.secret {
		return "its content was changed"
	}
	own, err := t.file.Stat()
	if err != nil || own.Mode().Perm() != t.mode {
		return "its mode was changed"
	}
	if there, err := os.Lstat(t.source); !moved && (err != nil || !os.SameFile(there, own)) {
		return "it was removed or replaced"
	}
	return ""
}
