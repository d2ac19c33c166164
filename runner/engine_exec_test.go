package runner

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// buffer is a bytes.Buffer for one who writes and one who looks.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *buffer) waitFor(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(b.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("output %q, want %q in it", b.String(), text)
		}
	}
}

func TestEngineExecStreams(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	var out, errs bytes.Buffer
	result, err := r.Exec(t.Context(), c, Cmd{
		Args: []string{"sh", "-c", "cat; echo bad >&2; echo $A; pwd; exit 7"}, Stdin: strings.NewReader("in\n"),
		Stdout: &out, Stderr: &errs, Env: []string{"A=b"}, Dir: "/tmp",
	})
	if err != nil || out.String() != "in\nb\n/tmp\n" || errs.String() != "bad\n" || result.ExitCode != 7 {
		t.Errorf("Exec = %+v, %v, %q, %q, want code 7, the input, b, /tmp and bad", result, err, out.String(), errs.String())
	}
	if got, code := r.sh(c, "kill -SEGV $$"); code != 139 {
		t.Errorf("Exec of what a signal kills = %q, %d, want 139", got, code)
	}
	errs.Reset()
	result, err = r.Exec(t.Context(), c, Cmd{Args: []string{"nosuch"}, Stderr: &errs})
	if err != nil || result.ExitCode != 127 || !strings.Contains(errs.String(), "nosuch") {
		t.Errorf("Exec(nosuch) = %+v, %v, %q, want 127 and its name", result, err, errs.String())
	}
	result, err = r.Exec(t.Context(), c, Cmd{Args: []string{"pwd"}, Dir: "/nosuch", Stdout: &errs})
	t.Logf("Exec in a missing directory = %+v, %v, %q", result, err, errs.String())
	if err == nil && result.ExitCode == 0 {
		t.Errorf("Exec in a missing directory = %+v, want a failure", result)
	}
}

func TestEngineExecLimit(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	var out, errs bytes.Buffer
	result, err := r.Exec(t.Context(), c, Cmd{
		Args:   []string{"sh", "-c", "head -c 3000000 /dev/zero; head -c 1500 /dev/zero >&2"},
		Stdout: &out, Stderr: &errs, OutputLimit: 1000,
	})
	if err != nil || out.Len() != 1000 || errs.Len() != 1000 || result.CutStdout != 2999000 || result.CutStderr != 500 {
		t.Errorf("Exec = %+v, %v with %d and %d bytes, want 2999000 and 500 cut from 1000", result, err, out.Len(), errs.Len())
	}
}

func TestEngineExecTerminal(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	var out buffer
	keyboard, keys := io.Pipe()
	sizes := make(chan Size)
	ended := make(chan error, 1)
	go func() {
		result, err := r.Exec(t.Context(), c, Cmd{
			Args:  []string{"sh", "-c", `until [ "$(stty size)" = "31 101" ]; do sleep .05; done; stty size; read line; stty size; echo got $line; sleep 1000`},
			Stdin: keyboard, Stdout: &out, Terminal: &Size{Width: 101, Height: 31}, Resize: sizes,
		})
		if err == nil && result.ExitCode != 130 {
			err = errors.New("exit code is not that of an interrupt")
		}
		ended <- err
	}()
	out.waitFor(t, "31 101")
	for range 2 { // the second one is taken when the first is set
		sizes <- Size{Width: 80, Height: 24}
	}
	io.WriteString(keys, "word\r")
	out.waitFor(t, "24 80")
	out.waitFor(t, "got word")
	io.WriteString(keys, "\x03")
	if err := <-ended; err != nil {
		t.Errorf("Exec on a terminal: %v, output %q", err, out.String())
	}
	keys.Close()
}

// escapes begins processes in every way in which they leave their parents.
const escapes = `setsid sleep 1000 & (env -i setsid sh -c 'sleep 1001 & sleep 1002' &) ; trap '' TERM INT HUP; echo begun; sleep 1003`

