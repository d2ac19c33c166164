package profile

import (
	"os"
	"slices"

	"github.com/sandboxfs/sandboxfs/configs"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
	"github.com/sandboxfs/sandboxfs/sysmounts"
)

// allowAll is the policy of a mount for which none is named, as with
// docker run -v. Guards and readonly hold all the same.
const allowAll = "allow-all"

// Remark is something legal that its author may not have meant.
type Remark struct {
	strictyaml.Problem
	Warning bool // else it is a note
}

// builder is the state of one Build.
type builder struct {
	profile *Profile
	library *policy.Library
	own     own

	remarks  []Remark
	problems strictyaml.Problems
}

// Library reads the policies that the profile can name: the built-in ones and
// those of its directories, as they are now.
func (p *Profile) Library() (*policy.Library, strictyaml.Problems) {
	return policy.LoadLibrary(p.PolicyDirs, configs.Policies)
}

// Build makes the view that the profile describes, under the policies of
// library. Files are further files of the daemon, such as the audit file: like
// the profile and the policies they are hidden in the view. The mounts of two
// views of one profile are the same ones in the same order, so that one can
// take the place of the other. The view is nil if there is a problem, also one
// that kept every mount out of the profile.
func (p *Profile) Build(library *policy.Library, files ...string) (*overlay.View, []Remark, strictyaml.Problems) {
	b := builder{profile: p, library: library}
	b.names()
	b.own = b.collectOwn(files)
	var mounts []overlay.Mount
	for _, m := range p.Mounts {
		mounts = append(mounts, b.mount(m))
	}
	for _, m := range p.system {
		m.Layers = append(b.layer("mount", sysmounts.PolicyName, m.Target), b.common(m)...)
		mounts = append(mounts, m)
	}
	if len(b.problems) > 0 || len(p.Mounts) == 0 {
		return nil, b.remarks, slices.Compact(b.problems.Sorted())
	}
	view, err := overlay.New(mounts)
	if err != nil {
		b.problems.Add(strictyaml.Pos{File: p.File}, "%v", err)
		return nil, b.remarks, b.problems
	}
	b.note(view)
	return view.WithOwn(b.own.known), b.remarks, nil
}

// mount returns the row of m with all of its layers.
func (b *builder) mount(m Mount) overlay.Mount {
	row := overlay.Mount{Target: m.Target, Source: m.Source, ReadOnly: m.ReadOnly, Kind: m.Kind, Policy: m.Policy.V}
	var first []overlay.Layer
	switch {
	case m.Zone != nil:
		zone, err := overlay.ZoneMount(*m.Zone)
		if err != nil {
			b.problems.Add(m.Pos, "%v", err)
			return row
		}
		row, first = zone, zone.Layers
		row.Kind = m.Kind
	case m.Policy.Set():
		first = b.layer("mount", m.Policy.V, m.Target)
	case !b.profile.BasePolicy.Set():
		row.Policy = allowAll
		first = b.layer("mount", allowAll, m.Target)
		b.remark(m.Pos, "mount "+string(m.Target)+" has no policy: everything is allowed there but what guards and readonly forbid")
	default:
		row.Policy = b.profile.BasePolicy.V
	}
	row.Layers = append(first, b.common(row)...)
	return row
}

// common returns the layers that every mount has: base, guards, self.
func (b *builder) common(m overlay.Mount) []overlay.Layer {
	var layers []overlay.Layer
	if b.profile.BasePolicy.Set() {
		layers = b.layer("base", b.profile.BasePolicy.V, m.Target)
	}
	for _, pack := range b.profile.Guards {
		layers = append(layers, b.compile("guard", configs.Guard(pack.V), m.Target)...)
	}
	if self := b.own.policy(m); self != nil {
		layers = append(layers, overlay.Layer{Kind: "self", Policy: self})
	}
	return layers
}

// names looks for the policies that the file names, those of mounts that could
// not be read too, and hands on what is to be said about them.
func (b *builder) names() {
	warned := map[string]bool{}
	for _, name := range b.profile.named {
		file, ok := b.library.File(name.V)
		switch {
		case !ok && !b.library.Broken(name.V):
			b.problems.Add(name.Pos, "there is no policy %q%s", name.V, b.suggest(name.V))
		case ok && !warned[name.V]:
			warned[name.V] = true
			for _, w := range file.Warnings() {
				b.warning(w)
			}
		}
	}
}

func (b *builder) suggest(name string) string {
	if near, ok := strictyaml.Nearest(name, b.library.Names()); ok {
		return " (did you mean " + near + "?)"
	}
	return "; name the directory that holds it in policies"
}

// layer returns the policy of that name as the only layer, or none where there
// is no such policy.
func (b *builder) layer(kind, name string, mount vpath.Path) []overlay.Layer {
	file, ok := b.library.File(name)
	if !ok {
		return nil
	}
	return b.compile(kind, file, mount)
}

func (b *builder) compile(kind string, file *policy.File, mount vpath.Path) []overlay.Layer {
	compiled, problems := file.Compile(policy.Vars{Mount: mount, Env: os.LookupEnv})
	b.problems = append(b.problems, problems...)
	if compiled == nil {
		return nil
	}
	return []overlay.Layer{{Kind: kind, Policy: compiled}}
}

// note adds what is to be said about the mount table.
func (b *builder) note(view *overlay.View) {
	at := map[vpath.Path]strictyaml.Pos{}
	for _, m := range b.profile.Mounts {
		at[m.Target] = m.Pos
	}
	for _, n := range view.Notes() {
		pos, ok := at[n.Mount]
		if !ok {
			pos.File = b.profile.File
		}
		b.remark(pos, n.String())
	}
}

func (b *builder) remark(pos strictyaml.Pos, message string) {
	b.remarks = append(b.remarks, Remark{Problem: strictyaml.Problem{Pos: pos, Message: message}})
}

func (b *builder) warning(p strictyaml.Problem) {
	b.remarks = append(b.remarks, Remark{Problem: p, Warning: true})
}
