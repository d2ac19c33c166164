package runner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// localRunner returns a runner of this host, or skips the test.
func localRunner(t *testing.T) *Local {
	t.Helper()
	l, err := NewLocal(Limits{Tmpfs: 1 << 20, Pids: 64})
	if err != nil {
		t.Skip(err)
	}
	return l
}

// inside runs a script in a sandbox and returns what it printed.
func inside(t *testing.T, spec Spec, cmd Cmd, script string) (Result, string, error) {
	t.Helper()
	var out triggered
	cmd.Args = []string{"sh", "-c", script}
	cmd.Stdout, cmd.Stderr = &out, &out
	r, err := localRunner(t).Run(t.Context(), spec, cmd, nil)
	return r, out.String(), err
}

func TestLocalRun(t *testing.T) {
	dir := realDir(t)
	if err := os.WriteFile(dir+"/given", []byte("given\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := Spec{Session: "s", Binds: []Bind{{Source: dir, Target: "/work/here", Plain: true}}, Dir: "/work/here"}
	tests := []struct {
		script string
		code   int
		out    string
	}{
		{"pwd", 0, "/work/here\n"},
		{"cd / && cat /work/here/given && stat -c %a /work", 0, "given\n755\n"},
		{"cat", 0, "typed"},
		{"echo x > made; umask; cat made", 0, "0022\nx\n"},
		{"exit 7", 7, ""},
		{"kill -TERM $$", 128 + 15, ""},
		{"echo $A $HOME; whoami", 0, "b /tmp\nagent\n"},
		{"hostname", 0, "sandbox\n"},
		{"grep -E '^(CapPrm|CapEff|CapBnd|CapInh|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'", 0,
			"CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n"},
		{"echo x > /file || echo x > /usr/file || echo x > /etc/hosts || echo refused", 0, "refused"},
		{"for d in /tmp /run /var/tmp /var/run /dev/shm; do echo x > $d/f || exit 9; done", 0, ""},
		{"head -c 2000000 /dev/zero > /tmp/big || echo full", 0, "full"},
		{"head -c 2000000 /dev/zero > /dev/shm/big || echo full", 0, "full"},
		{"test $(ls /proc | grep -c '^[0-9]') -lt 10", 0, ""},
		{"test $(ulimit -H -c) = 0", 0, ""},
		{"cat /etc/shadow || echo none", 0, "none"},
		{"ls /home /root || echo none", 0, "none"},
		{"tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", 0, "lo\n"},
		{"unshare -Ur true || echo refused", 0, "refused"},
		{"echo x > /dev/file || echo x > /proc/sys/kernel/ns_last_pid || cat /proc/keys || echo refused", 0, "refused"},
		{"mount -t tmpfs x /tmp || echo refused", 0, "refused"},
	}
	for _, tt := range tests {
		r, out, err := inside(t, spec, Cmd{Stdin: strings.NewReader("typed"), Env: []string{"A=b"}}, tt.script)
		if err != nil || r.ExitCode != tt.code || !strings.Contains(out, tt.out) {
			t.Errorf("run %q = %d, %v\n%swant %d and\n%s", tt.script, r.ExitCode, err, out, tt.code, tt.out)
		}
	}
	if text, err := os.ReadFile(dir + "/made"); err != nil || string(text) != "x\n" {
		t.Errorf("made in the bind = %q, %v, want x", text, err)
	}
}

// Groups that the caller is in besides its own would open its files to a command.
func TestLocalLeavesGroups(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can join groups and leave them")
	}
	before, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setgroups([]int{0, 4}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setgroups(before)
	spec := Spec{Session: "s", Binds: []Bind{{Source: realDir(t), Target: "/work", Plain: true}}, Dir: "/work"}
	if r, out, err := inside(t, spec, Cmd{}, "id -G"); err != nil || r.ExitCode != 0 || out != "1000\n" {
		t.Errorf("id -G = %q, %d, %v, want 1000 alone", out, r.ExitCode, err)
	}
}

func TestLocalKillsTheTree(t *testing.T) {
	l := localRunner(t)
	for _, tt := range []struct {
		name string
		cmd  Cmd
		ctx  func() (context.Context, context.CancelFunc)
		want error
	}{
		{"time is over", Cmd{Timeout: 300 * time.Millisecond}, func() (context.Context, context.CancelFunc) { return t.Context(), func() {} }, ErrTimeout},
		{"cancelled", Cmd{}, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 300*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		ctx, cancel := tt.ctx()
		tt.cmd.Args = []string{"sh", "-c", "setsid sleep 61.25 & sleep 61.25"}
		_, err := l.Run(ctx, Spec{Session: "s"}, tt.cmd, nil)
		cancel()
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: Run = %v, want %v", tt.name, err, tt.want)
		}
		if left := running(t, "61.25"); left != 0 {
			t.Errorf("%s: %d processes are left", tt.name, left)
		}
	}
}

// A sandbox that is only being made has its process 1 already, which goes on by
// itself if nobody ends it.
func TestLocalIsKilledEarly(t *testing.T) {
	l := localRunner(t)
	for after := time.Duration(0); after < 60*time.Millisecond; after += 2 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := l.Run(ctx, Spec{Session: "s"}, Cmd{Args: []string{"sleep", "61.5"}}, nil)
		cancel()
		if left := running(t, "61.5"); left != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("cancelled after %v: Run = %v, %d processes are left", after, err, left)
		}
	}
}

