package audit

import (
	"fmt"
	"hash/maphash"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	consoleQueue = 256  // lines that wait for a slow terminal
	consoleSeen  = 4096 // pairs of rule and path that are remembered
)

// Console prints refusals for whoever sits at the terminal of a foreground
// mount: one line, once for each rule and path. It is a courtesy and not the
// record: where the writer is slow or stuck, lines are dropped, and no
// operation ever waits for it.
type Console struct {
	w    io.Writer
	seed maphash.Seed
	done chan struct{}

	mu      sync.Mutex
	seen    map[uint64]struct{} // guarded by mu; hashes, emptied when full
	lines   chan string         // sent to and closed under mu; nil once closed
	dropped int                 // guarded by mu
}

// NewConsole returns a Console that prints to w from a goroutine of its own,
// until Close.
func NewConsole(w io.Writer) *Console {
	c := &Console{
		w:     w,
		seed:  maphash.MakeSeed(),
		done:  make(chan struct{}),
		seen:  make(map[uint64]struct{}),
		lines: make(chan string, consoleQueue),
	}
	go c.print(c.lines)
	return c
}

// Write queues the line of e if e was refused, and neither its rule and path
// were there before. It returns nil.
func (c *Console) Write(e Event) error {
	if e.Errno == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines == nil || !c.firstLocked(e) {
		return nil
	}
	s := sentence(e)
	if c.dropped > 0 {
		s = fmt.Sprintf("(%d refusals not shown)\n%s", c.dropped, s)
	}
	select {
	case c.lines <- s:
		c.dropped = 0
	default:
		c.dropped++
	}
	return nil
}

// Close ends the printing. It returns when the lines that wait are written, or
// after a second if the writer is stuck.
func (c *Console) Close() {
	c.mu.Lock()
	lines := c.lines
	c.lines = nil
	c.mu.Unlock()
	if lines != nil {
		close(lines)
	}
	select {
	case <-c.done:
	case <-time.After(time.Second):
	}
}

func (c *Console) firstLocked(e Event) bool {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, s := range []string{e.Policy, e.Rule, string(e.Path)} {
		h.WriteString(s)
		h.WriteByte(0)
	}
	key := h.Sum64()
	if _, ok := c.seen[key]; ok {
		return false
	}
	if len(c.seen) == consoleSeen {
		clear(c.seen)
	}
	c.seen[key] = struct{}{}
	return true
}

func (c *Console) print(lines <-chan string) {
	defer close(c.done)
	for s := range lines {
		io.WriteString(c.w, s)
	}
}

// sentence tells a refusal in one line:
//
//	denied  write /src/.env  no-dotenv (policies/default.yaml:14)  by vim[1234]: secrets stay out of the view
func sentence(e Event) string {
	var b strings.Builder
	b.WriteString(verb(e.Decision))
	fmt.Fprintf(&b, "  %s %s", e.Operation, name(string(e.Path)))
	if e.To != "" {
		fmt.Fprintf(&b, " -> %s", name(string(e.To)))
	}
	fmt.Fprintf(&b, "  %s", printable(e.Rule))
	if e.At != "" {
		fmt.Fprintf(&b, " (%s)", printable(e.At))
	}
	if e.Command != "" {
		fmt.Fprintf(&b, "  by %s[%d]", printable(e.Command), e.Pid)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", printable(e.Message))
	}
	b.WriteByte('\n')
	return b.String()
}

func verb(decision string) string {
	if decision == "hide" {
		return "hidden"
	}
	return "denied"
}

// name returns a path as it is where that is plain to read, else quoted.
func name(s string) string {
	if strings.Contains(s, " ") || printable(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// printable returns s with everything escaped that is not printable, so that no
// name of a file or process can move the cursor, colour the terminal or pass
// for a line of its own.
func printable(s string) string {
	q := strconv.Quote(s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
