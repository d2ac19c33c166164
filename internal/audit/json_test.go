package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 250_000_000, time.FixedZone("CET", 3600))

func full() Event {
	return Event{
		Time: noon, Session: "s1", Mount: "/", Operation: "rename", Path: "/src/.env", To: "/src/<env>",
		Decision: "deny", Rule: "no-dotenv", At: "policies/default.yaml:14", Policy: "default", Errno: "EACCES",
		Pid: 1234, Uid: 1000, Command: "vim", Container: "0123456789ab", Exec: "run-7", Generation: 3, Message: "secrets stay out of the view",
	}
}

// The keys and their order are a contract with whoever reads the file.
func TestEventJSON(t *testing.T) {
	tests := []struct {
		name  string
		event Event
		want  string
	}{
		{"every key", full(), `{"time":"2026-11-21T11:00:00.250000Z","session":"s1","mount":"/","operation":"rename",` +
			`"path":"/src/.env","to":"/src/<env>","decision":"deny","rule":"no-dotenv","at":"policies/default.yaml:14",` +
			`"policy":"default","errno":"EACCES","pid":1234,"uid":1000,"command":"vim","container":"0123456789ab","exec":"run-7","generation":3,` +
			`"message":"secrets stay out of the view"}`},
		{"few values", Event{Time: noon, Operation: "read", Path: "/a", Decision: "audit", Rule: "watch"},
			`{"time":"2026-11-21T11:00:00.250000Z","session":"","mount":"","operation":"read","path":"/a","decision":"audit",` +
				`"rule":"watch","at":"","policy":"","errno":"","pid":0,"uid":0,"command":"","container":"","exec":"","generation":0}`},
	}
	for _, tt := range tests {
		got, err := tt.event.MarshalJSON()
		if string(got) != tt.want || err != nil {
			t.Errorf("%s: MarshalJSON() =\n%s, %v, want\n%s", tt.name, got, err, tt.want)
		}
	}
}

// names with newlines, terminal escapes and invalid UTF-8 make one safe
// line, and come back as they were.
func TestEventJSONHostileNames(t *testing.T) {
	tests := []struct {
		path vpath.Path
		want string // within the line
	}{
		{"/a\nb", `"path":"/a\u000ab"`},
		{"/\x1b[2Jx", `"path":"/\u001b[2Jx"`},
		{"/\u009b2Jx", `"path":"/\u009b2Jx"`},
		{"/del\x7f", `"path":"/del\u007f"`},
		{"/\u202egpj.exe", `"path":"/\u202egpj.exe"`},
		{"/\u2028", `"path":"/\u2028"`},
		{"/\U000e0041", `"path":"/\udb40\udc41"`},
		{"/quote\"back\\slash", `"path":"/quote\"back\\slash"`},
		{"/grüße/日本", `"path":"/grüße/日本"`},
		{"/<a>&b", `"path":"/<a>&b"`},
		{"/bad\xff\xfe", `"path":"/bad\ufffd\ufffd","path_bytes":"L2JhZP/+"`},
		{"/real\uFFFD", `"path":"/real\ufffd","decision"`},
	}
	for _, tt := range tests {
		e := Event{Time: noon, Path: tt.path, Decision: "deny"}
		got, err := e.MarshalJSON()
		if !strings.Contains(string(got), tt.want) || err != nil {
			t.Errorf("MarshalJSON(path %q) = %s, %v, want %s in it", tt.path, got, err, tt.want)
		}
	}
}

func FuzzEventJSON(f *testing.F) {
	f.Add("/a\nb", "/\xff", "vim\x1b]0;title\a")
	f.Add("/\u009b", "", "\u2028<script>")
	f.Add("/\xed\xa0\x80", "/\U0010FFFF", "\x00")
	f.Fuzz(func(t *testing.T, path, to, comm string) {
		e := full()
		e.Path, e.To, e.Command = vpath.Path(path), vpath.Path(to), comm
		b, err := e.MarshalJSON()
		if err != nil {
			t.Fatalf("MarshalJSON() = %v", err)
		}
		if !utf8.Valid(b) {
			t.Errorf("MarshalJSON() = %q, not valid UTF-8", b)
		}
		for _, r := range string(b) {
			if !unicode.IsPrint(r) {
				t.Errorf("MarshalJSON() = %q holds %q", b, r)
			}
		}
		var back Event
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("Unmarshal(%s) = %v", b, err)
		}
		if back.Path != e.Path || back.To != e.To {
			t.Errorf("paths %q, %q came back as %q, %q", e.Path, e.To, back.Path, back.To)
		}
		back.Path, back.To, back.Command, back.Time = e.Path, e.To, e.Command, e.Time
		if back != e {
			t.Errorf("came back as %+v, want %+v", back, e)
		}
	})
}
