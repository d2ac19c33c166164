package integration

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDockerRefuses has what is wrong be said in one line with what to do, and
// leave nothing behind.
func TestDockerRefuses(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	bare := "sandboxfs-integration-bare:" + strings.ToLower(w.Dir[len(w.Dir)-8:])
	must(t, importImage(nil, bare, func(*image) {}))
	t.Cleanup(func() { w.docker("rmi", "-f", bare) })
	silent, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.path("silent.sock"), Net: "unix"})
	must(t, err)
	silent.SetUnlinkOnClose(false)
	silent.Close()
	const root = "root: ./root\n"
	for _, tt := range []struct {
		name, profile, image string
		want                 []string
	}{
		{"engine is missing", root + "docker: {socket_path: DIR/none.sock}\n", w.image, []string{"there is no socket " + w.path("none.sock"), "install Docker or start it"}},
		{"engine does not run", root + "docker: {socket_path: DIR/silent.sock}\n", w.image, []string{"nothing listens at " + w.path("silent.sock"), "systemctl start docker"}},
		{"image is missing", root, "no-such-image:7", []string{"the engine has no image no-such-image:7", "tar -C DIR -c . | docker import - no-such-image:7"}},
		{"image of the profile is missing", root + "docker: {image: no-such-image, tag: \"8\"}\n", "", []string{"docker import - no-such-image:8"}},
		{"runtime is missing", root + "docker: {runtime: runq}\n", w.image, []string{`the engine knows no runtime "runq"; it has `, "runc"}},
		{"source is empty", "mounts:\n  - {source: \"\", target: /w}\n", w.image, []string{"profile.yaml:3:14: source: \"\" is not the path"}},
		{"source comes of an empty variable", "root: ${NOT_SET_ANYWHERE:-}\n", w.image, []string{"profile.yaml:2:7: root: ", "is not the path"}},
		{"source is missing", "root: ./absent\n", w.image, []string{"profile.yaml:2:7: root " + w.path("absent") + ": no such file"}},
		{"container keeps /proc", "mounts:\n  - {source: ./root, target: /proc/w}\nsystem_mounts: off\n", w.image, []string{"a container keeps /proc"}},
	} {
		w.profile(tt.profile)
		argv := []string{executable, "run"}
		if tt.image != "" {
			argv = append(argv, "--backend", "docker", "--image", tt.image)
		}
		_, errs, code := w.try(append(argv, "profile.yaml", "--", "true")...)
		oneError(t, "run where "+tt.name, errs, code, tt.want...)
		w.left()
	}
	w.profile(root)
	broken := "sandboxfs-integration-broken:" + strings.ToLower(w.Dir[len(w.Dir)-8:])
	must(t, importImage(nil, broken, func(i *image) { i.text("bin/sleep", "no program") }))
	t.Cleanup(func() { w.docker("rmi", "-f", broken) })
	for image, want := range map[string]string{
		bare:   `has no program "sleep", which keeps a container alive`,
		broken: `has a program "sleep" that does not run here`,
	} {
		w.image = image
		_, errs, code := w.try(w.runArgs("true")...)
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		oneError(t, "run", lines[len(lines)-1], code, "image "+image+" "+want)
		w.left()
	}
}

// engine is a container engine of a test's own.
type engine struct {
	t      *testing.T
	dir    string
	socket string
	cmd    *exec.Cmd
}

// newEngine starts one with an image of busybox, or skips the test.
func newEngine(t *testing.T) *engine {
	t.Helper()
	needRoot(t)
	if _, err := exec.LookPath("dockerd"); err != nil {
		t.Skip("no dockerd for an engine of our own; apt install docker.io")
	}
	dir, err := os.MkdirTemp(tempRoot, "e") // short, for the names of sockets
	must(t, err)
	e := &engine{t: t, dir: dir, socket: dir + "/docker.sock"}
	t.Cleanup(e.discard)
	e.start()
	must(t, importImage(e.env(), "small:1", (*image).busybox))
	return e
}

