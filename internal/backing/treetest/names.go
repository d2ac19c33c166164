package treetest

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func everyByteInNames(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	var want []string
	for b := 1; b < 256; b++ {
		if b == '/' {
			continue
		}
		for _, name := range []string{string([]byte{byte(b)}), string([]byte{'x', byte(b), 'y'})} {
			if name == "." {
				continue
			}
			want = append(want, name)
			makeNode(t, root, name, unix.S_IFREG|0o600)
			if st := describeAt(t, root, name); st.Nlink != 1 {
				t.Errorf("StatAt(%q).Nlink = %d, want 1", name, st.Nlink)
			}
		}
	}
	slices.Sort(want)
	if got := sortedNames(t, root); !slices.Equal(got, want) {
		t.Errorf("ReadDir() = %q, want %q", got, want)
	}
	for _, name := range want {
		check(t, root.UnlinkAt(name), nil, "UnlinkAt(%q)", name)
	}
}

func longNames(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	longest := strings.Repeat("\xff", 255)
	makeFile(t, root, longest, "long")
	wantContent(t, openFile(t, root, longest, unix.O_RDONLY), "long")
	if got := sortedNames(t, root); !slices.Equal(got, []string{longest}) {
		t.Errorf("ReadDir() = %q, want %q", got, longest)
	}
	for call, err := range everyAt(t, root, strings.Repeat("n", 256)) {
		check(t, err, unix.ENAMETOOLONG, "%s of 256 bytes", call)
	}
}

// namesAreOneStep asserts that no operation on a name can be talked into a walk.
func namesAreOneStep(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	d := makeDir(t, root, "d")
	makeFile(t, d, "f", "")
	for _, c := range []struct {
		name string
		want error
	}{
		{"", unix.ENOENT}, {".", unix.EINVAL}, {"..", unix.EINVAL}, {"/", unix.EINVAL}, {"d/f", unix.EINVAL},
		{"/etc", unix.EINVAL}, {"../d", unix.EINVAL}, {"d/", unix.EINVAL}, {"d\x00", unix.EINVAL},
	} {
		for call, err := range everyAt(t, root, c.name) {
			check(t, err, c.want, "%s(%q)", call, c.name)
		}
	}
	if got := sortedNames(t, root); !slices.Equal(got, []string{"d", "from"}) {
		t.Errorf("ReadDir() = %q afterwards", got)
	}
}

// everyAt returns the error of each operation on a name in d. It makes a file
// "from" for those that need a second name.
func everyAt(t *testing.T, d backing.Dir, name string) map[string]error {
	t.Helper()
	if _, err := d.StatAt("from"); err != nil {
		makeNode(t, d, "from", unix.S_IFREG|0o600)
	}
	_, stat := d.StatAt(name)
	_, object := d.ObjectAt(name)
	_, open := d.OpenAt(name, unix.O_RDONLY)
	_, create := d.CreateAt(name, unix.O_RDWR, 0o600)
	_, dir := d.DirAt(name)
	_, readlink := d.ReadlinkAt(name)
	return map[string]error{
		"StatAt": stat, "ObjectAt": object, "OpenAt": open, "CreateAt": create, "DirAt": dir,
		"ReadlinkAt":    readlink,
		"MkdirAt":       d.MkdirAt(name, 0o700),
		"MknodAt":       d.MknodAt(name, unix.S_IFIFO|0o600),
		"SymlinkAt":     d.SymlinkAt("target", name),
		"UnlinkAt":      d.UnlinkAt(name),
		"RmdirAt":       d.RmdirAt(name),
		"RenameAt from": d.RenameAt(name, d, "other"),
		"RenameAt to":   d.RenameAt("from", d, name),
		"LinkTo":        openObject(t, d, "from").LinkTo(d, name),
	}
}

// sortedNames returns the names that ReadDir lists, sorted.
func sortedNames(t *testing.T, d backing.Dir) []string {
	t.Helper()
	list, err := d.ReadDir()
	check(t, err, nil, "ReadDir()")
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name
	}
	slices.Sort(names)
	return names
}
