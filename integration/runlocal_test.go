package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// S4-06: skills are at one path for every command, and cannot be changed.
func TestRunSkills(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	for _, uid := range []uint32{0, 1000} {
		for _, shows := range []string{"root: ./root\n", "mounts: [{source: ./root, target: /work}]\n"} {
			w := newRunWorld(t, uid, allowAll)
			w.write("skills/core/run.sh", "echo skilled")
			w.profile(shows + "skills: ./skills\n")
			command{}.run(t, "chown", "-R", fmt.Sprintf("%d:%d", uid, uid), w.path("skills"))
			out, errs, code := w.local("sh /shared/skills/core/run.sh; touch /shared/skills/new || touch /shared/skills/core/run.sh || rm -r /shared/skills/core || echo refused")
			if code != 0 || out != "skilled\nrefused\n" || strings.Count(errs, "Read-only file system") != 3 {
				t.Errorf("uid %d, %s: run = %d %q\n%s", uid, shows, code, out, errs)
			}
			if got := names(t, w.path("skills")); len(got) != 1 {
				t.Errorf("uid %d, %s: the skills hold %q", uid, shows, got)
			}
			w.left()
		}
	}
	w := newRunWorld(t, 0, allowAll)
	w.write("skills/f", "x")
	m := w.mount(w.profile("root: ./root\nskills: ./skills\n"))
	wantErrno(t, "open(/shared/skills/f, O_WRONLY)", open(unix.O_WRONLY)(m.Path+"/shared/skills/f"), unix.EROFS)
	if got := read(t, m.Path+"/shared/skills/f"); got != "x" {
		t.Errorf("/shared/skills/f in the view holds %q", got)
	}
	out := w.run(t, executable, "resolve", "profile.yaml", "/shared/skills/f")
	if want := w.path("skills/f") + "  mount /shared/skills  readonly"; !strings.HasPrefix(out, want) {
		t.Errorf("resolve /shared/skills/f = %q, want %q", out, want)
	}
}

// S4-06, in a container.
func TestRunSkillsDocker(t *testing.T) {
	needRoot(t)
	image := needImage(t)
	w := newRunWorld(t, 0, allowAll)
	w.write("skills/f", "skilled\n")
	w.profile("root: ./root\nskills: ./skills\n")
	out, errs, code := w.try(executable, "run", "--image", image, "profile.yaml", "--", "sh", "-c",
		"cat /shared/skills/f; echo x > /shared/skills/f || echo x > shared/skills/f || echo refused")
	if code != 0 || out != "skilled\nrefused\n" {
		t.Errorf("run = %d %q\n%s", code, out, errs)
	}
	w.left()
}

// S4-05: a command starts where it was called, and finds by its variables the
// directories that they mean here.
func TestRunTranslatesPaths(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	home := w.mkdir("root/sub/home")
	w.profile("root: ./root\n")
	w.write("bare.yaml", "mounts: [{source: ./root, target: /work}]\n")
	w.env = append(w.env, "HOME="+home, "TMPDIR="+w.Dir, "PLAIN="+home)
	const script = `pwd; echo "$HOME ${TMPDIR-none} $PLAIN"`
	flags := []string{"--backend", "local", "--env", "HOME", "--env", "TMPDIR", "--env", "PLAIN"}
	at := w.mkdir("at")
	for _, tt := range []struct{ dir, profile, want string }{
		{w.path("root/sub"), w.path("profile.yaml"), at + "/sub\n" + at + "/sub/home none " + home + "\n"},
		{w.path("root"), w.path("bare.yaml"), "/work\n/work/sub/home none " + home + "\n"},
		{w.Dir, w.path("bare.yaml"), "/work\n/work/sub/home none " + home + "\n"},
	} {
		c := w.command
		c.dir = tt.dir
		argv := append(append([]string{executable, "run", "--at", at}, flags...), tt.profile, "--", "sh", "-c", script)
		out, errs, code := c.try(argv...)
		if code != 0 || out != tt.want || !strings.Contains(errs, "TMPDIR is left out: the sandbox has no "+w.Dir) {
			t.Errorf("run in %s = %d %q, want %q\n%s", tt.dir, code, out, tt.want, errs)
		}
	}
	m := w.mount("profile.yaml")
	c := w.command
	c.dir = m.Path + "/sub"
	argv := append(append([]string{executable, "exec"}, flags...), m.Path, "--", "sh", "-c", script)
	if out, want := c.run(t, argv...), m.Path+"/sub\n"+m.Path+"/sub/home none "+home+"\n"; out != want {
		t.Errorf("exec within the view = %q, want %q", out, want)
	}
	m.stop()
	w.left()
}

