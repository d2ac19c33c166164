package sysmounts

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

func dir() *fstest.MapFile  { return &fstest.MapFile{Mode: fs.ModeDir | 0o755} }
func file() *fstest.MapFile { return &fstest.MapFile{Mode: 0o644} }
func link(to string) *fstest.MapFile {
	return &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(to)}
}
func of(mode fs.FileMode) *fstest.MapFile { return &fstest.MapFile{Mode: mode | 0o666} }

const charDevice = fs.ModeDevice | fs.ModeCharDevice

// mergedUsr is a host as current distributions lay it out, with systemd's
// resolver, behind a chain of links.
var mergedUsr = fstest.MapFS{
	"usr":                           dir(),
	"usr/bin":                       dir(),
	"usr/sbin":                      link("bin"),
	"usr/lib":                       dir(),
	"bin":                           link("usr/bin"),
	"sbin":                          link("/usr/sbin"),
	"lib":                           link("usr/lib"),
	"etc":                           dir(),
	"etc/hosts":                     file(),
	"etc/resolv.conf":               link("../run/systemd/resolve/stub-resolv.conf"),
	"etc/ssl":                       link("pki"),
	"etc/pki/certs":                 dir(),
	"etc/alternatives":              dir(),
	"run":                           dir(),
	"run/systemd/resolve":           link("/run/resolver/./"),
	"run/resolver/stub-resolv.conf": file(),
	"dev/null":                      of(charDevice),
	"dev/zero":                      of(charDevice),
	"dev/urandom":                   file(), // as some sandboxes have it
}

func TestS1_05_ExistingOnAMergedUsrHost(t *testing.T) {
	want := []overlay.Mount{
		{Target: "/usr", Source: "/usr", Kind: overlay.KindDir},
		{Target: "/lib", Source: "/lib", Kind: overlay.KindSymlink},
		{Target: "/bin", Source: "/bin", Kind: overlay.KindSymlink},
		{Target: "/sbin", Source: "/sbin", Kind: overlay.KindSymlink},
		{Target: "/etc/hosts", Source: "/etc/hosts", Kind: overlay.KindFile},
		{Target: "/etc/resolv.conf", Source: "/run/resolver/stub-resolv.conf", Kind: overlay.KindFile},
		{Target: "/etc/ssl/certs", Source: "/etc/pki/certs", Kind: overlay.KindDir},
		{Target: "/dev/null", Source: "/dev/null", Kind: overlay.KindDevice},
		{Target: "/dev/zero", Source: "/dev/zero", Kind: overlay.KindDevice},
		{Target: "/dev/urandom", Source: "/dev/urandom", Kind: overlay.KindFile},
		{Target: "/etc/alternatives", Source: "/etc/alternatives", Kind: overlay.KindDir},
	}
	got := existing(mergedUsr, For(Environment{OS: "linux", Container: true}))
	if len(got) != len(want) {
		t.Fatalf("existing() = %d mounts, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		want[i].ReadOnly, want[i].System, want[i].Policy = true, true, "system-readonly"
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("existing()[%d] = %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestS1_05_ExistingLeavesOutWhatCannotBeShown(t *testing.T) {
	host := fstest.MapFS{
		"dangling": link("nowhere"),
		"loop":     link("pool"),
		"pool":     link("/loop"),
		"self":     link("self"),
		"sda":      of(fs.ModeDevice),
		"tty":      of(charDevice),
		"socket":   of(fs.ModeSocket),
		"fifo":     of(fs.ModeNamedPipe),
		"through":  file(),
	}
	paths := []string{"/missing", "/dangling", "/loop", "/self", "/sda", "/tty", "/socket", "/fifo", "/through/file", `C:\Windows`, "/../etc"}
	if got := existing(host, paths); len(got) != 0 {
		t.Errorf("existing(%q) = %+v, want none", paths, got)
	}
}

func TestS1_05_ExistingOnARealTree(t *testing.T) {
	root := t.TempDir()
	for _, d := range []string{"usr/bin", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "etc/hosts"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	kinds := map[vpath.Path]overlay.Kind{}
	for _, m := range existing(os.DirFS(root), For(Environment{OS: "linux"})) {
		kinds[m.Target] = m.Kind
	}
	want := map[vpath.Path]overlay.Kind{"/usr": overlay.KindDir, "/bin": overlay.KindSymlink, "/etc/hosts": overlay.KindFile}
	if !reflect.DeepEqual(kinds, want) {
		t.Errorf("existing(%s) = %v, want %v", root, kinds, want)
	}
}

func TestS1_05_ExistingHereIsReadonlyAndServable(t *testing.T) {
	mounts := Existing(For(Detect()))
	if len(mounts) == 0 {
		t.Fatal("Existing(For(Detect())) = none; this host must have at least /usr")
	}
	for _, m := range mounts {
		if !m.ReadOnly || !m.System || m.Policy != PolicyName || len(m.Layers) != 0 {
			t.Errorf("Existing(): %+v, want readonly, system, under %s and without layers", m, PolicyName)
		}
	}
	if _, err := overlay.New(mounts); err != nil {
		t.Errorf("overlay.New(Existing()) = %v", err)
	}
}
