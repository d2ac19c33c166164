package integration

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// model mounts one profile with every kind of mount: over a directory of the
// root, deep below nothing, a file, a readonly one.
func model(t *testing.T) (*world, *mount) {
	w := newWorld(t)
	w.write("root/src/app.ts", "app")
	w.write("root/cache/own", "covered")
	w.write("root/cachex/f", "of the root")
	w.write("root/deep/own", "of the root")
	w.write("cache/pkg", "pkg")
	w.write("deep/f", "deep")
	w.write("nowhere/f", "nowhere")
	w.write("conf/app.cfg", "v1")
	return w, w.mount(w.profile(`
root: ./root
mounts:
  - {source: ./cache, target: /cache, readonly: true}
  - {source: ./deep, target: /deep/b/c}
  - {source: ./nowhere, target: /a/b/c}
  - {source: ./conf/app.cfg, target: /etc/app.cfg}
guards: []
`))
}

// TestMountModel resolves each path by the longest target, by component, and
// synthesises what leads to a target. S0-01, S0-02, S0-03.
func TestMountModel(t *testing.T) {
	w, m := model(t)
	for path, want := range map[string]string{
		"/src/app.ts": "app", "/cache/pkg": "pkg", "/cachex/f": "of the root", "/deep/own": "of the root",
		"/deep/b/c/f": "deep", "/a/b/c/f": "nowhere", "/etc/app.cfg": "v1",
	} {
		if got := read(t, m.Path+path); got != want {
			t.Errorf("read(%s) = %q, want %q", path, got, want)
		}
	}
	for dir, want := range map[string]string{
		"/": "a cache cachex deep etc src", "/a": "b", "/a/b": "c", "/a/b/c": "f",
		"/deep": "b own", "/deep/b": "c", "/etc": "app.cfg", "/cache": "pkg",
	} {
		if got := strings.Join(names(t, m.Path+dir), " "); got != want {
			t.Errorf("list(%s) = %q, want %q", dir, got, want)
		}
	}
	for _, dir := range []string{"root/a", "root/etc", "root/deep/b"} {
		if _, err := os.Lstat(w.path(dir)); err == nil {
			t.Errorf("%s was made on the host: a synthesised directory leaves no trace", dir)
		}
	}
	must(t, os.WriteFile(m.Path+"/etc/app.cfg", []byte("v2"), 0o644))
	if got := read(t, w.path("conf/app.cfg")); got != "v2" {
		t.Errorf("source of a file mount after a write = %q, want v2", got)
	}
	w.write("conf/next", "v3")
	must(t, os.Rename(w.path("conf/next"), w.path("conf/app.cfg")))
	eventually(t, "a file mount follows the rename over its source", func() error {
		return differs(m.Path+"/etc/app.cfg", "v3")
	})
}

// TestMountModelErrnos tries what no mount allows. S0-01, S0-02.
func TestMountModelErrnos(t *testing.T) {
	_, m := model(t)
	p := func(path string) string { return m.Path + path }
	for _, tc := range []struct {
		call string
		err  error
		want error
		rule string
	}{
		{"create on a readonly mount", open(unix.O_WRONLY | unix.O_CREAT)(p("/cache/new")), unix.EROFS, "builtin:readonly-mount"},
		{"unlink on a readonly mount", unix.Unlink(p("/cache/pkg")), unix.EROFS, "builtin:readonly-mount"},
		{"rename across mounts", unix.Rename(p("/src/app.ts"), p("/a/b/c/app.ts")), unix.EXDEV, "builtin:cross-mount"},
		{"link across mounts", unix.Link(p("/src/app.ts"), p("/a/b/c/app.ts")), unix.EXDEV, "builtin:cross-mount"},
		{"rmdir of a target", unix.Rmdir(p("/a/b/c")), unix.EBUSY, "builtin:mountpoint"},
		{"rename of a target", unix.Rename(p("/a/b/c"), p("/src/c")), unix.EBUSY, "builtin:mountpoint"},
		{"rename of a target's ancestor", unix.Rename(p("/deep"), p("/src/deep")), unix.EBUSY, "builtin:mountpoint"},
		{"rename onto a target's ancestor", unix.Rename(p("/src"), p("/deep")), unix.EBUSY, "builtin:mountpoint"},
		{"rename onto a file target", unix.Rename(p("/src/app.ts"), p("/etc/app.cfg")), unix.EBUSY, "builtin:mountpoint"},
		{"unlink of a file target", unix.Unlink(p("/etc/app.cfg")), unix.EBUSY, "builtin:mountpoint"},
		{"create beside a file target", open(unix.O_WRONLY | unix.O_CREAT)(p("/etc/new")), unix.EACCES, "builtin:unmounted"},
		{"mkdir in a synthesised directory", unix.Mkdir(p("/a/new"), 0o755), unix.EACCES, "builtin:unmounted"},
		{"chmod of a synthesised directory", unix.Chmod(p("/a"), 0o700), unix.EACCES, "builtin:unmounted"},
		{"utimes of a synthesised directory", unix.Utimes(p("/a/b"), []unix.Timeval{{}, {}}), unix.EACCES, "builtin:unmounted"},
	} {
		if got := errno(tc.err); got != errno(tc.want) {
			t.Errorf("%s = %s, want %s", tc.call, got, errno(tc.want))
		}
		if !refusedBy(m, tc.rule) {
			t.Errorf("%s: no event names %s", tc.call, tc.rule)
		}
	}
	command{dir: m.Path}.run(t, "mv", "src/app.ts", "a/b/c/app.ts")
	if got := read(t, p("/a/b/c/app.ts")); got != "app" {
		t.Errorf("mv across mounts: content = %q, want app", got)
	}
}

