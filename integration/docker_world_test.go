package integration

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// dockerWorld is a runWorld whose commands run in containers.
type dockerWorld struct {
	*runWorld
	image  string
	engine []string // environment that leads to the engine; nil for the default one
}

// newDockerWorld makes a world with a profile and a policy of the given rules,
// or skips the test where there are no containers.
func newDockerWorld(t *testing.T, rules ...string) *dockerWorld {
	t.Helper()
	needRoot(t)
	image := needImage(t)
	w := &dockerWorld{runWorld: newRunWorld(t, 0, rules...), image: image}
	t.Cleanup(w.sweep)
	return w
}

// docker runs the engine's client.
func (w *dockerWorld) docker(args ...string) string {
	w.t.Helper()
	return command{env: w.engine}.run(w.t, append([]string{"docker"}, args...)...)
}

// made lists what of a kind (container, network) the commands of this world have
// on the engine, by ids.
func (w *dockerWorld) made(kind string) []string {
	w.t.Helper()
	args := []string{kind, "ls", "-q", "--filter", "label=sandboxfs.state=" + w.path("home/sandboxfs")}
	if kind == "container" {
		args = append(args, "-a")
	}
	return strings.Fields(w.docker(args...))
}

// container is the id of the one container that there is.
func (w *dockerWorld) container() string {
	w.t.Helper()
	ids := w.made("container")
	if len(ids) != 1 {
		w.t.Fatalf("containers %q, want one", ids)
	}
	return ids[0]
}

// left fails the test if anything is still there, on the engine or elsewhere.
func (w *dockerWorld) left() {
	w.t.Helper()
	for _, kind := range []string{"container", "network"} {
		for _, id := range w.made(kind) {
			w.t.Errorf("left behind: %s %s", kind, id)
		}
	}
	w.runWorld.left()
}

// sweep removes what a test that failed has left.
func (w *dockerWorld) sweep() {
	for kind, remove := range map[string][]string{"container": {"rm", "-f"}, "network": {"network", "rm"}} {
		for _, id := range w.made(kind) {
			w.docker(append(remove, id)...)
		}
	}
}

// runArgs is the command line of run with a shell script.
func (w *dockerWorld) runArgs(script string, flags ...string) []string {
	return append(append([]string{executable, "run", "--backend", "docker", "--image", w.image}, flags...), "profile.yaml", "--", "sh", "-c", script)
}

// execArgs is the command line of exec with a shell script on the view at mnt.
func (w *dockerWorld) execArgs(script string, flags ...string) []string {
	return append(append([]string{executable, "exec", "--backend", "docker", "--image", w.image}, flags...), "mnt", "--", "sh", "-c", script)
}

// begin starts a command of this world and returns it with its output.
func (w *dockerWorld) begin(argv ...string) (*exec.Cmd, *output) {
	w.t.Helper()
	var out output
	cmd := w.cmd(context.Background(), argv...)
	cmd.Stdout, cmd.Stderr = &out, &out
	must(w.t, cmd.Start())
	w.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, &out
}

// printed waits until a command has printed that many lines, and returns them.
func printed(t *testing.T, out *output, lines int) []string {
	t.Helper()
	var found []string
	eventually(t, fmt.Sprintf("%d lines of output", lines), func() error {
		text := out.text()
		if found = strings.Split(text, "\n"); strings.Count(text, "\n") < lines {
			return fmt.Errorf("there is %q", text)
		}
		return nil
	})
	return found
}

// oneError checks that a command has failed with one line on stderr that holds
// every part.
func oneError(t *testing.T, what, stderr string, code int, parts ...string) {
	t.Helper()
	stderr = string(bytes.TrimSpace([]byte(stderr)))
	if code != 1 || strings.Contains(stderr, "\n") || !strings.HasPrefix(stderr, "sandboxfs: ") || !hasAll(stderr, parts) {
		t.Errorf("%s = exit %d and\n%s\nwant exit 1 and one line with %q", what, code, stderr, parts)
	}
}