// S4-02: docker.enabled decides where a command runs, unless the caller does.
func TestRunEnabled(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	absent := w.path("absent.sock")
	for _, tt := range []struct {
		docker string
		flags  []string
		code   int
		stderr string
	}{
		{"enabled: false, image: some", nil, 0, "docker.enabled is false in the profile"},
		{"enabled: true", nil, 1, "there is no socket " + absent},
		{"enabled: true", []string{"--backend", "local"}, 0, "sandbox of this host's programs"},
		{"enabled: false", []string{"--backend", "docker"}, 1, "there is no socket " + absent},
		{"image: some", nil, 0, "there is no socket " + absent},
		{"read_only: true", nil, 0, "no image is named"},
	} {
		w.profile(fmt.Sprintf("root: ./root\ndocker: {socketPath: %s, %s}\n", absent, tt.docker))
		argv := append(append([]string{executable, "run"}, tt.flags...), "profile.yaml", "--", "true")
		if _, errs, code := w.try(argv...); code != tt.code || !strings.Contains(errs, tt.stderr) {
			t.Errorf("run %q with docker: {%s} = %d, want %d and %q\n%s", tt.flags, tt.docker, code, tt.code, tt.stderr, errs)
		}
	}
	w.left()
}

// TestRunDockerAsUser has an ordinary user be told why a container would not see
// the view.
func TestRunDockerAsUser(t *testing.T) {
	needRoot(t)
	if text, _ := os.ReadFile("/etc/fuse.conf"); strings.Contains("\n"+string(text), "\nuser_allow_other") {
		t.Skip("user_allow_other is set in /etc/fuse.conf, so that containers see every user's views")
	}
	w := newRunWorld(t, 1000, allowAll)
	_, errs, code := w.try(executable, "run", "--backend", "docker", "profile.yaml", "--", "true")
	oneError(t, "run --backend docker of an ordinary user", errs, code, "echo user_allow_other >> /etc/fuse.conf")
	w.left()
}

// S4-02: the config has the settings of all profiles, and each says otherwise for
// itself.
func TestRunConfigDocker(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	absent := w.path("absent.sock")
	w.write("config.yaml", fmt.Sprintf("docker: {enabled: true, socket_path: %s}\nmount_profiles:\n  named: {root: ./root}\n", absent))
	for _, tt := range []struct {
		arg, docker string
		code        int
		stderr      string
	}{
		{"named", "", 1, "there is no socket " + absent},
		{"profile.yaml", "", 1, "there is no socket " + absent},
		{"profile.yaml", "docker: {enabled: false}\n", 0, "sandbox of this host's programs"},
		{w.path("root"), "", 1, "there is no socket " + absent},
	} {
		w.profile("root: ./root\n" + tt.docker)
		_, errs, code := w.try(executable, "run", "--config", "config.yaml", tt.arg, "--", "true")
		if code != tt.code || !strings.Contains(errs, tt.stderr) {
			t.Errorf("run %s with %q = %d, want %d and %q\n%s", tt.arg, tt.docker, code, tt.code, tt.stderr, errs)
		}
	}
	w.left()
}

