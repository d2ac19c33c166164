package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/runner"
)

// dockerJob is a runner of containers for one profile.
type dockerJob struct {
	*runner.Docker
	app   *app
	image string
	asked string // the image that the command line names, if it does
	named bool   // somebody named the image
	user  string // "uid:gid"
	block *profile.Docker

	rooted bool // SANDBOX_ROOT or the config's key for it is set

	socket string  // of the engine; "" for the default one
	record *record // of the view
	shared bool    // the view's container is used, and not one for the command alone
}

// newDockerJob returns the runner for commands on the view of r; nil stands for
// one that will not make a container.
func newDockerJob(a *app, p *profile.Profile, o jobOptions, r *record) (*dockerJob, error) {
	s, named := dockerSettings(o.docker, o.image, o.paths)
	if r != nil {
		s.StateDir = filepath.Dir(r.file) // where gc looks for what lives
	}
	s.Count = o.count
	var err error
	d := &dockerJob{
		app: a, record: r, image: s.Reference(), asked: o.image, named: named, rooted: o.paths.Root != "", user: runner.DefaultUser, block: o.docker, socket: s.SocketPath,
	}
	if p.Owner != nil {
		d.user = fmt.Sprintf("%d:%d", p.Owner.UID, p.Owner.GID)
	}
	d.Docker, err = runner.New(s, a.warnings())
	return d, err
}

// dockerSettings are the settings that a block means, stricter than
// its defaults where it says nothing: the root file system is read-only. They
// say whether the profile or the command line named an image.
func dockerSettings(d *profile.Docker, image string, paths runner.HostPaths) (s runner.Settings, named bool) {
	s = runner.Settings{
		Image: image, ReadOnly: true, Instance: dockerInstance(), HostPaths: paths,
	}
	if d != nil {
		s.SocketPath, s.Runtime = d.SocketPath.V, d.Runtime.V
		s.UnconfinedSecurity = d.UnconfinedSecurity.V
		s.CapAdd, s.CapDrop = texts(d.CapAdd), texts(d.CapDrop)
		s.IsolatedDNS, s.LocalDNS = texts(d.IsolatedDNSServers), texts(d.LocalDNSServers)
		if d.ReadOnly.Set() {
			s.ReadOnly = d.ReadOnly.V
		}
		if image == "" {
			s.Image, s.Tag = d.Image.V, d.Tag.V
		}
	}
	return s, s.Image != ""
}

// allowsLocal reports whether the block lets containers of user reach what the
// host reaches.
func allowsLocal(d *profile.Docker, user string) bool {
	return d != nil && (d.LocalNetworking.V || slices.Contains(texts(d.LocalNetworkingForUsers), user))
}

// userName is the login name of this process's user, or the number of one that
// has no name.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Geteuid())
}

// texts returns the plain words of list; one that is not set stays nil, which
// differs from an empty one.
func texts(list []strictyaml.String) []string {
	if list == nil {
		return nil
	}
	words := []string{}
	for _, s := range list {
		words = append(words, s.V)
	}
	return words
}

// dockerInstance keeps the containers of users apart who share an engine.
func dockerInstance() string { return fmt.Sprintf("run-%d", os.Geteuid()) }

// usable says why containers cannot be used. Nobody has asked for one unless
// wanted is set, the profile has docker.enabled, or an image is named.
func (d *dockerJob) usable(wanted bool) error {
	wanted = wanted || d.block.Wanted()
	if !wanted && d.block.Unwanted() {
		return errors.New("docker.enabled is false in the profile or the config; --backend docker runs it in a container all the same")
	}
	if !wanted && !d.named {
		return errors.New("no image is named")
	}
	if os.Geteuid() != 0 && !userAllowOther(fuseConf) {
		return fmt.Errorf("a container does not see the view of an ordinary user unless %s has user_allow_other; echo user_allow_other >> %s", fuseConf, fuseConf)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := d.Ping(ctx); err != nil {
		return err
	}
	return d.Check(ctx)
}

// run runs cmd in the container of the view, or in one of its own.
func (d *dockerJob) run(ctx context.Context, spec runner.Spec, cmd runner.Cmd) (runner.Result, error) {
	// Before there is a container, so that whoever unmounts or clears up knows.
	_, before, _ := d.record.container()
	if err := d.record.noteContainer(d.socket, before); err != nil {
		return runner.Result{}, err
	}
	paths, err := d.FindHostPaths(ctx)
	if err != nil {
		return runner.Result{}, err
	}
	if d.rooted {
		d.app.complain("sandbox root %s is %s on the engine's host", paths.Root, paths.HostRoot)
	}
	if d.shared {
		return d.inSession(ctx, spec, cmd)
	}
	return d.Docker.Run(ctx, spec, cmd)
}

// inSession runs cmd in the container that belongs to the view of d.record.
func (d *dockerJob) inSession(ctx context.Context, spec runner.Spec, cmd runner.Cmd) (runner.Result, error) {
	c, stale, err := d.Ensure(ctx, spec)
	if stale != "" {
		d.app.complain("the container is made anew: %s", stale)
	}
	if err != nil {
		return runner.Result{}, err
	}
	for _, note := range c.Notes {
		d.app.complain("%s", note)
	}
	if err := d.record.noteContainer(d.socket, d.asked); err != nil {
		return runner.Result{}, err
	}
	return d.Exec(ctx, c, cmd)
}

func (d *dockerJob) close() {
	if d != nil && d.Docker != nil {
		d.Docker.Close()
	}
}
