package attack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// jail is a sandbox that "sandboxfs run" makes, and who calls it.
type jail struct {
	name    string
	backend string
	uid     uint32
	profile string // what the profile has besides
}

var jails = []jail{
	{"container", "docker", 0, ""},
	{"container with root in it", "docker", 0, "owner: {uid: 0, gid: 0}\n"},
	{"local sandbox of root", "local", 0, ""},
	{"local sandbox of a user", "local", 1000, ""},
}

// inJails runs do for each kind of sandbox that can be made here, in a world
// whose view holds the attacker's program, twice: one copy is set-uid root.
func inJails(t *testing.T, do func(t *testing.T, j jail, w *world)) {
	t.Helper()
	needRoot(t)
	for _, j := range jails {
		t.Run(j.name, func(t *testing.T) {
			if j.backend == "docker" {
				engine.need(t)
			} else if _, err := exec.LookPath("bwrap"); err != nil {
				t.Skip("no bwrap; apt install bubblewrap")
			}
			w := newWorld(t)
			program, err := os.ReadFile(attackerBinary())
			must(t, err)
			for name, mode := range map[string]os.FileMode{"attacker": 0o755, "setuid": 0o755 | os.ModeSetuid} {
				must(t, os.WriteFile(w.path("root/"+name), program, 0o755))
				must(t, os.Chmod(w.path("root/"+name), mode))
			}
			must(t, os.Mkdir(w.path("run"), 0o700))
			must(t, os.Chown(w.path("run"), int(j.uid), int(j.uid)))
			w.policy("agent", rule("no", "deny", `"*"`, "/denied"), allowAll)
			w.profile("p.yaml", agent+j.profile)
			do(t, j, w)
			j.left(t, w)
		})
	}
}

// asUser runs a command as an ordinary user for whom /dev/fuse is open, as it is
// on most systems, without changing it for others. Its arguments are a
// directory, the user, and the command.
const asUser = `mount -t tmpfs none "$1" && mknod -m 0666 "$1/fuse" c 10 229 && mount --bind "$1/fuse" /dev/fuse &&
uid=$2 && shift 2 && exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"`

// run is "sandboxfs run" of the attacker's program.
func (j jail) run(w *world, flags []string, args ...string) *exec.Cmd {
	w.t.Helper()
	argv := append([]string{executable, "run", "--backend", j.backend}, flags...)
	if j.backend == "docker" {
		argv = append(argv, "--image", image)
	}
	argv = append(append(argv, w.path("p.yaml"), "--", "./attacker"), args...)
	if j.uid != 0 {
		user := fmt.Sprint(j.uid)
		argv = append([]string{"unshare", "--mount", "sh", "-c", asUser, "sh", w.mkdir("dev"), user}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = w.Dir
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+w.path("run"), "DOCKER_HOST="+engine.address(), "SECRET="+secret)
	return cmd
}

// output runs cmd and returns what it printed and its exit code.
func output(cmd *exec.Cmd) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// attack runs the script of the test in the sandbox. What it is told of the
// host, it reads from its environment.
func (j jail) attack(t *testing.T, w *world, host outside) {
	t.Helper()
	told, err := json.Marshal(host)
	must(t, err)
	name, _, _ := strings.Cut(t.Name(), "/")
	flags := []string{"--env", "OUTSIDE=" + string(told), "--env", "JAIL=" + j.backend}
	out, errs, code := output(j.run(w, flags, "attack", name, "."))
	var outcomes []outcome
	if json.Unmarshal([]byte(out), &outcomes) != nil || code != 0 {
		t.Fatalf("the attacker = %d\n%s%s", code, out, errs)
	}
	for _, o := range outcomes {
		o.check(t)
	}
}

// left fails the test if a run has left anything.
func (j jail) left(t *testing.T, w *world) {
	t.Helper()
	for _, m := range mountsBelow(w.Dir) {
		t.Errorf("left behind: mount %s", m)
	}
	files, _ := filepath.Glob(w.path("run/sandboxfs/*"))
	for _, f := range files {
		t.Errorf("left behind: %s", f)
	}
	if j.backend == "docker" {
		if out, _, _ := output(engine.docker("ps", "-aq")); out != "" {
			t.Errorf("left behind: containers %s", strings.Fields(out))
		}
	}
	for _, p := range append(processes("./attacker\x00"), processes(w.Dir)...) {
		t.Errorf("left behind: process %s", p)
	}
}

// processes are those whose command line holds text.
func processes(text string) (list []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, _ := os.ReadFile(file); bytes.Contains(line, []byte(text)) {
			list = append(list, fmt.Sprintf("%s %q", file, line))
		}
	}
	return list
}
