// Package selftest tries the known ways round a rule on a view that was made
// for it: the mounts and policies of a profile over sources of their own, with
// a file wherever a rule speaks of one. The attempts are made by another
// process, as those of an agent would be; what they came to is judged on the
// sources, not by what that process says.
package selftest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Ground is where a self-test takes place: a view over sources below a
// directory of its own, and the paths in it that something is refused to.
type Ground struct {
	View    *overlay.View
	Targets []*Target
	Free    vpath.Path // a directory where everything is allowed; "" if there is none
	Skipped int        // globs that no path could be made of, and paths that are no files here
}

// Target is a path of the view that something is refused to.
type Target struct {
	Path   vpath.Path
	Exists bool

	allowed policy.OpSet
	hidden  bool
	source  string   // host path
	secret  string   // its content
	file    *os.File // the source's, where it exists
	mode    os.FileMode
	broken  bool // nothing can be shown with it, any more
}

// Prepare makes the ground of a view below the empty directory dir.
func Prepare(view *overlay.View, dir string) (*Ground, error) {
	g := &Ground{}
	var err error
	if g.View, err = rehearsal(view, dir); err != nil {
		return nil, err
	}
	for _, m := range g.View.Mounts() {
		if err := makeSource(m); err != nil {
			return nil, err
		}
	}
	if err := g.findFree(); err != nil {
		return nil, err
	}
	return g, g.populate()
}

// Close closes the files of the ground. Whoever made its directory removes it.
func (g *Ground) Close() {
	for _, t := range g.Targets {
		if t.file != nil {
			t.file.Close()
		}
	}
}

// rehearsal returns view with every source below dir, as far apart as they are.
// System mounts and what protects the real files of the view stay behind.
func rehearsal(view *overlay.View, dir string) (*overlay.View, error) {
	var rows []overlay.Mount
	for _, m := range view.Mounts() {
		if m.System {
			continue
		}
		row := overlay.Mount{
			Target: m.Target, Source: filepath.Join(dir, m.Source), Kind: m.Kind,
			ReadOnly: m.ReadOnly, Policy: m.Policy, Zone: m.Zone,
		}
		for _, l := range m.Layers {
			if l.Kind != "self" {
				row.Layers = append(row.Layers, l)
			}
		}
		rows = append(rows, row)
	}
	return overlay.New(rows)
}

func makeSource(m overlay.Mount) error {
	if m.Kind == overlay.KindDir {
		return makeDirs(m.Source)
	}
	if err := makeDirs(filepath.Dir(m.Source)); err != nil {
		return err
	}
	return os.WriteFile(m.Source, nil, 0o666)
}

// findFree makes a directory in the first mount where everything is allowed.
func (g *Ground) findFree() error {
	for _, m := range g.View.Mounts() {
		dir := m.Target.Join("selftest-own")
		if m.Kind == overlay.KindDir && g.View.Permitted(dir)&g.View.Permitted(dir.Join("file")) == policy.AllOps {
			g.Free = dir
			return makeDirs(filepath.Join(m.Source, "selftest-own"))
		}
	}
	return nil
}

// populate makes a target of every path that a rule speaks of and that
// something is refused to.
func (g *Ground) populate() error {
	seen := map[vpath.Path]bool{}
	for _, m := range g.View.Mounts() {
		for _, path := range g.paths(m) {
			if seen[path] || g.View.Permitted(path) == policy.AllOps {
				continue
			}
			seen[path] = true
			hidden := g.View.Explain(path, policy.Stat).Verdict.Decision == policy.Hide
			g.Targets = append(g.Targets, &Target{Path: path, allowed: g.View.Permitted(path), hidden: hidden})
		}
	}
	slices.SortFunc(g.Targets, func(a, b *Target) int { return strings.Compare(string(a.Path), string(b.Path)) })
	for i, t := range g.Targets {
		host, _ := g.View.HostPath(t.Path)
		t.source = host
		if slices.ContainsFunc(g.Targets, func(o *Target) bool { return o != t && o.Path.Within(t.Path) }) {
			t.broken = true // a directory
		} else if strings.Contains(string(t.Path), absentWord) {
			t.broken = makeDirs(filepath.Dir(t.source)) != nil
		} else {
			t.broken = t.make(i) != nil
		}
		if t.broken {
			g.Skipped++
		}
	}
	return nil
}

// paths are the paths of m that its rules speak of, each with a wildcard
// replaced by a name that will be there and by one that will not.
func (g *Ground) paths(m overlay.Mount) []vpath.Path {
	var list []vpath.Path
	for _, l := range m.Layers {
		for _, r := range l.Policy.Rules {
			for _, glob := range r.Paths {
				for _, word := range []string{presentWord, absentWord} {
					p, ok := sample(glob, word)
					if !ok {
						g.Skipped++
					} else if p, ok = place(p, m); ok {
						list = append(list, p)
					}
				}
			}
		}
	}
	return list
}

// place returns p where m governs it: a path that begins with a wildcard is
// tried below the target.
func place(p vpath.Path, m overlay.Mount) (vpath.Path, bool) {
	if m.Kind != overlay.KindDir {
		return m.Target, true
	}
	if !p.Within(m.Target) {
		first, rest, _ := strings.Cut(strings.TrimPrefix(string(p), "/"), "/")
		if first != presentWord && first != absentWord || rest == "" {
			return "", false
		}
		p = m.Target.Join(first + "/" + rest)
	}
	return p, p != m.Target
}

// make makes the file of a target with content that is nobody else's.
func (t *Target) make(number int) error {
	t.secret = fmt.Sprintf("secret number %d of %s\n", number, t.Path)
	if err := makeDirs(filepath.Dir(t.source)); err != nil {
		return err
	}
	if err := os.WriteFile(t.source, []byte(t.secret), 0o666); err != nil {
		return err
	}
	if err := os.Chmod(t.source, 0o666); err != nil {
		return err
	}
	var err error
	if t.file, err = os.Open(t.source); err != nil {
		return err
	}
	t.Exists, t.mode = true, 0o666
	return nil
}

// makeDirs makes what is missing of a path, for everybody to write to: only the
// policies are to stand in the way.
func makeDirs(dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if err := makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777)
}
