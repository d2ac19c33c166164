package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/audit"
	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/runner"
)

func TestRunUsage(t *testing.T) {
	for _, tt := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"run", "p"}, "run wants PROFILE -- CMD…"},
		{[]string{"run", "p", "sh"}, "run wants PROFILE -- CMD…"},
		{[]string{"run", "--", "p", "sh"}, "run wants PROFILE -- CMD…"},
		{[]string{"exec", "m"}, "exec wants MOUNTPOINT -- CMD…"},
		{[]string{"run", "--backend", "vm", "p", "--", "sh"}, `--backend "vm" is neither docker nor local`},
		{[]string{"run", "--network", "on", "p", "--", "sh"}, `--network "on" is none of off, isolated, local`},
		{[]string{"run", "--backend", "local", "--image", "i", "p", "--", "sh"}, "--image is for containers"},
		{[]string{"run", "--timeout", "-1s", "p", "--", "sh"}, "--timeout -1s is negative"},
		{[]string{"gc", "x"}, "gc wants no arguments"},
	} {
		code, _, stderr := cli(tt.args...)
		if code != exitUsage || !strings.HasPrefix(stderr, "sandboxfs: "+tt.stderr) {
			t.Errorf("sandboxfs %q = %d, %q, want %d, %q", tt.args, code, stderr, exitUsage, tt.stderr)
		}
	}
}

// What fails before anything is mounted leaves no record and no directory.
func TestRunRefuses(t *testing.T) {
	dir := tree(t, map[string]string{"runtime/": "", "full/x": "", "p.yaml": "root: full\n", "files.yaml": "mounts:\n  - {source: full/x, target: /x}\n"})
	t.Setenv("XDG_RUNTIME_DIR", dir+"/runtime")
	t.Chdir(dir)
	for _, tt := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"absent.yaml", "--", "true"}, "absent.yaml: no such file or directory"},
		{[]string{"--at", "absent", "p.yaml", "--", "true"}, "the mountpoint " + dir + "/absent does not exist"},
		{[]string{"files.yaml", "--", "true"}, "profile files shows files alone"},
	} {
		code, _, stderr := cli(append([]string{"run"}, tt.args...)...)
		if code != exitFailed || !strings.HasPrefix(stderr, "sandboxfs: "+tt.stderr) {
			t.Errorf("sandboxfs run %q = %d, %q, want %d, %q", tt.args, code, stderr, exitFailed, tt.stderr)
		}
	}
	if left, _ := filepath.Glob(dir + "/runtime/sandboxfs/*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestBinds(t *testing.T) {
	dir := tree(t, map[string]string{
		"src/": "", "file": "",
		"root.yaml": "root: src\nmounts:\n  - {source: file, target: /f}\n",
		"bare.yaml": "system_mounts: off\nmounts:\n  - {source: file, target: /etc/f}\n  - {source: src, target: /w}\n  - {source: src, target: /w/in}\n",
	})
	for name, want := range map[string]struct {
		binds []runner.Bind
		dir   string
	}{
		"root.yaml": {[]runner.Bind{{Source: "/m", Target: "/m"}}, "/m"},
		"bare.yaml": {[]runner.Bind{{Source: "/m/etc/f", Target: "/etc/f"}, {Source: "/m/w", Target: "/w"}}, "/w"},
	} {
		p, problems := profile.Load(filepath.Join(dir, name))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		if got, at := binds(p, "/m"); !slices.Equal(got, want.binds) || at != want.dir {
			t.Errorf("binds(%s) = %+v in %s, want %+v in %s", name, got, at, want.binds, want.dir)
		}
	}
}

