package runner

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

func TestEngineRefusals(t *testing.T) {
	r := newRig(t, nil)
	secret := t.TempDir()
	base := r.settings
	tests := []struct {
		name   string
		change func(*Settings, *Spec)
		want   string
	}{
		{"no image", func(s *Settings, _ *Spec) { s.Image = "nosuch" }, "docker import - nosuch:" + testTag},
		{"no runtime", func(s *Settings, _ *Spec) { s.Runtime = "nosuch" }, `no runtime "nosuch"; it has`},
		{"empty source", func(_ *Settings, s *Spec) { s.Binds[0].Source = "" }, "the source is empty"},
		{"relative source", func(_ *Settings, s *Spec) { s.Binds[0].Source = "x" }, "not an absolute path"},
		{"missing source", func(_ *Settings, s *Spec) { s.Binds[0].Source += "/nosuch" }, "does not exist, and is not made"},
		{"no view", func(_ *Settings, s *Spec) { s.Binds[0].Plain = false }, "not within a view"},
		{"root", func(_ *Settings, s *Spec) { s.Binds[0].Source = "/" }, "is refused"},
		{"state", func(s *Settings, b *Spec) { b.Binds[0].Source = s.StateDir }, "the state directory"},
		{"socket", func(_ *Settings, s *Spec) { s.Binds[0].Source = strings.TrimPrefix(r.address, "unix://") }, "the engine's socket"},
		{"backing", func(s *Settings, b *Spec) {
			s.Protected = []Protected{{r.dir + "/sub", "the backing directory of a mount"}}
		}, "the backing directory"},
		{"below backing", func(s *Settings, b *Spec) {
			s.Protected = []Protected{{secret, "the backing directory of a mount"}}
			if err := os.Symlink(secret, r.dir+"/link"); err != nil {
				t.Fatal(err)
			}
			b.Binds[0].Source = r.dir + "/link"
		}, "the backing directory"},
		{"over /dev", func(_ *Settings, s *Spec) { s.Binds[0].Target = "/dev/x" }, "keeps"},
		{"over tmpfs", func(_ *Settings, s *Spec) { s.Binds[0].Target = "/tmp" }, "something else"},
		{"host path", func(s *Settings, _ *Spec) { s.HostPaths = HostPaths{"/nosuch/a", "/nosuch/b"} }, "/nosuch/a"},
	}
	for _, tt := range tests {
		settings, spec := base, r.spec()
		tt.change(&settings, &spec)
		r.restart(settings)
		c, _, err := r.Ensure(t.Context(), spec)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: Ensure = %v, %v, want one line with %q", tt.name, c.Name, err, tt.want)
		}
	}
	r.restart(base)
	if left := r.left(t.Context()); len(left) > 0 {
		t.Errorf("refusals left %v", left)
	}
	if _, err := os.Stat(r.dir + "/nosuch"); err == nil {
		t.Error("the missing source was made")
	}
}

// S3-02: the host path is proven, and both paths are named where it is wrong.
func TestEngineHostPaths(t *testing.T) {
	r := newRig(t, nil)
	root, other := r.dir, realDir(t)
	r.settings.HostPaths = HostPaths{Root: root}
	if p, err := r.FindHostPaths(t.Context()); err != nil || p.HostRoot == "" {
		t.Errorf("FindHostPaths = %+v, %v, want what the engine sees", p, err)
	}
	for _, wrong := range []string{other, other + "/nosuch"} {
		r.settings.HostPaths = HostPaths{Root: root, HostRoot: wrong}
		_, err := r.FindHostPaths(t.Context())
		if err == nil || !strings.Contains(err.Error(), root) || !strings.Contains(err.Error(), wrong) {
			t.Errorf("FindHostPaths with a wrong host path = %v, want both paths in it", err)
		}
	}
	if files, _ := os.ReadDir(root); len(files) > 0 {
		t.Errorf("the proof left %v", files)
	}
	if left := r.left(t.Context()); len(left) > 0 {
		t.Errorf("the proof left %v on the engine", left)
	}
	// A container that has root at another place stands for this process's own.
	self, err := r.client.ContainerCreate(t.Context(),
		&container.Config{Image: testImage + ":" + testTag, Cmd: []string{"true"}, Labels: map[string]string{labelInstance: r.settings.Instance, labelRunner: "true"}},
		&container.HostConfig{Mounts: []mount.Mount{{Type: mount.TypeBind, Source: other, Target: "/elsewhere"}}}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	r.mounts = func() (mountinfo.Table, error) {
		return mountinfo.Parse(strings.NewReader("1 0 8:1 /var/lib/docker/containers/" + self.ID + "/hostname /etc/hostname rw - ext4 a rw\n"))
	}
	if got, err := r.detectHostRoot(t.Context(), "/elsewhere/sub"); err != nil || got != other+"/sub" {
		t.Errorf("detectHostRoot = %q, %v, want %q", got, err, other+"/sub")
	}
	if got, err := r.detectHostRoot(t.Context(), "/volatile"); err == nil {
		t.Errorf("detectHostRoot of what is on no volume = %q, want an error", got)
	}
}

func TestNoEngine(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", dir+"/dead.sock")
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
	tests := []struct{ socket, want string }{
		{dir + "/nosuch.sock", "there is no socket"},
		{dir + "/dead.sock", "nothing listens at"},
	}
	if os.Geteuid() != 0 {
		if err := os.WriteFile(dir+"/forbidden.sock", nil, 0); err != nil {
			t.Fatal(err)
		}
		tests = append(tests, struct{ socket, want string }{dir + "/forbidden.sock", "may not write to"})
	}
	for _, tt := range tests {
		d, err := New(Settings{SocketPath: tt.socket}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, _, ensureErr := d.Ensure(t.Context(), Spec{Session: "s"})
		for _, err := range []error{d.Ping(t.Context()), ensureErr} {
			if !errors.Is(err, ErrEngine) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("with %s: %v, want ErrEngine with %q", tt.socket, err, tt.want)
			}
		}
		d.Close()
	}
}
