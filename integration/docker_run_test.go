package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// project makes a bare repository with a Go program and a Python script in the
// world's root, which belongs to uid.
func (w *dockerWorld) project(uid int) {
	w.t.Helper()
	w.write("work/go.mod", "module hello\n\ngo 1.20\n")
	w.write("work/main.go", "package main\n\nfunc main() { println(\"built\", 6*7) }\n")
	w.write("work/tool.py", "import json, sys\nopen('by-python', 'w').write(json.dumps({'made': sys.argv[1]}))\nprint('python', sys.version_info.major)\n")
	w.write("work/tool.js", "require('fs').writeFileSync('by-node', 'x'); console.log('node', [1, 2].length)\n")
	command{dir: w.path("work"), env: gitIdentity}.run(w.t, "sh", "-ec", "git init -q -b main; git add .; git commit -qm first; git clone -q --bare . ../root/upstream.git")
	command{}.run(w.t, "chown", "-R", fmt.Sprintf("%d:%d", uid, uid), w.path("root"))
}

// develop is what an agent does in a working day.
const develop = `set -e
id -u
git clone -q ./upstream.git repo && cd repo
git config user.name agent && git config user.email agent@example.org
GOCACHE=/tmp/cache GOPATH=/tmp/go go build -o hello . && ./hello 2>&1
python3 tool.py value && cat by-python && echo
node tool.js
git add by-python by-node && git commit -qm second && git push -q origin main
git log --format=%s
git -C ../upstream.git fsck --strict 2>&1
git status --porcelain
`

const developed = "1000\nbuilt 42\npython 3\n{\"made\": \"value\"}\nnode 2\nsecond\nfirst\n?? hello\n"

// TestDockerDevelopment has the tools of an agent work in a container on a view,
// from nothing to nothing. C-02, S4-01, S3-03: uid 1000 inside is the owner of
// the source on the host.
func TestDockerDevelopment(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	const owner = 4242
	w.project(owner)
	out, errs, code := w.try(w.runArgs(develop)...)
	if code != 0 || out != developed {
		t.Fatalf("run = %d\n%s%s\nwant\n%s", code, out, tail(errs), developed)
	}
	foreign := command{}.run(t, "find", w.path("root"), "-not", "-user", fmt.Sprint(owner), "-o", "-not", "-group", fmt.Sprint(owner))
	if foreign != "" {
		t.Errorf("files on the host that are not the owner's:\n%s", tail(foreign))
	}
	if _, got, _ := (command{dir: w.path("root/repo"), uid: owner}).try("./hello"); got != "built 42\n" {
		t.Errorf("hello on the host printed %q", got)
	}
	w.left()
}

// TestDockerMetrics has what a command does and its container be scraped while it
// runs. C-03.
func TestDockerMetrics(t *testing.T) {
	w := newDockerWorld(t, rule("no", "deny", "create", "/no"), allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	cmd, out := w.begin(w.runArgs("echo x > no; echo up; while ! test -e go; do sleep .1; done", "--metrics", "127.0.0.1:0")...)
	eventually(t, "the command", func() error {
		if !strings.Contains(out.text(), "up\n") {
			return fmt.Errorf("it printed %q", out.text())
		}
		return nil
	})
	m := &mount{t: t}
	m.output.Write([]byte(out.text()))
	for _, want := range [][]string{
		{"sandboxfs_rule_hits_total", `rule="no"`, `decision="deny"`},
		{"sandboxfs_container_operations_total", `operation="ensure"`, `result="ok"`},
		{"sandboxfs_container_operations_total", `operation="exec"`, `result="ok"`},
	} {
		if n := m.metric(want[0], want[1:]...); n != 1 {
			t.Errorf("%q = %v, want 1", want, n)
		}
	}
	w.write("root/go", "")
	must(t, cmd.Wait())
	w.left()
}

// TestDockerSignal has a signal to run end the command in its container, be told
// by the exit code, and leave nothing.
func TestDockerSignal(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 128 + 15, syscall.SIGINT: 128 + 2} {
		cmd, out := w.begin(w.runArgs("trap '' TERM INT; echo up; sleep 77 & wait")...)
		eventually(t, "the command", func() error {
			if !strings.Contains(out.text(), "up\n") {
				return fmt.Errorf("it printed %q", out.text())
			}
			return nil
		})
		must(t, cmd.Process.Signal(signal))
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("run with %v = %d, want %d\n%s", signal, got, code, out.text())
		}
		w.left()
	}
}

