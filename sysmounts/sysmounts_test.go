package sysmounts

import (
	"slices"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

func TestS1_05_ListsPerPlatform(t *testing.T) {
	for _, c := range []struct {
		env  Environment
		want []string
	}{
		{Environment{OS: "linux"}, []string{
			"/usr", "/lib", "/lib64", "/bin", "/sbin",
			"/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs", "/etc/ca-certificates",
			"/dev/null", "/dev/zero", "/dev/urandom",
		}},
		{Environment{OS: "linux", Container: true}, []string{
			"/usr", "/lib", "/lib64", "/bin", "/sbin",
			"/etc/hosts", "/etc/resolv.conf", "/etc/ssl/certs", "/etc/ca-certificates",
			"/dev/null", "/dev/zero", "/dev/urandom",
			"/etc/alternatives",
		}},
		{Environment{OS: "darwin"}, []string{
			"/usr", "/bin", "/sbin", "/System/Library", "/Library/Frameworks",
			"/etc/hosts", "/etc/resolv.conf", "/opt/homebrew", "/usr/local/Cellar",
		}},
		{Environment{OS: "windows"}, []string{
			`C:\Windows\System32`, `C:\Program Files`, `C:\Program Files (x86)`,
		}},
		{Environment{OS: "freebsd"}, []string{"/usr", "/bin", "/sbin", "/etc/hosts", "/etc/resolv.conf"}},
	} {
		if got := For(c.env); !slices.Equal(got, c.want) {
			t.Errorf("For(%+v) = %q, want %q", c.env, got, c.want)
		}
	}
}

func TestS1_05_ListsCannotBeChangedByCallers(t *testing.T) {
	for _, os := range []string{"linux", "darwin", "windows", "plan9"} {
		env := Environment{OS: os}
		For(env)[0] = "/spoilt"
		if got := For(env)[0]; got == "/spoilt" {
			t.Errorf("For(%s) hands out its own list", os)
		}
	}
}

func TestS1_05_ListsAreClean(t *testing.T) {
	for _, env := range []Environment{{OS: "linux", Container: true}, {OS: "darwin"}, {OS: "other"}} {
		for _, p := range For(env) {
			if clean, err := vpath.Parse(p); err != nil || string(clean) != p {
				t.Errorf("For(%+v) holds %q, which is not a clean path", env, p)
			}
		}
	}
}

func TestS1_05_UserTargetsMeetNoSystemMount(t *testing.T) {
	for _, c := range []struct {
		os     string
		target vpath.Path
		want   string // "" for no conflict
	}{
		{"linux", "/usr", "/usr"},
		{"linux", "/usr/local/bin", "/usr"},
		{"linux", "/lib64/x", "/lib64"},
		{"linux", "/etc", "/etc/hosts"},
		{"linux", "/etc/ssl", "/etc/ssl/certs"},
		{"linux", "/dev", "/dev/null"},
		{"linux", "/dev/null", "/dev/null"},
		{"linux", "/", ""},
		{"linux", "/usrx", ""},
		{"linux", "/library", ""},
		{"linux", "/etc/hostsx", ""},
		{"linux", "/etc/alternatives", ""},
		{"linux", "/home/user/workspace", ""},
		{"darwin", "/opt", "/opt/homebrew"},
		{"darwin", "/System/Library/Fonts", "/System/Library"},
		{"windows", "/C:/Windows", ""},
	} {
		got, ok := Conflict(For(Environment{OS: c.os}), c.target)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Conflict(%s, %s) = %q, %v, want %q", c.os, c.target, got, ok, c.want)
		}
	}
}
