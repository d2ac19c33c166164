package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// count checks how much of a run there is: containers, networks, mounts.
func (w *dockerWorld) count(when string, containers, networks, mounts int) {
	w.t.Helper()
	c, n, m := w.made("container"), w.made("network"), mountsBelow(w.Dir)
	if len(c) != containers || len(n) != networks || len(m) != mounts {
		w.t.Errorf("%s: containers %q, networks %q, mounts %v, want %d, %d and %d", when, c, n, m, containers, networks, mounts)
	}
}

// until waits for a file on the host.
func until(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the file "+name, func() error { _, err := os.Stat(name); return err })
}

// TestDockerRunKilled kills sandboxfs run while its command runs: gc, or the
// next start, leaves nothing of it.
func TestDockerRunKilled(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	for _, by := range []string{"gc", "the next start"} {
		cmd, _ := w.begin(w.runArgs("echo up > up; sleep 1000", "--network", "isolated")...)
		until(t, w.path("root/up"))
		must(t, os.Remove(w.path("root/up")))
		cmd.Process.Kill()
		cmd.Wait()
		w.count("after SIGKILL", 1, 1, 1)
		id := w.container()
		if by != "gc" {
			out, errs, code := w.try(w.runArgs("echo ran")...)
			if code != 0 || out != "ran\n" || !strings.Contains(errs, "cleared container sandboxfs-") || !strings.Contains(errs, "cleared mount "+w.path("home")) {
				t.Errorf("the next run = %d %q\n%s\nwant it to clear container and mount", code, out, errs)
			}
		} else {
			dry := w.run(t, executable, "gc", "--dry-run")
			for _, kind := range []string{"container sandboxfs-", "network sandboxfs-", "mount " + w.path("home"), "directory " + w.path("home"), "record " + w.path("home")} {
				if !strings.Contains(dry, "would remove "+kind) {
					t.Errorf("gc --dry-run names no %s:\n%s", kind, dry)
				}
			}
			w.count("after gc --dry-run", 1, 1, 1)
			if out := w.run(t, executable, "gc"); !strings.Contains(out, "removed container sandboxfs-") {
				t.Errorf("gc printed\n%s", out)
			}
		}
		w.left()
		if _, _, code := (command{}).try("docker", "inspect", id); code == 0 {
			t.Errorf("by %s: container %s is left", by, id)
		}
	}
}

// TestDockerMountKilled kills the daemon of a view while a command runs in its
// container: the command fails, and gc, or the next mount at the same place,
// leaves nothing. S4-04.
func TestDockerMountKilled(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	for _, by := range []string{"gc", "the next start"} {
		m := w.mount("profile.yaml")
		_, out := w.begin(w.execArgs("echo up > up; until ! ls . >/dev/null; do sleep .1; done; echo blind; sleep 1000", "--network", "isolated")...)
		until(t, w.path("root/up"))
		must(t, os.Remove(w.path("root/up")))
		m.kill9()
		eventually(t, "the command notices", func() error {
			if text := out.text(); !strings.Contains(text, "blind") {
				return fmt.Errorf("it printed %q", text)
			}
			return nil
		})
		w.count("after SIGKILL", 1, 1, 1)
		if by == "gc" {
			w.run(t, executable, "gc")
			w.left()
			continue
		}
		again := w.mount("profile.yaml")
		if text := again.output.text(); !strings.Contains(text, "cleared container sandboxfs-") || !strings.Contains(text, "cleared mount "+again.Path) {
			t.Errorf("the next mount printed\n%s\nwant it to clear container and mount", text)
		}
		w.count("after the next start", 0, 0, 1)
		if got := w.run(t, w.execArgs("echo works")...); got != "works\n" {
			t.Errorf("exec after the next start = %q", got)
		}
		again.stop()
		w.left()
	}
}

// TestDockerGcLeavesOthers has gc, which looks into the directories of one
// environment, leave alone the container of a view whose record is in another.
func TestDockerGcLeavesOthers(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	m := w.mount("profile.yaml")
	w.run(t, w.execArgs("true", "--network", "isolated")...)
	id := w.container()
	other := command{dir: w.Dir, env: []string{"HOME=" + w.mkdir("other"), "XDG_RUNTIME_DIR=" + w.path("other")}}
	if out := other.run(t, executable, "gc"); strings.Contains(out, id) || strings.Contains(out, w.Dir) {
		t.Errorf("gc from elsewhere printed\n%s", out)
	}
	w.count("after gc from elsewhere", 1, 1, 1)
	if got := w.run(t, w.execArgs("hostname", "--network", "isolated")...); got != id+"\n" {
		t.Errorf("exec after gc from elsewhere ran in %s, want %s", got, id)
	}
	m.stop()
	w.left()
}