// TestDockerConversation binds a conversation's directory at /data. S3-03, S3-04.
func TestDockerConversation(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	must(t, os.Chown(w.mkdir("conversation"), 1000, 1000))
	w.profile("mounts:\n  - {source: ./conversation, target: /data}\npolicies: [./policies]\nbase_policy: agent\nsystem_mounts: off\n")
	cmd, out := w.begin(w.runArgs("pwd; id -u; echo x > /data/made; mkdir dir; echo up; while ! test -e go; do sleep .1; done")...)
	eventually(t, "the command", func() error {
		if !strings.Contains(out.text(), "up\n") {
			return fmt.Errorf("it printed %q", out.text())
		}
		return nil
	})
	if !strings.Contains(out.text(), "/data\n1000\n") {
		t.Errorf("run printed %q, want /data and 1000", out.text())
	}
	bind := w.docker("inspect", "-f", `{{index .Config.Labels "sandbox.runner"}} {{range .Mounts}}{{.Type}} {{.Source}} {{.Destination}}{{end}}`, w.container())
	if !strings.HasPrefix(bind, "true bind "+w.path("home/sandboxfs/")) || !strings.HasSuffix(bind, "/data /data\n") {
		t.Errorf("docker inspect says %q, want the label and the bind of the view on /data", bind)
	}
	w.write("conversation/go", "")
	must(t, cmd.Wait())
	for name, want := range map[string]string{"made": "0644:1000:1000", "dir": "0755:1000:1000"} {
		if got := modeOf(t, w.path("conversation/"+name)); got != want {
			t.Errorf("%s on the host is %s, want %s", name, got, want)
		}
	}
	w.left()
}

// TestDockerDenied has a refusal be EACCES inside, and an event outside that
// says by which container, run, process and program. C-06.
func TestDockerDenied(t *testing.T) {
	w := newDockerWorld(t, rule("secrets", "deny", "write, create", "/**/.env"), allowAll)
	w.write("root/.env", "kept")
	must(t, os.Chmod(w.path("root"), 0o777))
	m := w.mount("profile.yaml")
	const script = `echo "$(hostname) $SANDBOXFS_EXEC"; cd "$1"; SANDBOXFS_EXEC=ZZZZZZZZZZZZZZZZZZZZZZZZZZ sh -c 'echo $$; echo x > sub/.env; while ! test -e go; do sleep .1; done'`
	must(t, os.Chmod(w.mkdir("root/sub"), 0o777))
	cmd, out := w.begin(append(w.execArgs(script), "sh", m.Path)...)
	lines := printed(t, out, 3)
	if !strings.Contains(lines[2], "Permission denied") {
		t.Errorf("the write inside says %q, want EACCES", lines[2])
	}
	e := m.wantEvent("create", "/sub/.env", "secrets")
	id, mark, _ := strings.Cut(lines[0], " ")
	if e.Container != id || !strings.HasPrefix(w.container(), id) || e.Exec != mark || e.Command != "sh" || e.Uid != 1000 || e.Errno != "EACCES" || e.At != "policies/agent.yaml:4" {
		t.Errorf("event = %+v, want container %s, exec %s, sh of uid 1000, EACCES and the rule's place", e, id, mark)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.Pid))
	must(t, err)
	if inside := namespacePid(string(status)); inside != lines[1] {
		t.Errorf("process %d of the event is %s inside, want %s", e.Pid, inside, lines[1])
	}
	w.write("root/go", "")
	must(t, cmd.Wait())
	if got := read(t, w.path("root/.env")); got != "kept" {
		t.Errorf(".env on the host = %q", got)
	}
	command{}.try("sh", "-c", "echo x > "+m.Path+"/.env")
	if e := m.wantEvent("write", "/.env", "secrets"); e.Container != "" || e.Exec != "" {
		t.Errorf("event of a process of the host = %+v, want neither container nor exec", e)
	}
	m.stop()
	w.left()
}

// namespacePid is the number of a process in its innermost pid namespace.
func namespacePid(status string) string {
	for line := range strings.Lines(status) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers)
			return fields[len(fields)-1]
		}
	}
	return ""
}