// TestMountModelWithoutRoot has targets of any depth as the whole view. S0-02.
func TestMountModelWithoutRoot(t *testing.T) {
	w := newWorld(t)
	w.write("x/f", "x")
	m := w.mount(w.profile("mounts: [{source: ./x, target: /a/b/c}]\nsystem_mounts: off\n"))
	for dir, want := range map[string][]string{"": {"a"}, "/a": {"b"}, "/a/b": {"c"}, "/a/b/c": {"f"}} {
		if got := names(t, m.Path+dir); !slices.Equal(got, want) {
			t.Errorf("list(/%s) = %q, want %q", dir, got, want)
		}
	}
	wantErrno(t, "create in / without a root", open(unix.O_WRONLY|unix.O_CREAT)(m.Path+"/new"), unix.EACCES)
}

// TestMountShadowing has a longer target shadow a shorter one's content, and
// check say so. S0-04.
func TestMountShadowing(t *testing.T) {
	w := newWorld(t)
	w.write("outer/inner/f", "outer")
	w.write("inner/f", "inner")
	profile := w.profile("root: ./root\nmounts: [{source: ./outer, target: /m}, {source: ./inner, target: /m/inner}]\n")
	m := w.mount(profile)
	if got := read(t, m.Path+"/m/inner/f"); got != "inner" {
		t.Errorf("read(/m/inner/f) = %q, want the longer target's", got)
	}
	if out, errs, code := sandboxfs("check", profile); code != 0 || !strings.Contains(out+errs, "/m/inner") {
		t.Errorf("check = exit %d, want 0 and a note on /m/inner\n%s%s", code, out, errs)
	}
}

// TestOverlappingSources has a file that two paths reach obey the stricter of
// the two. S0-04.
func TestOverlappingSources(t *testing.T) {
	w := newWorld(t)
	w.write("root/lib/f", "x")
	m := w.mount(w.profile("root: ./root\nmounts: [{source: ./root/lib, target: /fixed, readonly: true}]\nguards: []\n"))
	for _, path := range []string{"/fixed/f", "/lib/f"} {
		wantErrno(t, "open("+path+", O_WRONLY)", open(unix.O_WRONLY)(m.Path+path), unix.EROFS)
	}
}

// TestResolve shows where paths lead, and refuses one that climbs out. S0-03, S0-07.
func TestResolve(t *testing.T) {
	w := newWorld(t)
	w.write("root/src/f", "x")
	w.write("cache/f", "x")
	profile := w.profile("root: ./root\nmounts: [{source: ./cache, target: /cache, readonly: true}]\n")
	for path, want := range map[string]string{
		"/src/f": "root/src/f", "/cache/f": "cache/f", "/cache/../src//f": "root/src/f", "/cachex": "root/cachex",
	} {
		out, errs, code := sandboxfs("resolve", profile, path)
		if code != 0 || !strings.Contains(out, w.path(want)) {
			t.Errorf("resolve %s = exit %d %q %q, want %s", path, code, out, errs, w.path(want))
		}
	}
	_, errs, code := sandboxfs("resolve", profile, "/../etc/passwd")
	if code == 0 || !strings.Contains(errs, "outside sandbox") {
		t.Errorf("resolve /../etc/passwd = exit %d %q, want a failure: outside sandbox", code, errs)
	}
}

// TestExpansion has variables in paths of a profile and in globs stand for what
// they say.
func TestExpansion(t *testing.T) {
	w := newWorld(t)
	w.write("home/project/f", "x")
	w.write("home/cache/secrets/f", "x")
	w.write("home/cache/free", "x")
	w.policy("agent", rule("secrets", "deny", "read", "${MOUNT}/secrets/**"), allowAll)
	m := w.mount(w.profile(`
root: ${HOME}/project
mounts: [{source: "~/${UNSET:-cache}", target: /cache, policy: agent}]
policies: [./policies]
`))
	if got := read(t, m.Path+"/f") + read(t, m.Path+"/cache/free"); got != "xx" {
		t.Errorf("read through expanded sources = %q, want xx", got)
	}
	wantErrno(t, "open(/cache/secrets/f)", open(unix.O_RDONLY)(m.Path+"/cache/secrets/f"), unix.EACCES)
}

// TestProfileByName mounts a profile of a config. S1-01.
func TestProfileByName(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	config := w.write("config.yaml", "mount_profiles:\n  agent: {root: ./root, policy: config-readonly}\n  other: {root: ./absent}\n")
	m := w.mount("agent", flags("--config", config))
	if got := read(t, m.Path+"/f"); got != "x" {
		t.Errorf("read(/f) = %q, want x", got)
	}
	wantErrno(t, "write under config-readonly", open(unix.O_WRONLY)(m.Path+"/f"), unix.EACCES)
}
