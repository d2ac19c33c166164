package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// line is an Event as it is written. The keys, their order, and which of them
// may be absent are a contract: see docs/audit.md.
type line struct {
	Time       string `json:"time"`
	Session    text   `json:"session"`
	Mount      text   `json:"mount"`
	Operation  string `json:"operation"`
	Path       text   `json:"path"`
	PathBytes  []byte `json:"path_bytes,omitempty"`
	To         text   `json:"to,omitempty"`
	ToBytes    []byte `json:"to_bytes,omitempty"`
	Decision   string `json:"decision"`
	Rule       text   `json:"rule"`
	At         text   `json:"at"`
	Policy     text   `json:"policy"`
	Errno      string `json:"errno"`
	Pid        uint32 `json:"pid"`
	Uid        uint32 `json:"uid"`
	Command    text   `json:"command"`
	Container  text   `json:"container"`
	Exec       text   `json:"exec"`
	Generation uint64 `json:"generation"`
	Message    text   `json:"message,omitempty"`
}

// timeLayout has a fixed width, so that lines sort by time as text.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// MarshalJSON returns one line without its newline. It holds no control
// character and no invalid UTF-8, whatever the event holds. A path that is not
// valid UTF-8 is there twice: with U+FFFD for what is not, and whole, in
// base64, under path_bytes (to_bytes).
func (e Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(line{
		Time:       e.Time.UTC().Format(timeLayout),
		Session:    text(e.Session),
		Mount:      text(e.Mount),
		Operation:  e.Operation,
		Path:       text(e.Path),
		PathBytes:  invalid(e.Path),
		To:         text(e.To),
		ToBytes:    invalid(e.To),
		Decision:   e.Decision,
		Rule:       text(e.Rule),
		At:         text(e.At),
		Policy:     text(e.Policy),
		Errno:      e.Errno,
		Pid:        e.Pid,
		Uid:        e.Uid,
		Command:    text(e.Command),
		Container:  text(e.Container),
		Exec:       text(e.Exec),
		Generation: e.Generation,
		Message:    text(e.Message),
	})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON reads what MarshalJSON wrote. Paths come back byte by byte,
// the time to the microsecond.
func (e *Event) UnmarshalJSON(b []byte) error {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	t, err := time.Parse(timeLayout, l.Time)
	if err != nil {
		return fmt.Errorf("audit event: %w", err)
	}
	*e = Event{
		Time:       t,
		Session:    string(l.Session),
		Mount:      vpath.Path(l.Mount),
		Operation:  l.Operation,
		Path:       whole(l.Path, l.PathBytes),
		To:         whole(l.To, l.ToBytes),
		Decision:   l.Decision,
		Rule:       string(l.Rule),
		At:         string(l.At),
		Policy:     string(l.Policy),
		Errno:      l.Errno,
		Pid:        l.Pid,
		Uid:        l.Uid,
		Command:    string(l.Command),
		Container:  string(l.Container),
		Exec:       string(l.Exec),
		Generation: l.Generation,
		Message:    string(l.Message),
	}
	return nil
}

// invalid returns the bytes of p if they are not valid UTF-8, else nil.
func invalid(p vpath.Path) []byte {
	if utf8.ValidString(string(p)) {
		return nil
	}
	return []byte(p)
}

func whole(shown text, raw []byte) vpath.Path {
	if len(raw) > 0 {
		return vpath.Path(raw)
	}
	return vpath.Path(shown)
}

// text is a string whose JSON a terminal can be shown. Package json escapes the
// ASCII controls only: it leaves DEL, the C1 controls (U+009B starts an escape
// sequence) and the marks that reorder what stands beside them.
type text string

// MarshalJSON escapes what is not printable as \u and replaces invalid UTF-8.
func (s text) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(s)+2), '"')
	for _, r := range string(s) {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == utf8.RuneError:
			b = append(b, `\ufffd`...)
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r <= 0xFFFF:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		}
	}
	return append(b, '"'), nil
}