// S4-02: where /proc is not whole, as within a container, an ordinary user needs
// enable_weaker_nested_sandbox for a sandbox, which then cannot look into the
// processes that it sees.
func TestRunNested(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	w := newRunWorld(t, 1000, allowAll)
	nested := func(docker, script string) (string, string, int) {
		w.profile("root: ./root\n" + docker)
		return command{dir: w.Dir, env: w.env}.try("unshare", "--mount", "sh", "-c", `
			mount --bind /dev/null /proc/version
			setpriv --reuid 1000 --regid 1000 --clear-groups -- sleep 99 & other=$!
			setpriv --reuid 1000 --regid 1000 --clear-groups -- "$1" run --backend local profile.yaml -- sh -c "$2" sh $other
			code=$?; kill $other; exit $code`, "sh", executable, script)
	}
	if out, errs, code := nested("", "echo ran"); code != 1 || out != "" || !strings.Contains(errs, "enable_weaker_nested_sandbox: true") {
		t.Errorf("run without a whole /proc = %d %q, want 1 and the key that helps\n%s", code, out, errs)
	}
	const script = `echo ran; test -d /proc/self && test -d /proc/$1 && echo seen
		ls /proc/$1/root || cat /proc/$1/environ || readlink /proc/$1/fd/0 || kill -0 $1 || echo refused`
	if out, errs, code := nested("docker: {enableWeakerNestedSandbox: true}\n", script); code != 0 || out != "ran\nseen\nrefused\n" {
		t.Errorf("run with enableWeakerNestedSandbox = %d %q\n%s", code, out, errs)
	}
	// Where a new /proc can be had it is new all the same.
	if out, errs, code := w.local("ls /proc | grep -c '^[0-9]*$'"); code != 0 || len(out) > 2 {
		t.Errorf("processes that a sandbox sees with enableWeakerNestedSandbox and a whole /proc: %d %q\n%s", code, out, errs)
	}
	w.left()
}

// TestUnmountEndsCommands unmounts a view in which a command runs, which keeps
// neither the command nor the daemon.
func TestUnmountEndsCommands(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	for _, uid := range []uint32{0, 1000} {
		w := newRunWorld(t, uid, allowAll)
		at := w.mkdir("at")
		must(t, os.Chown(at, int(uid), int(uid)))
		const script = "echo up > up; sleep 79.5"
		cmd := w.cmd(context.Background(), executable, "run", "--backend", "local", "--at", "at", "profile.yaml", "--", "sh", "-c", script)
		var errs strings.Builder
		cmd.Stderr = &errs
		must(t, cmd.Start())
		eventually(t, "the command in the sandbox", func() error { _, err := os.Stat(w.path("root/up")); return err })
		w.run(t, executable, "umount", "at")
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(errs.String(), "the view was unmounted") {
			t.Errorf("uid %d: run whose view is unmounted = %d\n%s", uid, code, errs.String())
		}
		w.left()
	}
	w := newRunWorld(t, 0, allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	m := w.mount("profile.yaml")
	cmd := w.cmd(context.Background(), executable, "exec", "--backend", "local", "mnt", "--", "sh", "-c", "echo up > up; sleep 79.5")
	must(t, cmd.Start())
	eventually(t, "the command in the sandbox", func() error { _, err := os.Stat(w.path("root/up")); return err })
	w.run(t, executable, "umount", m.Path)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exec whose view is unmounted = %d, want 1", code)
	}
	eventually(t, "the end of the daemon", func() error {
		if left := daemons(w.Dir); len(left) > 0 {
			return fmt.Errorf("processes %v are left", left)
		}
		return nil
	})
	w.left()
}

// TestRunPrograms has codes of programs that cannot be run, node, and streams
// that are closed.
func TestRunPrograms(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	for _, uid := range []uint32{0, 1000} {
		w := newRunWorld(t, uid, allowAll)
		w.write("root/plain", "no program")
		run := []string{executable, "run", "--backend", "local", "profile.yaml", "--"}
		for _, tt := range []struct {
			argv []string
			out  string
			code int
		}{
			{[]string{"no-such-program"}, "", 127},
			{[]string{"./plain"}, "", 126},
			{[]string{"sh", "-c", "kill -9 $$"}, "", 137},
			{[]string{"node", "-e", "require('fs').writeFileSync('n.txt', String(6*7)); console.log(require('fs').readFileSync('n.txt', 'utf8'))"}, "42\n", 0},
		} {
			if out, errs, code := w.try(append(run, tt.argv...)...); code != tt.code || out != tt.out {
				t.Errorf("uid %d: run %q = %d %q, want %d %q\n%s", uid, tt.argv, code, out, tt.code, tt.out, errs)
			}
		}
		for redirect, want := range map[string]string{"<&-": "end\n", "</dev/null": "end\n", "<&- 2>&-": "end\n"} {
			out, errs, code := w.try("sh", "-c", `"$1" run --backend local profile.yaml -- sh -c 'cat; echo end' `+redirect, "sh", executable)
			if code != 0 || out != want {
				t.Errorf("uid %d: run %s = %d %q, want %q\n%s", uid, redirect, code, out, want, errs)
			}
		}
		if _, errs, code := w.try("sh", "-c", `"$1" run --backend local profile.yaml -- sh -c 'echo x || exit 4' >&-`, "sh", executable); code > 4 || code < 0 {
			t.Errorf("uid %d: run with stdout closed = %d\n%s", uid, code, errs)
		}
		w.left()
	}
}