// TestDockerPaths compares what a process on the host's mount and one in the
// container see of a view, and what git says of it: the same paths, types,
// modes and contents. C-02, S0-08.
func TestDockerPaths(t *testing.T) {
	w := newDockerWorld(t, rule("hidden", "hide", `"*"`, "/**/.secret"), allowAll)
	w.project(1000)
	command{dir: w.path("root"), uid: 1000, env: gitIdentity}.run(t, "sh", "-ec", "git clone -q upstream.git repo; mkdir -p a/b; echo deep > a/b/c; echo s > a/.secret; ln -s b/c a/link; mkfifo a/fifo; chmod 640 a/b/c; echo x > 'name with blank'")
	w.write("cache/file", "cached")
	w.profile("root: ./root\nmounts:\n  - {source: ./cache, target: /var/cache, readonly: true}\npolicy: agent\npolicies: [./policies]\n")
	m := w.mount("profile.yaml")
	const walk = `find "$1" | LC_ALL=C sort | while read -r f; do stat -c '%n %F %a %u %g %s %h' "$f"; test -L "$f" && readlink "$f"; test -f "$f" && md5sum "$f"; done
git -C "$1/repo" rev-parse --show-toplevel HEAD; git -C "$1/repo" status --porcelain; git -C "$1/repo" ls-files -s; exit 0`
	host := command{dir: w.Dir, uid: 1000}.run(t, "sh", "-c", walk, "sh", m.Path)
	inside := w.run(t, append(w.execArgs(walk), "sh", m.Path)...)
	if host != inside {
		t.Errorf("the host sees\n%s\nand the container\n%s", tail(host), tail(inside))
	}
	for _, want := range []string{m.Path + "/a/b/c regular file 640", m.Path + "/a/link symbolic link", m.Path + "/a/fifo fifo", m.Path + "/var/cache/file", "\n" + m.Path + "/repo\n"} {
		if !strings.Contains(inside, want) {
			t.Errorf("the container does not see %q in\n%s", want, tail(inside))
		}
	}
	if strings.Contains(inside, ".secret") {
		t.Errorf("the container sees what is hidden:\n%s", tail(inside))
	}
	m.stop()
	w.left()
}

// TestDockerExec runs many commands in one long-lived container, at the same
// time as well. S4-01.
func TestDockerExec(t *testing.T) {
	w := newDockerWorld(t, rule("no", "deny", `"*"`, "/no"), allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	m := w.mount("profile.yaml")
	if out, errs, code := w.try(w.execArgs("pwd; echo x > f; echo x > no; echo kept > /tmp/t; exit 6")...); code != 6 || out != m.Path+"\n" || !strings.Contains(errs, "Permission denied") {
		t.Errorf("exec = %d %q\n%s", code, out, errs)
	}
	m.wantEvent("create", "/no", "no")
	first := w.container()
	if got := w.run(t, w.execArgs("cat f /tmp/t; hostname")...); got != "x\nkept\n"+first+"\n" {
		t.Errorf("exec again = %q, want the files of the first one in container %s", got, first)
	}
	const many = 8
	results := make(chan string, many)
	for i := range many {
		go func() {
			out, errs, code := w.try(w.execArgs(fmt.Sprintf("cat; hostname; echo %d > many-%d; exit %d", i, i, i))...)
			results <- fmt.Sprint(out, errs, code)
		}()
	}
	var got, want []string
	for i := range many {
		got, want = append(got, <-results), append(want, fmt.Sprint(first, "\n", i))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d commands at once = %q, want %q", many, got, want)
	}
	if files, _ := filepath.Glob(w.path("root/many-*")); len(files) != many {
		t.Errorf("they made %q", files)
	}
	in := w.command
	in.stdin = strings.Repeat("line\n", 100_000)
	if out, errs, code := in.try(w.execArgs("wc -l; head -c 3000000 /dev/zero | wc -c >&2")...); strings.TrimSpace(out) != "100000" || strings.TrimSpace(errs) != "3000000" || code != 0 {
		t.Errorf("exec with input = %d %q %q", code, out, errs)
	}
	if _, _, code := w.try(w.execArgs("sleep 100", "--timeout", "500ms")...); code != 124 {
		t.Errorf("exec --timeout = %d, want 124", code)
	}
	m.stop()
	w.left()
	if _, errs, code := w.try(w.execArgs("true")...); code != 1 || !strings.Contains(errs, "not the mountpoint of a view") {
		t.Errorf("exec after the end = %d %s", code, errs)
	}
}
