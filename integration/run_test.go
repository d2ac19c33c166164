package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() { helpers["escape"] = escape }

// needBubblewrap skips the test where there are no local sandboxes.
func needBubblewrap(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("no bwrap; apt install bubblewrap")
	}
}

// runWorld is a world in which sandboxfs run and exec are called, with a runtime
// directory of its own.
type runWorld struct {
	*world
	command
}

// newRunWorld makes a world with a profile and a policy of the given rules.
func newRunWorld(t *testing.T, uid uint32, rules ...string) *runWorld {
	t.Helper()
	w := newWorld(t)
	w.policy("agent", rules...)
	w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n")
	home := w.mkdir("home")
	if uid != 0 {
		must(t, unix.Chmod("/dev/fuse", 0o666))
		command{}.run(t, "chown", "-R", fmt.Sprintf("%d:%d", uid, uid), w.Dir)
	}
	return &runWorld{w, command{dir: w.Dir, uid: uid, env: []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + home}}}
}

// local runs a script in a local sandbox on the world's root.
func (w *runWorld) local(script string, flags ...string) (stdout, stderr string, code int) {
	argv := append([]string{executable, "run", "--backend", "local"}, flags...)
	return w.try(append(argv, "profile.yaml", "--", "sh", "-c", script)...)
}

// left fails the test if anything of a run is still there.
func (w *runWorld) left() {
	w.t.Helper()
	for _, m := range mountsBelow(w.Dir) {
		w.t.Errorf("left behind: mount %s", m.path)
	}
	for _, pid := range daemons(w.Dir) {
		w.t.Errorf("left behind: process %d", pid)
	}
	files, _ := filepath.Glob(w.path("home/sandboxfs/*"))
	for _, f := range files {
		w.t.Errorf("left behind: %s", f)
	}
}

// TestRunTools has the tools of an agent work in a local sandbox, and what they
// make belong to the owner of the source.
func TestRunTools(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	for _, uid := range []uint32{0, 1000} {
		w := newRunWorld(t, uid, allowAll)
		for _, tt := range []struct{ script, want string }{
			{"pwd; id -u", w.path("home/sandboxfs/")},
			{"git init -q repo && cd repo && git config user.name a && git config user.email a@b && echo x > f && git add f && git commit -qm one && git log --format=%s", "one\n"},
			{`mkdir hello && cd hello && printf 'module hello\n' > go.mod && printf 'package main\nfunc main() { print("built") }\n' > main.go && go build -o hello . && ./hello 2>&1`, "built"},
			{`python3 -c 'open("by-python", "w").write("x"); print(6*7)'`, "42\n"},
		} {
			out, errs, code := w.local(tt.script)
			if code != 0 || !strings.HasPrefix(out, tt.want) {
				t.Errorf("uid %d: run %q = %d\n%s%s\nwant 0 and %q", uid, tt.script, code, out, errs, tt.want)
			}
		}
		if got, want := modeOf(t, w.path("root/hello/hello")), fmt.Sprintf("0755:%d:%d", uid, uid); got != want {
			t.Errorf("hello made inside is %s, want %s of the source's owner", got, want)
		}
		w.left()
	}
}

func TestRunExitCodes(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	for _, tt := range []struct {
		script string
		flags  []string
		code   int
	}{
		{"exit 0", nil, 0},
		{"exit 42", nil, 42},
		{"kill -TERM $$", nil, 143},
		{"no-such-program", nil, 127},
		{"setsid sleep 40 & sleep 40", []string{"--timeout", "300ms"}, 124},
		{"test \"$GIVEN\" = here -a -z \"$SECRET\"", []string{"--env", "GIVEN=here"}, 0},
	} {
		w.env = append(w.env, "SECRET=x")
		if _, errs, code := w.local(tt.script, tt.flags...); code != tt.code {
			t.Errorf("run %q %q = %d, want %d\n%s", tt.flags, tt.script, code, tt.code, errs)
		}
	}
	w.left()
}

// TestRunSummary has a denial be EACCES inside, a line of the summary, and an
// event.
func TestRunSummary(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, rule("no-secrets", "deny", "write, create", "/**/.env"), rule("confirm", "ask", "create", "/release"), allowAll)
	out, errs, code := w.local("echo x > .env; echo x > .env; echo x > release; echo x > free; cat free", "--audit", "audit.jsonl")
	if code != 0 || out != "x\n" || strings.Count(errs, "Permission denied") != 3 {
		t.Errorf("run = %d\n%s%s\nwant EACCES thrice and 0", code, out, errs)
	}
	for _, want := range []string{
		"3 denied:", "2 × no-secrets (policies/agent.yaml:4), as create /.env by sh", "to allow it: change the rule no-secrets",
		"1 × builtin:no-approver (policies/agent.yaml:5), as create /release by sh", "to allow it: change the rule confirm",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("summary lacks %q:\n%s", want, errs)
		}
	}
	if text := read(t, w.path("audit.jsonl")); !strings.Contains(text, `"rule":"no-secrets"`) || !strings.Contains(text, `"command":"sh"`) {
		t.Errorf("audit file = %s, want the denial with rule and command", text)
	}
	w.left()
}

