package audit

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// printed returns what a Console prints for the events.
func printed(events ...Event) string {
	var b bytes.Buffer
	c := NewConsole(&b)
	for _, e := range events {
		c.Write(e)
	}
	c.Close()
	return b.String()
}

func TestConsoleLine(t *testing.T) {
	tests := []struct {
		name  string
		event Event
		want  string
	}{
		{"a rule of a file", Event{Operation: "write", Path: "/src/.env", Decision: "deny", Rule: "no-dotenv", Errno: "EACCES",
			At: "policies/default.yaml:14", Command: "vim", Pid: 1234, Message: "secrets stay out of the view"},
			"denied  write /src/.env  no-dotenv (policies/default.yaml:14)  by vim[1234]: secrets stay out of the view\n"},
		{"a built-in rule, caller unknown", Event{Operation: "create", Path: "/x", Decision: "deny", Rule: "builtin:default-deny", Errno: "EACCES"},
			"denied  create /x  builtin:default-deny\n"},
		{"hidden", Event{Operation: "stat", Path: "/x", Decision: "hide", Rule: "r", Errno: "ENOENT"}, "hidden  stat /x  r\n"},
		{"asked in vain", Event{Operation: "read", Path: "/x", Decision: "ask", Rule: "r", Errno: "EACCES"}, "denied  read /x  r\n"},
		{"rename", Event{Operation: "rename", Path: "/a", To: "/b c", Decision: "deny", Rule: "r", Errno: "EXDEV"},
			"denied  rename /a -> \"/b c\"  r\n"},
		{"went ahead", Event{Operation: "read", Path: "/x", Decision: "audit", Rule: "r"}, ""},
	}
	for _, tt := range tests {
		if got := printed(tt.event); got != tt.want {
			t.Errorf("%s: printed %q, want %q", tt.name, got, tt.want)
		}
	}
}

// no name reaches the terminal as more than letters on one line.
func TestConsoleHostileNames(t *testing.T) {
	tests := []struct {
		event Event
		want  string
	}{
		{Event{Path: "/a\ndenied  write /b  fake"}, `"/a\ndenied  write /b  fake"`},
		{Event{Path: "/\x1b[31mred"}, `"/\x1b[31mred"`},
		{Event{Path: "/\u009b2J"}, `"/\u009b2J"`},
		{Event{Path: "/\u202egpj.exe"}, `"/\u202egpj.exe"`},
		{Event{Path: "/bad\xff"}, `"/bad\xff"`},
		{Event{Path: `/quo"te`}, `/quo"te `},
		{Event{Path: `/back\slash`}, `"/back\\slash"`},
		{Event{Path: "/x", Command: "v\x1b]0;t\a", Pid: 1}, `by v\x1b]0;t\a[1]`},
		{Event{Path: "/x", Message: "say \"no\"\r\n"}, `: say "no"\r\n`},
	}
	for _, tt := range tests {
		tt.event.Decision, tt.event.Errno, tt.event.Rule = "deny", "EACCES", "r"
		got := printed(tt.event)
		if !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("printed %q for %+v, want one line with %q", got, tt.event, tt.want)
		}
	}
}

func TestConsoleOncePerRuleAndPath(t *testing.T) {
	e := func(rule string, path vpath.Path, op string) Event {
		return Event{Operation: op, Path: path, Decision: "deny", Rule: rule, Errno: "EACCES"}
	}
	got := printed(e("r", "/a", "read"), e("r", "/a", "read"), e("r", "/a", "write"), e("r", "/b", "read"), e("s", "/a", "read"))
	want := "denied  read /a  r\ndenied  read /b  r\ndenied  read /a  s\n"
	if got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestConsoleMemoryIsBounded(t *testing.T) {
	c := NewConsole(io.Discard)
	defer c.Close()
	for i := range 3 * consoleSeen {
		c.Write(Event{Path: vpath.Path(fmt.Sprint("/", i)), Decision: "deny", Rule: "r", Errno: "EACCES"})
	}
	if n := len(c.seen); n > consoleSeen {
		t.Errorf("a Console remembers %d pairs, want at most %d", n, consoleSeen)
	}
}

// stuck is a writer that waits until it is let go.
type stuck struct {
	printed          bytes.Buffer
	entered, release chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.entered != nil {
		close(s.entered)
		s.entered = nil
		<-s.release
	}
	return s.printed.Write(p)
}

// A terminal that is stopped does not stop the file system.
func TestConsoleStuckWriter(t *testing.T) {
	entered := make(chan struct{})
	w := &stuck{entered: entered, release: make(chan struct{})}
	c := NewConsole(w)
	write := func(i int) {
		c.Write(Event{Operation: "read", Path: vpath.Path(fmt.Sprint("/", i)), Decision: "deny", Rule: "r", Errno: "EACCES"})
	}
	write(0)
	<-entered
	for i := range consoleQueue + 10 {
		write(1 + i)
	}
	close(w.release)
	for c.waiting() > 0 {
		runtime.Gosched()
	}
	write(-1)
	c.Close()
	if got := w.printed.String(); !strings.Contains(got, "(10 refusals not shown)\ndenied  read /-1  r\n") {
		t.Errorf("printed %q, want it to say that 10 are missing", got)
	}
	c.Write(Event{Path: "/late", Errno: "EACCES"}) // must not panic
}

func (c *Console) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.lines)
}