func TestEngineExecEnds(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	r.sh(c, "sleep 999 >/dev/null 2>&1 &") // of another exec, and stays
	tests := []struct {
		name    string
		timeout time.Duration
		want    error
	}{
		{"time-out", 300 * time.Millisecond, ErrTimeout},
		{"cancel", 0, context.Canceled},
	}
	for _, tt := range tests {
		ctx, cancel := context.WithCancel(t.Context())
		var out buffer
		if tt.timeout == 0 {
			go func() {
				out.waitFor(t, "begun")
				cancel()
			}()
		}
		result, err := r.Exec(ctx, c, Cmd{Args: []string{"sh", "-c", escapes}, Stdout: &out, Timeout: tt.timeout})
		cancel()
		if !errors.Is(err, tt.want) || result.ExitCode != 137 || out.String() != "begun\n" {
			t.Errorf("%s: Exec = %+v, %v, output %q, want code 137 and %v", tt.name, result, err, out.String(), tt.want)
		}
		r.wantOutput(c, "ps -o args | grep '[s]leep [19]'", "sleep 999")
	}
}

// A shell in the container kills where the host cannot.
func TestEngineExecEndsFromInside(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	e, err := r.startExec(t.Context(), c, Cmd{Args: []string{"sh", "-c", "setsid sleep 1000 & sleep 1001"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.stream.Close()
	for !e.running() {
		time.Sleep(10 * time.Millisecond)
	}
	if !e.killFromInside() || !e.ended(endWithin) {
		t.Error("killFromInside: the exec still runs")
	}
	r.wantOutput(c, "ps -o args | grep -c '[s]leep 10'", "0")
}

// What the host cannot see is killed from inside, and the container goes on.
func TestEngineExecEndsUnseen(t *testing.T) {
	r := newRig(t, nil)
	r.proc = t.TempDir()
	c := r.ensure(r.spec())
	before, err := r.client.ContainerInspect(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Exec(t.Context(), c, Cmd{Args: []string{"sh", "-c", "setsid sleep 1000 & sleep 1001"}, Timeout: time.Second}); !errors.Is(err, ErrTimeout) {
		t.Errorf("Exec = %v, want ErrTimeout", err)
	}
	r.wantOutput(c, "ps -o args | grep -c '[s]leep 10'", "0")
	if after, err := r.client.ContainerInspect(t.Context(), c.ID); err != nil || after.State.StartedAt != before.State.StartedAt {
		t.Errorf("the container was started at %s, and now at %v, %v", before.State.StartedAt, after.State, err)
	}
}

// What a command leaves behind may hold its output open.
func TestEngineExecLeavesBehind(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	started := time.Now()
	r.wantOutput(c, "sleep 20 & echo done", "done")
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("Exec waited %v for what the command left behind", took)
	}
	r.wantOutput(c, "ps -o args | grep -c '[s]leep 20'", "1")
}

func TestEngineForkBomb(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	_, err := r.Exec(t.Context(), c, Cmd{Args: []string{"sh", "-c", "b() { b | b & }; b; sleep 100"}, Timeout: 2 * time.Second})
	if !errors.Is(err, ErrTimeout) {
		t.Errorf("Exec of a fork bomb = %v, want ErrTimeout", err)
	}
	r.wantOutput(c, "ps -o args | grep -c '[s]leep 100'", "0")
}

func TestEngineRun(t *testing.T) {
	r := newRig(t, func(s *Settings) { s.ReadOnly = true })
	var out bytes.Buffer
	result, err := r.Run(t.Context(), r.spec(), Cmd{Args: []string{"sh", "-c", "touch /x; echo $? >/work/f; cat /work/f; exit 3"}, Stdout: &out})
	if err != nil || result.ExitCode != 3 || out.String() != "1\n" {
		t.Errorf("Run = %+v, %v, %q, want code 3 and a root that is read-only", result, err, out.String())
	}
	if left := r.left(t.Context()); len(left) > 0 {
		t.Errorf("Run left %v", left)
	}
}