// TestRunPaths has a profile without a root show each mount at its own path.
func TestRunPaths(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	w.write("root/sub/f", "deep")
	w.write("cfg", "text")
	w.profile("mounts:\n  - {source: DIR/root, target: /work}\n  - {source: DIR/cfg, target: /conf/file}\n")
	out, errs, code := w.local("pwd; cat sub/f /conf/file; touch /work/new")
	if code != 0 || out != "/work\ndeeptext" {
		t.Errorf("run = %d %q\n%s", code, out, errs)
	}
	at := w.mkdir("at")
	w.profile("root: ./root\n")
	if out, errs, code := w.local("pwd", "--at", "at"); code != 0 || out != at+"\n" {
		t.Errorf("run --at at = %d %q\n%s", code, out, errs)
	}
	w.left()
}

// TestRunConfines tries the ways out of a local sandbox, as root and as a user.
func TestRunConfines(t *testing.T) {
	needRoot(t)
	needBubblewrap(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	for _, uid := range []uint32{0, 1000} {
		w := newRunWorld(t, uid, allowAll)
		must(t, os.Chmod(w.write("secret", "host only"), 0o666))
		command{}.run(t, "cp", helperBinary(), w.path("root/helper"))
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		out, errs, code := w.local(fmt.Sprintf("./helper helper escape %s %d %s", w.path("secret"), os.Getpid(), port))
		if code != 0 || out != "" {
			t.Errorf("uid %d: escape = %d\n%s%s", uid, code, out, errs)
		}
		if got := read(t, w.path("secret")); got != "host only" {
			t.Errorf("uid %d: the file of the host holds %q", uid, got)
		}
		_, errs, code = w.local("i=0; while [ $i -lt 3000 ]; do sleep 30 & i=$((i+1)); done", "--timeout", "60s")
		if code == 0 || code == 124 {
			t.Errorf("uid %d: 3000 processes = %d, want a limit\n%s", uid, code, tail(errs))
		}
		w.left()
	}
}

// escape is a helper that prints each way out that is open. Its arguments are a
// file, a process and a port of the host.
func escape(args []string) error {
	host, _ := strconv.Atoi(args[1])
	opens := func(path string, flags int) error {
		fd, err := unix.Open(path, flags, 0)
		unix.Close(fd)
		return err
	}
	link := func(target string) error {
		os.Remove("link")
		if err := os.Symlink(target, "link"); err != nil {
			return err
		}
		return opens("link", unix.O_RDONLY)
	}
	sockets := func(domain, kind int) error {
		fd, err := unix.Socket(domain, kind, 0)
		unix.Close(fd)
		return err
	}
	_, dialErr := net.DialTimeout("tcp", "127.0.0.1:"+args[2], time.Second)
	here, _ := os.Getwd()
	for way, err := range map[string]error{
		"open a file of the host":         opens(args[0], unix.O_RDONLY),
		"link to a file of the host":      link(args[0]),
		"link to /etc/shadow":             link("/etc/shadow"),
		"/proc/1/root":                    opens("/proc/1/root"+args[0], unix.O_RDONLY),
		"/proc/self/root":                 opens("/proc/self/root"+args[0], unix.O_RDONLY),
		"write /usr":                      opens("/usr/bin/env", unix.O_WRONLY),
		"sysctl":                          opens("/proc/sys/kernel/core_pattern", unix.O_WRONLY),
		"sysrq":                           opens("/proc/sysrq-trigger", unix.O_WRONLY),
		"docker.sock":                     opens("/run/docker.sock", unix.O_PATH),
		"mount":                           unix.Mount("x", "/tmp", "tmpfs", 0, ""),
		"bind mount":                      unix.Mount("/usr", "/tmp", "", unix.MS_BIND, ""),
		"remount rw":                      unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, ""),
		"unmount the view":                unix.Unmount(here, unix.MNT_DETACH),
		"mknod on the view":               unix.Mknod("null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))),
		"mknod in /tmp":                   unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))),
		"hard link out of the view":       unix.Link("helper", "/tmp/helper"),
		"user namespace":                  unix.Unshare(unix.CLONE_NEWUSER),
		"mount namespace":                 unix.Unshare(unix.CLONE_NEWNS),
		"chroot":                          unix.Chroot("/"),
		"become root":                     unix.Setresuid(0, 0, 0),
		"ptrace of a process of the host": unix.PtraceAttach(host),
		"signal a process of the host":    unix.Kill(host, 0),
		"raw socket":                      sockets(unix.AF_INET, unix.SOCK_RAW),
		"vsock":                           sockets(unix.AF_VSOCK, unix.SOCK_STREAM),
		"a port of the host":              dialErr,
	} {
		if err == nil {
			fmt.Println("open:", way)
		}
	}
	return nil
}