func (e *engine) env() []string { return []string{"DOCKER_HOST=unix://" + e.socket} }

// start starts it and waits until it answers.
func (e *engine) start() {
	e.t.Helper()
	at := func(name string) string { return filepath.Join(e.dir, name) }
	var out output
	// Without a bridge it would delete that of the machine's own engine.
	e.cmd = exec.Command("unshare", "--net", "dockerd", "--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"),
		"-H", "unix://"+e.socket, "--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs")
	e.cmd.Stdout, e.cmd.Stderr = &out, &out
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGTERM}
	must(e.t, e.cmd.Start())
	eventually(e.t, "an engine of our own", func() error {
		if _, errs, code := (command{env: e.env()}).try("docker", "version"); code != 0 {
			return errors.New(errs + tail(out.text()))
		}
		return nil
	})
}

// stop ends it: by SIGTERM with its containers, by SIGKILL without.
func (e *engine) stop(signal syscall.Signal) {
	if e.cmd == nil || e.cmd.ProcessState != nil {
		return
	}
	e.cmd.Process.Signal(signal)
	e.cmd.Wait()
}

// discard ends it and removes what it keeps.
func (e *engine) discard() {
	e.stop(unix.SIGTERM)
	for _, m := range mountsBelow(e.dir) {
		unix.Unmount(m.path, unix.MNT_DETACH)
	}
	os.RemoveAll(e.dir)
}

// TestDockerEngineStops stops the engine while a command runs: the view is
// unmounted, a line says what is left, and gc removes it once there is an engine
// again. A container that exec has made is found again after the engine was
// started anew.
func TestDockerEngineStops(t *testing.T) {
	base := newRunWorld(t, 0, allowAll)
	e := newEngine(t)
	w := &dockerWorld{runWorld: base, image: "small:1", engine: e.env()}
	must(t, os.Chmod(w.path("root"), 0o777))
	w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\ndocker: {socket_path: " + e.socket + ", image: \"small:1\"}\n")

	m := w.mount("profile.yaml")
	id := w.run(t, w.execArgs("hostname")...)
	e.stop(unix.SIGTERM)
	_, errs, code := w.try(w.execArgs("true")...)
	oneError(t, "exec while the engine is stopped", errs, code, "no container engine", e.socket)
	e.start()
	if again := w.run(t, w.execArgs("hostname")...); again != id {
		t.Errorf("exec after the engine was started anew ran in %s, want %s", again, id)
	}
	m.stop()
	w.left()

	for _, signal := range []syscall.Signal{unix.SIGTERM, unix.SIGKILL} {
		cmd, out := w.begin(w.runArgs("echo up > up; sleep 1000")...)
		until(t, w.path("root/up"))
		must(t, os.Remove(w.path("root/up")))
		e.stop(signal)
		cmd.Wait()
		code := cmd.ProcessState.ExitCode() // of the command, if the engine could still tell
		if told := out.lines("sandboxfs: "); code != 1 && code != 137 || !strings.Contains(strings.Join(told, "\n"), "no container engine: there is no socket") && !strings.Contains(strings.Join(told, "\n"), "no container engine: nothing listens") {
			t.Errorf("run while the engine ends by %v = %d\n%s\nwant 1 or 137 and what happened", signal, code, out.text())
		}
		if told := out.lines("no container engine"); len(told) > 2 || len(out.lines("sandboxfs gc")) != 1 {
			t.Errorf("run while the engine ends by %v says too much:\n%s", signal, out.text())
		}
		if left := mountsBelow(filepath.Join(w.Dir, "home")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		_, errs, code := w.try(executable, "gc")
		if code != 1 || !strings.Contains(errs, "no engine answers; start it and try again") {
			t.Errorf("gc without the engine = %d\n%s\nwant the record to stay", code, errs)
		}
		e.start()
		w.run(t, executable, "gc")
		w.left()
	}
}
