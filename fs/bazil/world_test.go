package bazil

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/policy"
)

// parsePolicy compiles a policy for the root mount. A rule is a line of words:
// name, decision, operations with commas between them, path.
func parsePolicy(t *testing.T, rules []string) *policy.Policy {
	t.Helper()
	var text strings.Builder
	text.WriteString("version: 1\nfile_rules:\n")
	for _, r := range rules {
		f := strings.Fields(r)
		operations := strings.ReplaceAll(f[2], ",", `", "`)
		fmt.Fprintf(&text, "  - {name: %s, decision: %s, operations: [\"%s\"], paths: [%q]}\n", f[0], f[1], operations, f[3])
	}
	file, problems := policy.Parse("matrix.yaml", []byte(text.String()))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p, problems := file.Compile(policy.Vars{Mount: "/"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// snapshot describes a tree with all that a change would show in: of every name
// its inode with ctime, and the content and attributes.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		st.Atim = unix.Timespec{} // the snapshot itself reads
		text := fmt.Sprintf("%+v", st)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" content %q attributes %q", content, attributes(t, path))
		case unix.S_IFLNK:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " to " + target
		}
		tree[strings.TrimPrefix(path, dir)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// attributes returns the names and values of the extended attributes of a file.
func attributes(t *testing.T, path string) map[string]string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := unix.Listxattr(path, buf)
	check(t, err, nil, "listxattr")
	found := make(map[string]string)
	for name := range bytes.SplitSeq(buf[:n], []byte{0}) {
		if len(name) > 0 {
			value := make([]byte, 4096)
			n, err := unix.Getxattr(path, string(name), value)
			check(t, err, nil, "getxattr")
			found[string(name)] = string(value[:n])
		}
	}
	return found
}

// wantSame compares two snapshots.
func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, was := range before {
		if is, ok := after[name]; !ok {
			t.Errorf("the backing: %q is gone", name)
		} else if is != was {
			t.Errorf("the backing: %q was\n\t%s\nand is\n\t%s", name, was, is)
		}
	}
	for name, is := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("the backing: %q is new: %s", name, is)
		}
	}
}

// refusals returns the counters of decisions that refuse, by "decision mount
// operation".
func (w *view) refusals() map[string]float64 {
	found := w.counters("sandboxfs_decisions_total")
	maps.DeleteFunc(found, func(labels string, _ float64) bool {
		return !strings.HasPrefix(labels, "deny ") && !strings.HasPrefix(labels, "hide ")
	})
	return found
}

// eventually ends the test unless ok comes true within the two seconds that a
// reload may take, and some more for a busy machine.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within ten seconds", what)
		}
	}
}
