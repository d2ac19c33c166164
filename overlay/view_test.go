package overlay

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

func TestS0_04_NewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		mounts []Mount
		want   []string
	}{
		{"nothing", nil, []string{"no mounts"}},
		{"duplicate target", []Mount{dir("/a", "/x"), dir("/b", "/y"), dir("/a", "/z")},
			[]string{"duplicate target /a: sources /x and /z"}},
		{"every problem at once", []Mount{dir("/a", "/x"), dir("/a", "/y"), dir("b", "/z"), dir("", "/z")},
			[]string{"duplicate target /a", `target "b"`, `target ""`}},
		{"target that is not clean", []Mount{dir("/a/", "/x"), dir("/a/../b", "/x")},
			[]string{`target "/a/"`, `target "/a/../b"`}},
		{"layer without a policy", []Mount{{Target: "/a", Source: "/x", Layers: []Layer{{Kind: "base"}}}},
			[]string{"target /a: base layer without a policy"}},
		{"root that is a file", []Mount{kind(KindFile, dir("/", "/x"))},
			[]string{"target /: source /x is a file, want a directory"}},
		{"target below a file", []Mount{kind(KindFile, dir("/f", "/x")), dir("/f/sub", "/y")},
			[]string{"target /f/sub lies below /f, which is a file"}},
		{"target below a link", []Mount{kind(KindSymlink, dir("/bin", "/bin")), dir("/bin/a/b", "/y")},
			[]string{"target /bin/a/b lies below /bin, which is a symbolic link"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := New(c.mounts)
			if err == nil {
				t.Fatalf("New() = %v, nil, want an error", v)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New() = %q, want it to say %q", err, want)
				}
			}
		})
	}
}

func TestNewKeepsOrderAndCopies(t *testing.T) {
	given := []Mount{dir("/b", "/y/"), dir("/", "/x"), dir("/b/c", "/z")}
	v := newView(t, given...)
	given[0].Target = "/changed"
	given[0].Layers[0].Kind = "changed"
	var got []vpath.Path
	for _, m := range v.Mounts() {
		got = append(got, m.Target)
	}
	if want := []vpath.Path{"/b", "/", "/b/c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Mounts() has the targets %v, want %v", got, want)
	}
	if m := v.Mounts()[0]; m.Source != "/y" || m.Anchor != "/y" {
		t.Errorf("Mounts()[0] has source %q and anchor %q, want /y", m.Source, m.Anchor)
	}
	if layer := v.Mounts()[0].Layers[0]; layer.Kind != "mount" {
		t.Errorf("Mounts()[0] has a layer of the kind %q, changed after New", layer.Kind)
	}
	again := newView(t, v.Mounts()...)
	if got := again.Resolve("/b/c/d").Mount; got != &again.mounts[2] {
		t.Errorf("a view built from Mounts() resolves /b/c/d to %p of another view", got)
	}
}
