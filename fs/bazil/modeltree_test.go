package bazil

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// object is a file, a directory or a symbolic link of the model.
type object struct {
	kind    byte // 'f', 'd', 'l'
	mode    uint32
	content string // the target of a link
	xattr   string // of user.x; "" for none

	// last is the path of a file that has no name any more.
	last string

	// seen are the names by which the view has met the object, with the turn of
	// the policy that it was in: a name of an earlier one may be forgotten.
	seen map[string]int
}

// modelTree is a tree by its paths: "/" and what is below it.
type modelTree map[string]*object

func newModelTree() modelTree { return modelTree{"/": {kind: 'd', mode: 0o755}} }

// names returns the names in a directory.
func (m modelTree) names(dir string) []string {
	var names []string
	for p := range m {
		if p != "/" && path.Dir(p) == dir {
			names = append(names, path.Base(p))
		}
	}
	slices.Sort(names)
	return names
}

// below returns the paths below a directory, with what follows its own.
func (m modelTree) below(dir string) []string {
	var found []string
	for p := range m {
		if strings.HasPrefix(p, dir+"/") {
			found = append(found, p[len(dir):])
		}
	}
	slices.Sort(found)
	return found
}

// paths returns every name of an object, sorted.
func (m modelTree) paths(o *object) []string {
	var found []string
	for p, other := range m {
		if other == o {
			found = append(found, p)
		}
	}
	slices.Sort(found)
	return found
}

// remove takes a name away.
func (m modelTree) remove(p string) {
	o := m[p]
	delete(m, p)
	if delete(o.seen, p); len(m.paths(o)) == 0 {
		o.last = p
	}
}

// move gives a name, and what is below it, another one.
func (m modelTree) move(from, to string, turn int) {
	if m[to] != nil {
		m.remove(to)
	}
	for _, rest := range append(m.below(from), "") {
		o := m[from+rest]
		delete(m, from+rest)
		m[to+rest] = o
		if n, ok := o.seen[from+rest]; ok {
			delete(o.seen, from+rest)
			o.seen[to+rest] = n
		}
	}
	m[to].meet(to, turn)
}

// meet notes that the view has seen the object under a name.
func (o *object) meet(p string, turn int) {
	if o.seen == nil {
		o.seen = make(map[string]int)
	}
	o.seen[p] = turn
}

// describe says what stands under each name, as describeHost does.
func (m modelTree) describe() map[string]string {
	all := make(map[string]string)
	for p, o := range m {
		if p != "/" {
			links := ""
			if o.kind == 'f' {
				links = fmt.Sprint(len(m.paths(o)), " ", o.xattr)
			}
			all[p] = fmt.Sprintf("%c %o %q %s", o.kind, o.shownMode(), o.content, links)
		}
	}
	return all
}

func (o *object) shownMode() uint32 {
	if o.kind == 'l' {
		return 0o777
	}
	return o.mode
}

// describeHost says what stands under each name in a directory of the host.
func describeHost(dir string) (map[string]string, error) {
	all := make(map[string]string)
	var walk func(at string) error
	walk = func(at string) error {
		entries, err := os.ReadDir(dir + at)
		if err != nil {
			return err
		}
		for _, e := range entries {
			p := at + "/" + e.Name()
			if all[p], err = describeName(dir + p); err != nil {
				return err
			}
			if e.IsDir() {
				if err := walk(p); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return all, walk("")
}

func describeName(name string) (string, error) {
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		return "", err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return fmt.Sprintf("d %o %q ", st.Mode&07777, ""), nil
	case unix.S_IFLNK:
		target, err := os.Readlink(name)
		return fmt.Sprintf("l %o %q ", st.Mode&07777, target), err
	}
	content, err := os.ReadFile(name)
	value := make([]byte, 64)
	n, _ := unix.Getxattr(name, "user.x", value)
	return fmt.Sprintf("f %o %q %d %s", st.Mode&07777, content, st.Nlink, value[:max(n, 0)]), err
}

// diff says in what two descriptions differ.
func diff(got, want map[string]string) string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(got)) {
		if want[p] == "" {
			out = append(out, p+" is there: "+got[p])
		} else if got[p] != want[p] {
			out = append(out, p+" is "+got[p]+", want "+want[p])
		}
	}
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if got[p] == "" {
			out = append(out, p+" is not there: "+want[p])
		}
	}
	return strings.Join(out, "; ")
}

func TestModelDescribes(t *testing.T) {
	dir := tempDir(t)
	m := newModelTree()
	m["/d"] = &object{kind: 'd', mode: 0o755}
	m["/d/f"] = &object{kind: 'f', mode: 0o644, content: "text"}
	m["/g"] = m["/d/f"]
	m["/l"] = &object{kind: 'l', content: "d/f"}
	check(t, unix.Mkdir(dir+"/d", 0o755), nil, "mkdir")
	makeFile(t, dir+"/d/f", "text")
	check(t, unix.Chmod(dir+"/d/f", 0o644), nil, "chmod")
	check(t, unix.Link(dir+"/d/f", dir+"/g"), nil, "link")
	check(t, unix.Symlink("d/f", dir+"/l"), nil, "symlink")
	got, err := describeHost(dir)
	if d := diff(got, m.describe()); err != nil || d != "" {
		t.Errorf("the model and the host differ in what is alike: %s, %v", d, err)
	}
	m["/g"] = &object{kind: 'f', mode: 0o644, content: "text"}
	if diff(got, m.describe()) == "" {
		t.Error("two files are taken for one with two names")
	}
}

// forget notes that the view may not know the object any more: the kernel lets
// go of a name that it was refused, and the daemon of what the kernel has by no
// name. It goes by those that it meets from then on, and perhaps by the others.
func (o *object) forget() { clear(o.seen) }
