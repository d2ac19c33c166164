package expand

import (
	"strings"
	"testing"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"HOME": "/home/u", "PROJECT": "web", "EMPTY": "", "NESTED": "${HOME}"}[name]
	return v, ok
}

func TestPath(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"/plain/path", "/plain/path"},
		{"~", "/home/u"},
		{"~/x", "/home/u/x"},
		{"/a/~/b", "/a/~/b"},
		{"./~bob", "./~bob"},
		{"${HOME}/src/${PROJECT}", "/home/u/src/web"},
		{"${PROJECT}${PROJECT}", "webweb"},
		{"${UNSET:-/tmp}/x", "/tmp/x"},
		{"${EMPTY:-/tmp}/x", "/tmp/x"},
		{"${PROJECT:-other}", "web"},
		{"a${UNSET:-}b", "ab"},
		{"a${EMPTY}b", "ab"},
		{"${NESTED}", "${HOME}"},
		{"cost$ $1 $HOME", "cost$ $1 $HOME"},
		{"", ""},
	} {
		if got, err := Path(tt.in, lookup); err != nil || got != tt.want {
			t.Errorf("Path(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

func TestPathErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"${UNSET}/x", "UNSET is not set"},
		{"~bob/x", "home of another user"},
		{"${HOME", "no closing brace"},
		{"${}", "not a variable"},
		{"${1A}", "not a variable"},
		{"${A-b}", "not a variable"},
		{"${HÖME}", "not a variable"},
	} {
		if got, err := Path(tt.in, lookup); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Path(%q) = %q, %v, want an error with %q", tt.in, got, err, tt.want)
		}
	}
}
