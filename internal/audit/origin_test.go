package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	someContainer = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	someExec      = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// procDir is a directory in the form of /proc.
type procDir struct {
	t *testing.T
	*origins
}

func newProcDir(t *testing.T) procDir {
	p := procDir{t, &origins{proc: t.TempDir()}}
	p.put("self/ns/pid", "->pid:[1]")
	return p
}

// put writes a file, or a link where the text begins with an arrow.
func (p procDir) put(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.proc, name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if target, ok := cutArrow(text); err == nil && ok {
		err = os.Symlink(target, file)
	} else if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func cutArrow(s string) (string, bool) {
	if len(s) > 2 && s[:2] == "->" {
		return s[2:], true
	}
	return s, false
}

// process writes what /proc says of one.
func (p procDir) process(pid, parent int, namespace, cgroup, environ string) {
	p.t.Helper()
	dir := fmt.Sprint(pid, "/")
	p.put(dir+"stat", fmt.Sprintf("%d (a) b (c) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, parent, 1000+pid))
	p.put(dir+"ns/pid", "->pid:["+namespace+"]")
	p.put(dir+"cgroup", cgroup)
	p.put(dir+"environ", environ)
}

func TestOrigin(t *testing.T) {
	mark := "PATH=/bin\x00SANDBOXFS_EXEC=" + someExec + "\x00"
	in := "12:pids:/docker/" + someContainer + "\n0::/\n"
	tests := []struct {
		name string
		make func(p procDir) // process 30 is the one that is asked for
		want origin
	}{
		{"of the host", func(p procDir) { p.process(30, 1, "1", "0::/user.slice\n", mark) }, origin{}},
		{"gone", func(procDir) {}, origin{}},
		{"the first of an exec", func(p procDir) {
			p.process(10, 1, "1", "0::/\n", "")
			p.process(30, 10, "2", in, mark)
		}, origin{"0123456789ab", someExec}},
		{"below one that emptied its environment, with a mark of its own", func(p procDir) {
			p.process(10, 1, "1", "0::/\n", "")
			p.process(20, 10, "2", in, mark)
			p.process(25, 20, "2", in, "")
			p.process(30, 25, "3", in, "SANDBOXFS_EXEC=ZZZZZZZZZZZZZZZZZZZZZZZZZZ\x00")
		}, origin{"0123456789ab", someExec}},
		{"left behind by an exec", func(p procDir) {
			p.process(20, 1, "2", in, "")
			p.process(30, 20, "2", in, mark)
			p.process(1, 0, "1", "0::/\n", "")
		}, origin{"0123456789ab", ""}},
		{"a local sandbox", func(p procDir) {
			p.process(20, 1, "2", "0::/user.slice\n", mark)
			p.process(1, 0, "1", "0::/\n", "")
			p.process(30, 20, "2", "0::/user.slice\n", mark)
		}, origin{"", someExec}},
		{"systemd and cgroup v2", func(p procDir) {
			p.process(30, 0, "2", "0::/system.slice/docker-"+someContainer+".scope\n", "")
		}, origin{"0123456789ab", ""}},
		{"a mark that is none", func(p procDir) { p.process(30, 0, "2", in, "SANDBOXFS_EXEC=x\x1b[2J\x00") }, origin{"0123456789ab", ""}},
	}
	for _, tt := range tests {
		p := newProcDir(t)
		tt.make(p)
		if got := p.of(30); got != tt.want {
			t.Errorf("%s: of(30) = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// A process is looked at once, and another one with its number anew.
func TestOriginIsRemembered(t *testing.T) {
	p := newProcDir(t)
	p.process(30, 0, "2", "0::/docker/"+someContainer+"\n", "")
	want := p.of(30)
	p.put("30/cgroup", "0::/\n")
	if got := p.of(30); got != want {
		t.Errorf("of(30) again = %+v, want %+v", got, want)
	}
	p.put("30/stat", "30 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n")
	if got := p.of(30); got != (origin{}) {
		t.Errorf("of(30) of another process = %+v, want none", got)
	}
	for i := range 3 * originsKnown {
		p.known[process{i, "1"}] = origin{}
	}
	p.put("30/stat", "30 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 78 0 0\n")
	if p.of(30); len(p.known) != 1 {
		t.Errorf("%d processes are remembered after more than %d, want 1", len(p.known), originsKnown)
	}
}

// The environment of a process whose memory is locked is not waited for.
func TestOriginDoesNotWait(t *testing.T) {
	p := newProcDir(t)
	p.process(30, 0, "2", "0::/docker/"+someContainer+"\n", "")
	environ := filepath.Join(p.proc, "30/environ")
	os.Remove(environ)
	if err := syscall.Mkfifo(environ, 0o600); err != nil {
		t.Fatal(err)
	}
	answer := make(chan origin, 1)
	go func() { answer <- p.of(30) }()
	select {
	case got := <-answer:
		if want := (origin{"0123456789ab", ""}); got != want {
			t.Errorf("of(30) = %+v, want %+v", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Error("of(30) waits for an environment that nobody tells")
	}
	if f, err := os.OpenFile(environ, os.O_WRONLY, 0); err == nil {
		f.Close() // lets the reader go
	}
}
