package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// world is a directory of its own for one test: what is mounted, profiles,
// policies, mountpoints. Its names are relative to Dir.
type world struct {
	t   *testing.T
	Dir string
}

// newWorld makes a world with an empty directory "root", and removes it after
// the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp(tempRoot, strings.ReplaceAll(t.Name(), "/", "-")+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { discard(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &world{t, dir}
	w.mkdir("root")
	return w
}

// path returns the host path of name.
func (w *world) path(name string) string { return filepath.Join(w.Dir, name) }

// mkdir makes a directory and its parents, and returns its host path.
func (w *world) mkdir(name string) string {
	w.t.Helper()
	if err := os.MkdirAll(w.path(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

// write makes a file with its parents, replacing what it held, and returns its
// host path.
func (w *world) write(name, text string) string {
	w.t.Helper()
	w.mkdir(filepath.Dir(name))
	if err := os.WriteFile(w.path(name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

// profile writes profile.yaml and returns its host path. "DIR" in the text
// stands for the world's directory.
func (w *world) profile(text string) string {
	w.t.Helper()
	return w.write("profile.yaml", "version: 1\n"+strings.ReplaceAll(text, "DIR", w.Dir))
}

// policy writes policies/NAME.yaml with the given rules, one flow mapping to a
// line. It replaces the file in one step, as a careful editor does.
func (w *world) policy(name string, rules ...string) {
	w.t.Helper()
	text := policyText(name, rules)
	next := w.write("policies/."+name+".next", text)
	if err := os.Rename(next, w.path("policies/"+name+".yaml")); err != nil {
		w.t.Fatal(err)
	}
}

// firstRule is the line of the first rule in a file of policyText.
const firstRule = 4

// policyText returns a policy file; rule i stands at line firstRule+i.
func policyText(name string, rules []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: %s\nfile_rules:\n", name)
	for _, r := range rules {
		fmt.Fprintf(&b, "  - {%s}\n", r)
	}
	return b.String()
}

// allowAll is the rule that most test policies end with.
const allowAll = `name: all, paths: ["/**"], operations: ["*"], decision: allow`

// rule returns a rule as policy takes it.
func rule(name, decision, operations string, globs ...string) string {
	return fmt.Sprintf(`name: %s, paths: ["%s"], operations: [%s], decision: %s`,
		name, strings.Join(globs, `", "`), operations, decision)
}

// view mounts a world's root under a policy of the given rules, named agent.
// Guards are off, so that only the rules speak.
func (w *world) view(rules ...string) *mount {
	w.t.Helper()
	w.policy("agent", rules...)
	return w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\nguards: []\n"))
}

// patience is how long a test waits for what must happen soon. It is far above
// what is promised: no test measures time.
const patience = 15 * time.Second

// eventually waits until check returns nil.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// wantErrno checks the error of a system call; want 0 is success.
func wantErrno(t *testing.T, call string, err error, want syscall.Errno) {
	t.Helper()
	if got := errno(err); got != errnoName(want) {
		t.Errorf("%s = %s, want %s", call, got, errnoName(want))
	}
}

// errnoName returns "EACCES", and "ok" for 0.
func errnoName(e syscall.Errno) string {
	if e == 0 {
		return "ok"
	}
	if name := unix.ErrnoName(e); name != "" {
		return name
	}
	return fmt.Sprintf("errno %d", int(e))
}

// read returns the content of a file that has to be readable.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// names lists a directory that has to be readable.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// must fails the test on an error of the preparation.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// differs returns an error that says what path holds instead of want.
func differs(path, want string) error {
	got, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if string(got) != want {
		return fmt.Errorf("read(%s) = %.80q, want %.80q", path, got, want)
	}
	return nil
}