// TestGcLeavesOthersAlone has gc of an ordinary user clear that user's dead
// views and nothing else, and gc of root clear them all but the live ones.
func TestGcLeavesOthersAlone(t *testing.T) {
	needRoot(t)
	mine, roots := newRunWorld(t, 1000, allowAll), newRunWorld(t, 0, allowAll)
	mine.mkdir("dead")
	must(t, os.Chown(mine.path("dead"), 1000, 1000))
	roots.mkdir("dead")
	for _, w := range []*runWorld{mine, roots} { // containers are another matter
		w.env = append(w.env, "DOCKER_HOST=unix://"+w.path("absent.sock"))
	}
	kill := func(w *runWorld) {
		cmd := w.cmd(context.Background(), executable, "mount", "--metrics", "off", "profile.yaml", "dead")
		must(t, cmd.Start())
		eventually(t, "the view", func() error {
			if len(mountsBelow(w.path("dead"))) == 0 {
				return fmt.Errorf("%s is not mounted", w.path("dead"))
			}
			return nil
		})
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
	}
	live := roots.mount("profile.yaml") // first: its start would clear what is dead
	kill(mine)
	kill(roots)
	if out, errs, code := mine.try(executable, "gc"); code != 0 || !strings.Contains(out, "removed mount "+mine.path("dead")) || strings.Contains(out+errs, roots.Dir) {
		t.Errorf("gc of an ordinary user = %d\n%s%s", code, out, errs)
	}
	if len(mountsBelow(mine.Dir)) != 0 || len(mountsBelow(roots.path("dead"))) != 1 || len(mountsBelow(live.Path)) != 1 {
		t.Errorf("after gc of an ordinary user: %v and %v, want root's two", mountsBelow(mine.Dir), mountsBelow(roots.Dir))
	}
	kill(mine)
	out := roots.run(t, executable, "gc")
	for _, w := range []*runWorld{mine, roots} {
		if left := mountsBelow(w.path("dead")); len(left) > 0 {
			t.Errorf("gc of root left %v:\n%s", left, out)
		}
	}
	if strings.Contains(out, live.Path) || len(mountsBelow(live.Path)) != 1 {
		t.Errorf("gc of root touched the live view %s:\n%s", live.Path, out)
	}
	live.stop()
	mine.run(t, executable, "gc")
	mine.left()
	roots.left()
}

// TestRunKilledAsUser kills sandboxfs run of an ordinary user: the command goes
// with it, and gc clears the rest.
func TestRunKilledAsUser(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	w := newRunWorld(t, 1000, allowAll)
	cmd := w.cmd(context.Background(), executable, "run", "--backend", "local", "profile.yaml", "--", "sh", "-c", "echo up > up; setsid sleep 78.5 & sleep 78.5")
	must(t, cmd.Start())
	eventually(t, "the command in the sandbox", func() error { _, err := os.Stat(w.path("root/up")); return err })
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the end of the command", func() error {
		if out, _ := exec.Command("pgrep", "-fx", "sleep 78.5").Output(); len(out) > 0 {
			return fmt.Errorf("processes %q are left", out)
		}
		return nil
	})
	w.run(t, executable, "gc")
	w.left()
}