// TestRunKilled kills sandboxfs run, and has gc leave nothing.
func TestRunKilled(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	cmd := w.cmd(context.Background(), executable, "run", "--backend", "local", "profile.yaml", "--", "sh", "-c", "echo up > up; sleep 77.5")
	must(t, cmd.Start())
	eventually(t, "the command in the sandbox", func() error { _, err := os.Stat(w.path("root/up")); return err })
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the end of the command", func() error {
		if out, _, _ := (command{}).try("pgrep", "-fx", "sleep 77.5"); out != "" {
			return fmt.Errorf("process %s is left", strings.TrimSpace(out))
		}
		return nil
	})
	if len(mountsBelow(w.Dir)) != 1 {
		t.Errorf("mounts after SIGKILL: %v, want the dead one", mountsBelow(w.Dir))
	}
	before := mountsBelow(w.Dir)
	for _, kind := range []string{"mount", "directory", "record"} {
		if out := w.run(t, executable, "gc", "--dry-run"); !strings.Contains(out, "would remove "+kind+" "+w.path("home")) {
			t.Errorf("gc --dry-run names no %s:\n%s", kind, out)
		}
	}
	if now := mountsBelow(w.Dir); len(now) != len(before) {
		t.Errorf("gc --dry-run left %v of %v", now, before)
	}
	w.run(t, executable, "gc")
	w.left()
}

// TestRunSignal has SIGTERM reach the command, and the view be unmounted.
func TestRunSignal(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	cmd := w.cmd(context.Background(), executable, "run", "--backend", "local", "profile.yaml", "--", "sh", "-c", "trap 'exit 9' TERM; echo up > up; sleep 77 & wait")
	must(t, cmd.Start())
	eventually(t, "the command in the sandbox", func() error { _, err := os.Stat(w.path("root/up")); return err })
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 9 {
		t.Errorf("run with SIGTERM = %d, want 9 from the trap", code)
	}
	w.left()
}

// TestRunSignalEarly sends SIGTERM while the profile is still being read: nothing
// is run, and nothing left.
func TestRunSignalEarly(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, allowAll)
	must(t, unix.Mkfifo(w.path("slow.yaml"), 0o600))
	writer, err := os.OpenFile(w.path("slow.yaml"), os.O_RDWR, 0)
	must(t, err)
	defer writer.Close()
	cmd := w.cmd(context.Background(), executable, "run", "--backend", "local", "slow.yaml", "--", "touch", "ran")
	must(t, cmd.Start())
	eventually(t, "the record of the view", func() error {
		if found, _ := filepath.Glob(w.path("home/*/*.json")); len(found) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	cmd.Process.Signal(syscall.SIGTERM)
	_, err = writer.WriteString("version: 1\nroot: ./root\n")
	must(t, errors.Join(err, writer.Close()))
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(unix.SIGTERM) {
		t.Errorf("run with SIGTERM while it reads its profile = %d, want %d", code, 128+int(unix.SIGTERM))
	}
	if _, err := os.Stat(w.path("root/ran")); err == nil {
		t.Error("the command was run all the same")
	}
	w.left()
}

// TestExecLocal runs commands on a view that is mounted already.
func TestExecLocal(t *testing.T) {
	needBubblewrap(t)
	w := newRunWorld(t, 0, rule("no", "deny", `"*"`, "/no"), allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	m := w.mount("profile.yaml")
	argv := []string{executable, "exec", "--backend", "local", "mnt", "--", "sh", "-c"}
	if out := w.run(t, append(argv, "pwd; echo x > f; echo x > no || cat f")...); out != m.Path+"\nx\n" {
		t.Errorf("exec = %q", out)
	}
	if _, _, code := w.try(append(argv, "exit 6")...); code != 6 {
		t.Errorf("exec of exit 6 = %d", code)
	}
	m.wantEvent("create", "/no", "no")
	m.stop()
	w.left()
	if _, errs, code := w.try(append(argv, "true")...); code != 1 || !strings.Contains(errs, "not the mountpoint of a view") {
		t.Errorf("exec after the end = %d %s", code, errs)
	}
}

// busyboxImage imports an image of busybox, with what else lies in the world's
// directory "image".
func busyboxImage(t *testing.T, w *runWorld, name string) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	must(t, err)
	for _, dir := range []string{"bin", "etc", "run", "var"} {
		w.mkdir("image/" + dir)
	}
	must(t, os.Symlink("/run", w.path("image/var/run")))
	w.run(t, "cp", busybox, w.path("image/bin/busybox"))
	for _, applet := range strings.Fields(w.run(t, busybox, "--list")) {
		if applet != "busybox" {
			must(t, os.Symlink("busybox", w.path("image/bin/"+applet)))
		}
	}
	w.run(t, "sh", "-c", `tar -C "$1" -c . | docker import - "$2"`, "sh", w.path("image"), name)
}

// containers are the names of those that sandboxfs has made for this test's image.
func containers(t *testing.T, image string) string {
	t.Helper()
	return command{}.run(t, "docker", "ps", "-a", "--filter", "ancestor="+image, "--format", "{{.Names}}")
}