func TestJobEnv(t *testing.T) {
	for _, name := range passedOn {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("TERM", "xterm")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("HERE", "value")
	t.Setenv("PATH", "/usr/bin:bin::/bin")
	t.Setenv("XDG_CACHE_HOME", "/src/cache")
	t.Setenv("XDG_DATA_HOME", "/elsewhere")
	var lines strings.Builder
	j := &job{
		app: &app{stderr: &lines}, local: &runner.Local{}, places: places{{{"/m", "/", "/m"}}, {{"/src", "/", "/m"}}},
		options: jobOptions{env: []string{"A=b=c", "HERE", "EMPTY=", "XDG_CACHE_HOME", "XDG_DATA_HOME", "OLDPWD=/src"}},
	}
	got := j.env(false)
	want := []string{"HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "A=b=c", "HERE=value", "EMPTY=", "XDG_CACHE_HOME=/m/cache", "OLDPWD=/src"}
	if want := "sandboxfs: XDG_DATA_HOME is left out: the sandbox has no /elsewhere\n"; lines.String() != want {
		t.Errorf("env says %q, want %q", lines.String(), want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("env = %q, want %q", got, want)
	}
	for _, bad := range []string{"=x", "NOT_SET_ANYWHERE", ""} {
		o := jobOptions{env: []string{bad}}
		if err := o.check(); err == nil {
			t.Errorf("check of --env %q passes, want an error", bad)
		}
	}
}

func TestTally(t *testing.T) {
	c := newTally()
	for _, e := range []audit.Event{
		{Rule: "a", At: "p.yaml:3", Path: "/1", Errno: "EACCES", Decision: "deny"},
		{Rule: "b", Path: "/2", Errno: "ENOENT", Decision: "hide"},
		{Rule: "b", Path: "/3", Errno: "ENOENT", Decision: "hide"},
		{Rule: "c", Path: "/4", Decision: "audit"},
		{Rule: "b", Path: "/m/2", Mount: "/m", Errno: "ENOENT", Decision: "hide"},
		{Rule: "a", At: "p.yaml:3", Path: "/m/1", Mount: "/m", Errno: "EACCES", Decision: "deny"},
	} {
		c.Write(e)
	}
	groups, sum := c.list()
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprint(g.count, rulePlace(g), g.example.Path))
	}
	if want := []string{"2a (p.yaml:3)/1", "2b/2", "1b/m/2"}; sum != 5 || !slices.Equal(got, want) {
		t.Errorf("list = %q, %d, want %q, 5", got, sum, want)
	}
}

// Where somebody else has put the directory of records there are none: theirs
// would say what this user's commands are to do.
func TestRuntimeDirOfOthers(t *testing.T) {
	dir := tree(t, map[string]string{"other/": "", "sandboxfs": "->other"})
	t.Setenv("XDG_RUNTIME_DIR", dir)
	if at, err := runtimeDir(); err == nil || !strings.Contains(err.Error(), dir+"/sandboxfs is not a directory of this user") {
		t.Errorf("runtimeDir through a link = %q, %v, want a refusal", at, err)
	}
	if os.Geteuid() != 0 {
		return // only root can give a directory away
	}
	if err := errors.Join(os.Remove(dir+"/sandboxfs"), os.Mkdir(dir+"/sandboxfs", 0o700),
		os.WriteFile(dir+"/sandboxfs/a.json", []byte(`{"id": "a", "mountpoint": "/mnt"}`), 0o600), os.Chown(dir+"/sandboxfs", 1, 1)); err != nil {
		t.Fatal(err)
	}
	if at, err := runtimeDir(); err == nil {
		t.Errorf("runtimeDir of another user = %q, want a refusal", at)
	}
	if list := records(dir + "/sandboxfs"); len(list) > 0 {
		t.Errorf("records of another user = %v", list)
	}
}

func TestRecord(t *testing.T) {
	dir := tree(t, map[string]string{"runtime/": "", "p.yaml": ""})
	t.Setenv("XDG_RUNTIME_DIR", dir+"/runtime")
	t.Chdir(dir)
	r, err := newRecord(record{Profile: "p.yaml", Config: "conf.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	mine := func() *record {
		for _, o := range records(runtimeDirs()...) {
			if o.ID == r.ID {
				return o
			}
		}
		return nil
	}
	if o := mine(); o == nil || o.dead || !o.Private || o.Profile != dir+"/p.yaml" || o.Config != dir+"/conf.yaml" || !ownedBy(o.Mountpoint, os.Geteuid()) {
		t.Errorf("record of a live daemon = %+v", o)
	}
	r.lock.Close() // as when its process dies
	o := mine()
	if o == nil || !o.dead {
		t.Fatalf("record of a dead daemon = %+v", o)
	}
	if err := o.remove(); err != nil || mine() != nil || ownedBy(r.Mountpoint, os.Geteuid()) {
		t.Errorf("remove = %v, and the record is %+v", err, mine())
	}
}
