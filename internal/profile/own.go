package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// own is what a view must not let anybody change: the files that it is made of.
// All are host paths.
type own struct {
	hidden []string // with everything below
	pinned []string // names that the files are found by: links, sources

	known map[overlay.FileID]*policy.Rule // of those that are there, under whatever name
}

// selfRule is the name of the rules that protect a view's own files.
const selfRule = "builtin:self"

// collectOwn collects the profile, its policies, the sources, other views, and files.
func (b *builder) collectOwn(files []string) own {
	var o own
	p := b.profile
	if p.File != "" {
		o.hide(p.File)
	}
	for _, f := range files {
		o.hide(f)
	}
	for i, dir := range p.PolicyDirs {
		at := o.hide(dir)
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				o.hide(filepath.Join(dir, e.Name()))
			}
		}
		b.warnHidden(at, p.policyAt[i])
	}
	o.known = o.identify()
	for _, m := range p.Mounts {
		o.pinned = append(append(o.pinned, m.Source), m.links...)
	}
	views, err := p.Views()
	if err != nil && !errors.Is(err, unix.ENOENT) { // without a /proc nothing is mounted either
		b.problems.Add(strictyaml.Pos{File: p.File}, "%v", err)
	}
	o.hidden = append(o.hidden, views...)
	return o
}

// Views returns the host paths below a source where a view is mounted now. They
// are hidden: to walk into one could make the daemon wait for itself.
func (p *Profile) Views() ([]string, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return nil, err
	}
	var views []string
	for _, m := range table {
		below := func(s Mount) bool { return m.Point != s.Source && mountinfo.Within(m.Point, s.Source) }
		if m.Ours() && slices.ContainsFunc(p.Mounts, below) {
			views = append(views, m.Point)
		}
	}
	return views, nil
}

// warnHidden speaks of the mounts that show nothing because their source lies in
// the directory of policies dir, which at names.
func (b *builder) warnHidden(dir string, at strictyaml.Pos) {
	for _, m := range b.profile.Mounts {
		if !mountinfo.Within(m.Source, dir) {
			continue
		}
		const text = "the directory of policies %s is hidden in the view, and the source of %s lies in it; keep policies in a directory of their own"
		if m.Target == vpath.Root {
			b.problems.Add(at, text, dir, m.Target)
		} else {
			b.warning(strictyaml.Problem{Pos: at, Message: fmt.Sprintf(text, dir, m.Target)})
		}
	}
}

// hide adds the file or directory that name leads to, and the links on the way.
// It returns the host path where it is, or would be if it were there.
func (o *own) hide(name string) string {
	at, links, err := mountinfo.Locate(name, nil)
	if errors.Is(err, unix.ENOENT) {
		at, links, err = mountinfo.Locate(filepath.Dir(name), nil)
		at = filepath.Join(at, filepath.Base(name))
	}
	if err != nil {
		at = filepath.Clean(name)
	}
	o.hidden = append(o.hidden, at)
	o.pinned = append(append(o.pinned, at), links...)
	return at
}

// The rules of the view's own files.
var (
	selfHidden = &policy.Rule{
		Name: selfRule, Ops: policy.AllOps, Decision: policy.Hide,
		Message: "the profile, its policies and the audit file are not part of the view",
	}
	selfPinned = &policy.Rule{
		Name: selfRule, Ops: policy.DeleteOps | policy.Write.Set(), Decision: policy.Deny,
		Message: "the view itself is found by this name",
	}
)

// identify returns the rules of the files that are there: the host can show them
// below a source under another path, by a bind mount or a hard link. Where one
// was replaced since, the reload that follows comes here again.
func (o *own) identify() map[overlay.FileID]*policy.Rule {
	rules := map[overlay.FileID]*policy.Rule{}
	set := func(name string, r *policy.Rule) {
		var st unix.Stat_t
		if unix.Lstat(name, &st) == nil {
			rules[overlay.FileID{Dev: st.Dev, Ino: st.Ino}] = r
		}
	}
	for _, name := range o.pinned {
		for ; len(name) > 1; name = filepath.Dir(name) {
			set(name, selfPinned)
		}
	}
	for _, name := range o.hidden {
		entries, _ := os.ReadDir(name) // none of what is no directory
		for _, e := range entries {
			set(filepath.Join(name, e.Name()), selfHidden)
		}
		set(name, selfHidden)
	}
	return rules
}

// policy returns the layer for m that hides what of o lies below its source,
// and keeps the names on the way from being replaced. It is nil where there is
// nothing.
func (o own) policy(m overlay.Mount) *policy.Policy {
	hide := policy.BuiltinRule{Name: selfRule, Ops: selfHidden.Ops, Decision: selfHidden.Decision, Message: selfHidden.Message}
	for _, host := range o.hidden {
		if mountinfo.Within(host, m.Source) {
			hide.Paths = append(hide.Paths, policy.Literal(string(show(m, host)))+"/**")
		}
	}
	pin := policy.BuiltinRule{Name: selfRule, Ops: selfPinned.Ops, Decision: selfPinned.Decision, Message: selfPinned.Message}
	seen := map[string]bool{m.Source: true}
	for _, host := range o.pinned {
		for ; mountinfo.Within(host, m.Source) && !seen[host]; host = filepath.Dir(host) {
			seen[host] = true
			pin.Paths = append(pin.Paths, policy.Literal(string(show(m, host))))
		}
	}
	rest := policy.BuiltinRule{Name: selfRule, Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Allow}
	switch {
	case hide.Paths != nil && pin.Paths != nil:
		return policy.Builtin("self", hide, pin, rest)
	case hide.Paths != nil:
		return policy.Builtin("self", hide, rest)
	case pin.Paths != nil:
		return policy.Builtin("self", pin, rest)
	}
	return nil
}

// show returns the virtual path of host, which lies within the source of m.
func show(m overlay.Mount, host string) vpath.Path {
	rel := strings.TrimPrefix(strings.TrimPrefix(host, m.Source), "/")
	return vpath.Path("/"+rel).Rebase(vpath.Root, m.Target)
}
