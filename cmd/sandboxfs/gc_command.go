package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs/bazil"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/runner"
)

// garbage is something that a dead daemon left.
type garbage struct {
	Kind   string `json:"kind"` // mount, record, directory, container or network
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

func (a *app) gcCommand() *cobra.Command {
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove what dead daemons left: mounts, containers, networks, directories",
		Args:  wants(),
		RunE: func(*cobra.Command, []string) error {
			c := newCollection(dryRun)
			c.collect()
			err := errors.Join(c.errs...)
			if asJSON {
				return errors.Join(a.printJSON(map[string]any{"dry_run": dryRun, "removed": append([]garbage{}, c.found...)}), err)
			}
			verb := "removed"
			if dryRun {
				verb = "would remove"
			}
			for _, g := range c.found {
				fmt.Fprintf(a.out, "%s %s %s: %s\n", verb, g.Kind, oneLine(g.Name), g.Reason)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// collection is one run of gc. It goes on after an error.
type collection struct {
	dryRun bool
	list   []*record
	listed bool // of the mounts, only those of the list
	within time.Duration
	found  []garbage
	errs   []error
}

// newCollection is that of everything that this user's daemons may have left.
func newCollection(dryRun bool) *collection {
	return &collection{list: records(runtimeDirs()...), dryRun: dryRun, within: time.Minute}
}

// clearDead removes what dead daemons have left that kept their records where
// this one is about to, if there are any, and says so. What does not go is no
// reason not to start.
func (a *app) clearDead() {
	dir, err := runtimeDir()
	if err != nil {
		return // who needs one will say so
	}
	list := records(dir)
	if !slices.ContainsFunc(list, func(r *record) bool { return r.dead }) {
		return
	}
	c := &collection{list: list, listed: true, within: 10 * time.Second}
	c.collect()
	for _, g := range c.found {
		a.complain("cleared %s %s: %s", g.Kind, g.Name, g.Reason)
	}
	if err := errors.Join(c.errs...); err != nil {
		a.complain("what a dead daemon left is not all cleared: %v", err)
	}
}

// collect looks for mounts first: a directory goes when nothing is on it. The
// record of a view whose containers could not be removed stays.
func (c *collection) collect() {
	c.mounts()
	engines := map[string]bool{"": true} // by socket: whether it is done with
	for _, r := range c.list {
		if socket, _, ok := r.container(); ok {
			engines[socket] = true
		}
	}
	for socket := range engines {
		engines[socket] = c.containers(socket)
	}
	for _, r := range c.list {
		if !r.dead {
			continue
		}
		if socket, _, ok := r.container(); ok && !engines[socket] {
			c.errs = append(c.errs, fmt.Errorf("record %s stays, because a container of its view may be left, and no engine answers; start it and try again", r.file))
			continue
		}
		c.record(r)
	}
}

// remove notes what is found, and removes it unless this is a dry run.
func (c *collection) remove(g garbage, do func() error) {
	if !c.dryRun {
		if err := do(); err != nil {
			c.errs = append(c.errs, fmt.Errorf("%s %s: %w", g.Kind, g.Name, err))
			return
		}
	}
	c.found = append(c.found, g)
}

// mounts unmounts the views of daemons that have died, the topmost first: those
// of this user, and root those of all.
func (c *collection) mounts() {
	table, err := mountinfo.Read()
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	me := os.Geteuid()
	for _, m := range slices.Backward(table) {
		if m.Ours() && (me == 0 || m.UID == me) && (!c.listed || c.died(m.Point)) && m.Dead() {
			c.remove(garbage{"mount", m.Point, "its daemon has died"}, func() error { return unmountDead(m.Point) })
		}
	}
}

// unmountDead unmounts the view of a daemon that has died, also under somebody
// who is still in it.
func unmountDead(point string) error {
	err := bazil.Unmount(point, false)
	if errors.Is(err, unix.EBUSY) {
		err = bazil.Unmount(point, true)
	}
	if errors.Is(err, unix.EINVAL) { // somebody else was faster
		return nil
	}
	return err
}

// died reports whether the record of a dead daemon is of a view at point.
func (c *collection) died(point string) bool {
	return slices.ContainsFunc(c.list, func(r *record) bool { return r.dead && r.Mountpoint == point })
}

// record removes what a dead daemon wrote, and the directory that it made.
func (c *collection) record(r *record) {
	if r.Private {
		if _, err := os.Lstat(r.Mountpoint); err == nil || c.dryRun {
			c.found = append(c.found, garbage{"directory", r.Mountpoint, "it was the mountpoint of a dead daemon"})
		}
	}
	c.remove(garbage{"record", r.file, "its daemon has died"}, r.remove)
}

// containers removes what is on the engine behind socket and belongs to no live
// view. It reports whether the engine answered: where none is, nothing is left.
func (c *collection) containers(socket string) (answered bool) {
	docker, err := collector(socket)
	if err != nil {
		c.errs = append(c.errs, err)
		return false
	}
	defer docker.Close()
	ctx, cancel := context.WithTimeout(context.Background(), c.within)
	defer cancel()
	swept, err := docker.Collect(ctx, lives, c.dryRun)
	if err != nil && !errors.Is(err, runner.ErrEngine) {
		c.errs = append(c.errs, err)
	}
	for _, s := range swept {
		c.found = append(c.found, garbage{s.Kind, s.Name, s.Reason})
	}
	return err == nil
}

// lives reports whether the view of a container's session is being served. The
// record is looked for where the maker of the container keeps his, which may be
// in no directory that this process would look into.
func lives(session, stateDir string) bool {
	id := recordID(session)
	if id != filepath.Base(id) {
		return false
	}
	r := readRecord(filepath.Join(stateDir, id+".json"))
	return r != nil && !r.dead
}

// collector returns a runner that removes containers of this user's commands.
func collector(socket string) (*runner.Docker, error) {
	s := runner.Settings{SocketPath: socket, Instance: dockerInstance()}
	s.StateDir, _ = filepath.EvalSymlinks(runtimeDirs()[0]) // where generated files are, if any
	return runner.New(s, slog.New(slog.DiscardHandler))
}
