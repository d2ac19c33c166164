package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// plan is what is known and checked before anything is opened or mounted.
type plan struct {
	built
	options    mountOptions
	profile    *profile.Profile
	began      time.Time // before the profile was read
	owner      *profile.Owner
	views      []string // other views below a source, hidden in this one
	mountpoint string   // host path, without symbolic links
	auditFile  string   // absolute host path; "" for none
	socket     string   // absolute host path; "" for none
}

// plan reads the profile and checks everything that can be checked beforehand.
func (o mountOptions) plan() (*plan, error) {
	p := &plan{options: o, began: time.Now()}
	var err error
	if p.auditFile, err = absolute(o.audit); err != nil {
		return nil, err
	}
	if p.socket, err = absolute(o.socket); err != nil {
		return nil, err
	}
	loaded, problems := profile.Find(o.profile, o.config)
	if loaded != nil {
		if p.views, err = loaded.Views(); err != nil {
			return nil, err
		}
	}
	if p.built, err = build(loaded, problems, p.files()...); err != nil {
		return nil, err
	}
	p.profile, p.owner = loaded, loaded.Owner
	if p.mountpoint, err = loaded.Mountpoint(o.mountpoint); err != nil {
		return nil, err
	}
	return p, p.checkFiles()
}

// checkFiles refuses a socket in the view, where whoever is to be watched could
// reach it, and files that the view would cover. An audit file in the view is
// hidden.
func (p *plan) checkFiles() error {
	if sameFile(p.auditFile, p.profile.File) {
		return fmt.Errorf("the audit file %s is the profile itself; choose another", p.auditFile)
	}
	for _, name := range []string{p.socket, p.auditFile} {
		if name != "" && mountinfo.Within(name, p.mountpoint) {
			return fmt.Errorf("%s would lie below the mountpoint %s, out of reach; choose another place", name, p.mountpoint)
		}
	}
	if p.socket == "" {
		return nil
	}
	if m, ok := p.profile.Holds(p.socket); ok {
		return fmt.Errorf("the socket %s would lie in the view, in the source of %s; choose a place outside", p.socket, m.Target)
	}
	return nil
}

// sameFile reports whether both names, on the host, are there and of one file.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// files are the daemon's files that the profile does not speak of.
func (p *plan) files() []string {
	var files []string
	if p.auditFile != "" {
		files = append(files, p.auditFile)
	}
	if dir, err := runtimeDir(); err == nil {
		files = append(files, dir)
	}
	return files
}

// built is the view of a profile, and what it was made from.
type built struct {
	view    *overlay.View
	remarks []profile.Remark
	library *policy.Library
}

// build makes the view of a profile, which was read with problems, under its
// policies as they are now. Its error is every problem there is.
func build(p *profile.Profile, problems strictyaml.Problems, files ...string) (built, error) {
	if p == nil {
		return built{}, problems.Err()
	}
	library, more := p.Library()
	view, remarks, most := p.Build(library, files...)
	return built{view, remarks, library}, slices.Concat(problems, more, most).Sorted().Err()
}

// absolute returns name as an absolute path, "" for "".
func absolute(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return filepath.Abs(name)
}

// summary is the line that says what is mounted.
func (p *plan) summary(metricsAddr string) string {
	var shows []string
	for _, m := range p.profile.Mounts {
		row := p.view.Resolve(m.Target).Mount
		words := fmt.Sprintf("%s at %s (policy %s", m.Source, m.Target, row.Policy)
		if row.ReadOnly {
			words += ", readonly"
		}
		shows = append(shows, words+")")
	}
	const most = 3
	if more := len(shows) - most; more > 0 {
		shows = append(shows[:most], fmt.Sprintf("%d more", more))
	}
	line := "shows " + strings.Join(shows, ", ")
	if p.profile.BasePolicy.Set() {
		line += "; base policy " + p.profile.BasePolicy.V
	}
	var guards []string
	for _, g := range p.profile.Guards {
		guards = append(guards, g.V)
	}
	if guards == nil {
		guards = []string{"none"}
	}
	line += "; guards " + strings.Join(guards, ", ")
	if metricsAddr != "" {
		line += "; metrics http://" + metricsAddr + "/metrics"
	}
	return line + "; unmount with: sandboxfs umount " + p.mountpoint
}
