package attack

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/sys/unix"
)

// awkward are names that could break a log, a terminal or a glob.
func awkward() []string {
	names := []string{
		"new\nline", "\x1b[2J\x1b]0;owned\a", "\xff\xfe invalid", "\u202edetrevni", `back\slash`, "*", "?", "[a-z]", "{a,b}", "${HOME}",
		"-rf", " ", "\r", "\t", `"quoted"`, "'", "~", strings.Repeat("n", 255), strings.Repeat("ü", 127), "\u2028", "...", "%s%n",
		"a\ndenied  write f  forged", `{"decision":"allow"}`,
	}
	for b := 1; b < 256; b++ {
		if b != '/' {
			names = append(names, "byte"+string([]byte{byte(b)}))
		}
	}
	return names
}

var _ = register("TestX14_Names", func(string, func()) []attempt {
	var attempts []attempt
	for _, name := range awkward() {
		attempts = append(attempts,
			attempt{fmt.Sprintf("create, move and remove %q", name), "ok", func() error {
				if err := create(name)(); err != nil {
					return err
				}
				moved := name[:len(name)-1] + "_"
				if err := unix.Rename(name, moved); err != nil {
					return err
				}
				return unix.Unlink(moved)
			}},
			attempt{fmt.Sprintf("create denied/%q", name), "EACCES", create("denied/" + name)})
	}
	return append(attempts,
		attempt{"a name of 256 bytes", "ENAMETOOLONG", create(strings.Repeat("n", 256))},
		attempt{"a path of 5000 bytes", "ENAMETOOLONG", create(strings.Repeat("a/", 2500))})
})

// TestX14_Names has names with every byte be served, and reach the audit trail
// and the terminal without harm.
func TestX14_Names(t *testing.T) {
	w := newWorld(t)
	w.mkdir("root/denied")
	w.policy("agent", rule("denied", "deny", "create", "/denied/**"), allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	attack(t, w, v, nil, nil)
	if got := len(v.events()); got < len(awkward()) {
		t.Errorf("%d events, want one for each of %d names at least", got, len(awkward()))
	}
	for line := range strings.Lines(v.said()) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.HasPrefix(line, "denied  write f") {
			t.Errorf("the terminal got %q", line)
		}
	}
}

// TestX14_CommandName has the caller's own name forge a line.
func TestX14_CommandName(t *testing.T) {
	w := newWorld(t)
	w.policy("agent", rule("denied", "deny", "create", "/denied"), allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	as(t, 0, func() {
		comm := []byte("\x1b[2Jx\ndenied\x00")
		unix.Prctl(unix.PR_SET_NAME, ptr(comm), 0, 0, 0)
		if got := errnoName(create(v.Path + "/denied")()); got != "EACCES" {
			t.Errorf("create(/denied) = %s, want EACCES", got)
		}
	})
	eventually(t, "the refusal is printed", func() error {
		if !strings.Contains(v.said(), "denied  create") {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	if strings.ContainsRune(v.said(), '\x1b') || strings.Count(v.said(), "\ndenied") > 1 {
		t.Errorf("the terminal got %q", v.said())
	}
	v.events()
}