// A signal that comes before the command is there to hear it is not lost.
func TestLocalSignalEarly(t *testing.T) {
	l := localRunner(t)
	for after := time.Duration(0); after < 60*time.Millisecond; after += 2 * time.Millisecond {
		for _, terminal := range []*Size{nil, {80, 24}} {
			signals := make(chan unix.Signal, 1)
			time.AfterFunc(after, func() { signals <- unix.SIGTERM })
			r, err := l.Run(t.Context(), Spec{Session: "s"}, Cmd{Args: []string{"sleep", "61.75"}, Timeout: 10 * time.Second, Terminal: terminal}, signals)
			if err != nil || r.ExitCode != 128+int(unix.SIGTERM) {
				t.Fatalf("SIGTERM after %v with terminal %v: Run = %d, %v, want %d", after, terminal, r.ExitCode, err, 128+int(unix.SIGTERM))
			}
		}
	}
}

// running counts the processes that have an argument.
func running(t *testing.T, argument string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if slices.Contains(strings.Split(string(line), "\x00"), argument) {
			count++
		}
	}
	return count
}

func TestLocalSignal(t *testing.T) {
	l := localRunner(t)
	for _, terminal := range []*Size{nil, {80, 24}} {
		signals := make(chan unix.Signal, 1)
		out := new(triggered)
		out.on("up", func() { signals <- unix.SIGTERM })
		cmd := Cmd{Args: []string{"sh", "-c", "trap 'echo caught; exit 9' TERM; echo up; sleep 30 & wait"}, Stdout: out, Terminal: terminal}
		r, err := l.Run(t.Context(), Spec{Session: "s"}, cmd, signals)
		if err != nil || r.ExitCode != 9 || !strings.Contains(out.String(), "caught") {
			t.Errorf("SIGTERM with terminal %v: Run = %d, %v\n%s, want 9 from its trap", terminal, r.ExitCode, err, out.String())
		}
	}
}

// triggered does things when it is written words, each once.
type triggered struct {
	mu    sync.Mutex
	text  bytes.Buffer
	words []string
	do    []func()
}

func (w *triggered) on(word string, do func()) {
	w.words, w.do = append(w.words, word), append(w.do, do)
}

func (w *triggered) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.text.Write(p)
	for len(w.words) > 0 && strings.Contains(w.text.String(), w.words[0]) {
		do := w.do[0]
		w.words, w.do = w.words[1:], w.do[1:]
		do()
	}
	return n, err
}

func (w *triggered) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestLocalTerminal(t *testing.T) {
	const script = `stty size; trap 'exit 5' INT; read line; echo "got $line"; echo x >/dev/tty
		until stty size | grep '30 100'; do sleep 0.05; done; echo ready; sleep 30 & wait`
	keys, typist := io.Pipe()
	resize := make(chan Size, 1)
	out := new(triggered)
	out.on("24 80", func() { go io.WriteString(typist, "hello\n") })
	out.on("got hello", func() { resize <- Size{100, 30} })
	out.on("ready", func() { go io.WriteString(typist, "\x03") })
	cmd := Cmd{Args: []string{"sh", "-c", script}, Stdin: keys, Stdout: out, Terminal: &Size{80, 24}, Resize: resize}
	r, err := localRunner(t).Run(t.Context(), Spec{Session: "s"}, cmd, nil)
	if err != nil || r.ExitCode != 5 {
		t.Errorf("Run on a terminal = %d, %v\n%s, want 5 from the trap of Ctrl-C", r.ExitCode, err, out.String())
	}
}

func TestLocalRefuses(t *testing.T) {
	dir := realDir(t)
	spec := Spec{Session: "s"}
	root := "for root, who owns"
	if os.Geteuid() != 0 {
		root = "for user 0:0"
	}
	for _, tt := range []struct {
		spec Spec
		cmd  Cmd
		want string
	}{
		{spec, Cmd{}, "no command"},
		{Spec{Session: "s", User: "0:0"}, Cmd{Args: []string{"true"}}, root},
		{Spec{Session: "s", Network: NetworkIsolated}, Cmd{Args: []string{"true"}}, "needs a container engine"},
		{Spec{Session: "s", Binds: []Bind{{Source: dir, Target: "/w"}}}, Cmd{Args: []string{"true"}}, "not within a view"},
		{Spec{Session: "s", Binds: []Bind{{Source: dir + "/absent", Target: "/w", Plain: true}}}, Cmd{Args: []string{"true"}}, "no such file"},
		{spec, Cmd{Args: []string{"true"}, Env: []string{"LD_PRELOAD=/x.so"}}, "by the command itself"},
		{spec, Cmd{Args: []string{"true"}, Env: []string{"NAME"}}, "not NAME=value"},
		{spec, Cmd{Args: []string{"true"}, Dir: "/absent"}, "bubblewrap says why"},
	} {
		if _, err := localRunner(t).Run(t.Context(), tt.spec, tt.cmd, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run(%+v, %+v) = %v, want an error with %q", tt.spec, tt.cmd, err, tt.want)
		}
	}
}

func TestSystemBinds(t *testing.T) {
	host := realDir(t)
	for _, dir := range []string{"usr/bin", "etc", "run/resolved"} {
		if err := os.MkdirAll(host+"/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.WriteFile(host+"/run/resolved/conf", nil, 0o644)
	os.Symlink("usr/bin", host+"/bin")
	os.Symlink("../run/resolved/conf", host+"/etc/resolv.conf")
	os.Symlink("nowhere", host+"/etc/dangling")
	got := systemBinds([]string{"/usr", "/bin", "/lib64", "/etc/resolv.conf", "/etc/dangling"}, host)
	want := []string{
		"--ro-bind", host + "/usr", "/usr", "--symlink", "usr/bin", "/bin",
		"--perms", "0755", "--dir", "/etc", "--ro-bind", host + "/run/resolved/conf", "/etc/resolv.conf",
	}
	if !slices.Equal(got, want) {
		t.Errorf("systemBinds = %q, want %q", got, want)
	}
}
