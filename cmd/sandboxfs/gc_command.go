package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c := &collection{dryRun: dryRun}
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
				fmt.Fprintf(a.stdout, "%s %s %s: %s\n", verb, g.Kind, oneLine(g.Name), g.Reason)
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
	found  []garbage
	errs   []error
}

// collect looks for mounts first: a directory goes when nothing is on it.
func (c *collection) collect() {
	list := records()
	c.mounts()
	live := map[string]bool{}
	sockets := []string{""}
	for _, r := range list {
		if socket, err := os.ReadFile(r.containerMark()); err == nil {
			sockets = append(sockets, string(socket))
		}
		if !r.dead {
			live[r.ID] = true
		}
	}
	slices.Sort(sockets)
	for _, socket := range slices.Compact(sockets) {
		c.containers(socket, live)
	}
	for _, r := range list {
		if r.dead {
			c.record(r)
		}
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
		if m.Ours() && (me == 0 || m.UID == me) && m.Dead() {
			c.remove(garbage{"mount", m.Point, "its daemon has died"}, func() error {
				err := bazil.Unmount(m.Point, false)
				if errors.Is(err, unix.EBUSY) {
					err = bazil.Unmount(m.Point, true)
				}
				return err
			})
		}
	}
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
// view. Where no engine answers there is nothing to remove.
func (c *collection) containers(socket string, live map[string]bool) {
	docker, err := collector(socket)
	if err != nil {
		c.errs = append(c.errs, err)
		return
	}
	defer docker.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lives := func(session string) bool {
		id, _, _ := strings.Cut(session, "-") // a command of its own adds a word
		return live[id]
	}
	swept, err := docker.Collect(ctx, lives, c.dryRun)
	if err != nil && !errors.Is(err, runner.ErrEngine) {
		c.errs = append(c.errs, err)
	}
	for _, s := range swept {
		kind, name, _ := strings.Cut(s.Name, " ")
		c.found = append(c.found, garbage{kind, name, s.Reason})
	}
}

// collector returns a runner that removes containers of this user's commands.
func collector(socket string) (*runner.Docker, error) {
	s := runner.Settings{SocketPath: socket, Instance: dockerInstance()}
	if dirs := runtimeDirs(); len(dirs) > 0 {
		s.StateDir, _ = filepath.EvalSymlinks(dirs[0]) // where generated files are, if any
	}
	return runner.New(s, slog.New(slog.DiscardHandler))
}
