package attack

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// world is a directory of its own for one test: what is mounted, the profile,
// policies, mountpoints. Everybody may write in its root, so that only the
// policy stands between a caller and a file.
type world struct {
	t   *testing.T
	Dir string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp(tempRoot, strings.ReplaceAll(t.Name(), "/", "-")+"-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	w := &world{t, dir}
	w.mkdir("root")
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.Dir, name) }

// mkdir makes a directory, and those above it, that everybody may write in.
func (w *world) mkdir(name string) string {
	w.t.Helper()
	for i := range name {
		if name[i] == '/' {
			w.mkdirOne(name[:i])
		}
	}
	return w.mkdirOne(name)
}

func (w *world) mkdirOne(name string) string {
	w.t.Helper()
	if err := os.Mkdir(w.path(name), 0o777); err == nil {
		must(w.t, os.Chmod(w.path(name), 0o777))
	} else if !os.IsExist(err) {
		w.t.Fatal(err)
	}
	return w.path(name)
}

// write makes a file that everybody may write, and the directories above it.
func (w *world) write(name, text string) string {
	w.t.Helper()
	w.mkdir(filepath.Dir(name))
	must(w.t, os.WriteFile(w.path(name), []byte(text), 0o666))
	must(w.t, os.Chmod(w.path(name), 0o666))
	return w.path(name)
}

// policy writes policies/NAME.yaml in one step, as a careful editor does. A
// rule is a flow mapping; see rule.
func (w *world) policy(name string, rules ...string) {
	w.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\nname: %s\nfile_rules:\n", name)
	for _, r := range rules {
		fmt.Fprintf(&b, "  - {%s}\n", r)
	}
	next := w.write("policies/."+name+".next", b.String())
	must(w.t, os.Rename(next, w.path("policies/"+name+".yaml")))
}

// allowAll is the rule that most test policies end with.
const allowAll = `name: all, paths: ["/**"], operations: ["*"], decision: allow`

func rule(name, decision, operations string, globs ...string) string {
	return fmt.Sprintf(`name: %s, paths: ["%s"], operations: [%s], decision: %s`,
		name, strings.Join(globs, `", "`), operations, decision)
}

// profile writes a profile under the name; "DIR" in it is the world's directory.
func (w *world) profile(name, text string) string {
	w.t.Helper()
	return w.write(name, "version: 1\n"+strings.ReplaceAll(text, "DIR", w.Dir))
}

// agent is the profile of a root under the policy "agent", without guards.
const agent = "root: ./root\npolicy: agent\npolicies: [./policies]\nguards: []\n"

// view is a running "sandboxfs mount".
type view struct {
	Path  string // the mountpoint
	t     *testing.T
	cmd   *exec.Cmd
	audit string
	ended chan struct{}

	mu     sync.Mutex
	stderr bytes.Buffer
}

// launch is how a view is mounted.
type launch struct {
	at     string // mountpoint, "mnt" if empty
	audit  string // host path; one of the world's if empty
	nofile int    // limit of open files; 0 leaves it
}

// mount mounts profile and ends the view with the test.
func (w *world) mount(profile string, l launch) *view {
	w.t.Helper()
	at := w.mkdir(cmp.Or(l.at, "mnt"))
	v := &view{
		Path: at, t: w.t, ended: make(chan struct{}),
		audit: cmp.Or(l.audit, w.path("audit-"+filepath.Base(at)+".jsonl")),
	}
	argv := []string{executable, "mount", "--metrics", "off", "--audit", v.audit, profile, at}
	if l.nofile != 0 {
		argv = append([]string{"prlimit", fmt.Sprintf("--nofile=%d:%d", l.nofile, l.nofile)}, argv...)
	}
	v.cmd = exec.Command(argv[0], argv[1:]...)
	v.cmd.Stderr = v
	stdout, err := v.cmd.StdoutPipe()
	must(w.t, err)
	must(w.t, v.cmd.Start())
	w.t.Cleanup(v.unmount)
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	go func() { v.cmd.Wait(); close(v.ended) }()
	if line != "ready "+at+"\n" {
		w.t.Fatalf("sandboxfs mount %s: %q\n%s", profile, line, v.said())
	}
	return v
}

// Write takes what the daemon prints on stderr.
func (v *view) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stderr.Write(p)
}

func (v *view) said() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.stderr.String()
}

// unmount ends the view, and reports a daemon that crashed or hangs.
func (v *view) unmount() {
	select {
	case <-v.ended:
		v.t.Errorf("the daemon of %s ended by itself:\n%s", v.Path, v.said())
	default:
	}
	v.cmd.Process.Signal(unix.SIGTERM)
	select {
	case <-v.ended:
	case <-time.After(20 * time.Second):
		v.t.Errorf("the daemon of %s does not end", v.Path)
		v.cmd.Process.Kill()
	}
	unix.Unmount(v.Path, unix.MNT_DETACH)
}

// event is a line of the audit trail.
type event struct {
	Operation, Path, Decision, Rule, Errno string
	Uid                                    uint32
}

func (v *view) events() []event {
	v.t.Helper()
	text, err := os.ReadFile(v.audit)
	must(v.t, err)
	var list []event
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			v.t.Errorf("audit line %q: %v", line, err)
		}
		list = append(list, e)
	}
	return list
}

// tree returns all there is below dir: type, mode, owner, links and content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		what := fmt.Sprintf("%o %d:%d x%d", st.Mode, st.Uid, st.Gid, st.Nlink)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			text, _ := os.ReadFile(path)
			what += fmt.Sprintf(" %q", text)
		case unix.S_IFLNK:
			target, _ := os.Readlink(path)
			what += " -> " + target
		}
		all[strings.TrimPrefix(path, dir)] = what
		return nil
	}))
	return all
}

// unchanged reports what differs between two trees.
func unchanged(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for path := range want {
		if got[path] != want[path] {
			t.Errorf("%s: %q was %s, is %s", what, path, want[path], cmp.Or(got[path], "gone"))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: %q is new: %s", what, path, got[path])
		}
	}
}

// eventually waits for what must happen soon; no test measures time.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: %v", what, err)
			return
		}
	}
}
