package runner

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/client"
)

// Tests named TestEngine… run on the engine that DOCKER_HOST or the default
// socket leads to, with an image made of busybox, and leave nothing there.

const testImage = "sandboxfs-runner-test"

// testTag is this run's own: another one may end, and take its image away.
var testTag = fmt.Sprint(os.Getpid())

// engineClient returns a client of the engine, or skips the test.
func engineClient(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Ping(t.Context()); err != nil {
		t.Skipf("no container engine answers: %v", err)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no busybox to make an image of; apt install busybox-static")
	}
	importImage(t, c, busybox)
	return c
}

// importImage makes the image, once: its name stays until the last test.
func importImage(t *testing.T, c *client.Client, busybox string) {
	t.Helper()
	if _, err := c.ImageInspect(t.Context(), testImage+":"+testTag); err == nil {
		return
	}
	binary, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	put := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		w.Write(data)
	}
	put(tar.Header{Name: "bin/busybox", Mode: 0o755}, binary)
	list, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(list)) {
		if name != "busybox" {
			put(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox"}, nil)
		}
	}
	put(tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n"))
	put(tar.Header{Name: "run/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	put(tar.Header{Name: "var/run", Typeflag: tar.TypeSymlink, Linkname: "/run"}, nil)
	w.Close()
	source := image.ImportSource{Source: &archive, SourceName: "-"}
	out, err := c.ImageImport(t.Context(), source, testImage+":"+testTag, image.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.ReadAll(out); err != nil {
		t.Fatal(err)
	}
}

// rig is a runner on the engine, an instance of its own.
type rig struct {
	*Docker
	t      *testing.T
	client *client.Client
	dir    string // where binds come from
}

func newRig(t *testing.T, change func(*Settings)) *rig {
	t.Helper()
	c := engineClient(t)
	s := Settings{
		Image: testImage, Tag: testTag, Instance: t.Name() + t.TempDir(), StateDir: t.TempDir(),
		Limits: Limits{Memory: 256 << 20, Pids: 64},
	}
	if change != nil {
		change(&s)
	}
	r := &rig{t: t, client: c, dir: realDir(t)}
	r.restart(s)
	t.Cleanup(r.cleanup)
	return r
}

// realDir is an empty directory that the engine's containers may write to.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for up := filepath.Dir(dir); up != "/" && strings.Contains(up, "Test"); up = filepath.Dir(up) {
		os.Chmod(up, 0o755)
	}
	return dir
}

// restart makes another runner in place of the one that there is.
func (r *rig) restart(s Settings) {
	r.t.Helper()
	d, err := New(s, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.Docker = d; d.elsewhere {
		if _, err := d.FindHostPaths(r.t.Context()); err != nil {
			r.t.Skipf("the engine does not see the files of this test: %v", err)
		}
	}
}

// cleanup sweeps the instance, and fails the test if the engine holds anything
// of it afterwards.
func (r *rig) cleanup() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if _, err := r.Sweep(ctx, func(string) bool { return false }); err != nil {
		r.t.Errorf("Sweep: %v", err)
	}
	if left := r.left(ctx); len(left) > 0 {
		r.t.Errorf("left behind: %v", left)
	}
	r.Close()
}

// left are the containers and networks of the instance.
func (r *rig) left(ctx context.Context) []string {
	mine := filters.NewArgs(filters.Arg("label", labelInstance+"="+r.settings.Instance))
	var left []string
	containers, err := r.client.ContainerList(ctx, container.ListOptions{All: true, Filters: mine})
	if err != nil {
		r.t.Error(err)
	}
	for _, c := range containers {
		left = append(left, "container "+c.Names[0])
	}
	nets, err := r.client.NetworkList(ctx, network.ListOptions{Filters: mine})
	if err != nil {
		r.t.Error(err)
	}
	for _, n := range nets {
		left = append(left, "network "+n.Name)
	}
	return left
}

func (r *rig) spec() Spec {
	return Spec{Session: "s", Binds: []Bind{{Source: r.dir, Target: "/work", Plain: true}}, Dir: "/work"}
}

func (r *rig) ensure(spec Spec) Container {
	r.t.Helper()
	c, reason, err := r.Ensure(r.t.Context(), spec)
	if err != nil {
		r.t.Fatalf("Ensure(%q) = %q, %v", spec.Session, reason, err)
	}
	return c
}

// sh runs a script and returns its output, both streams, and its exit code.
func (r *rig) sh(c Container, script string) (string, int) {
	r.t.Helper()
	var out bytes.Buffer
	result, err := r.Exec(r.t.Context(), c, Cmd{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out, Timeout: 20 * time.Second})
	if err != nil {
		r.t.Fatalf("Exec(sh -c %q) = %v, output %q", script, err, out.String())
	}
	return strings.TrimSpace(out.String()), result.ExitCode
}

func (r *rig) wantOutput(c Container, script, want string) {
	r.t.Helper()
	if got, code := r.sh(c, script); got != want {
		r.t.Errorf("sh -c %q = %q, exit code %d, want %q", script, got, code, want)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if c, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation()); err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		c.ImageRemove(ctx, testImage+":"+testTag, image.RemoveOptions{PruneChildren: true})
		cancel()
		c.Close()
	}
	os.Exit(code)
}
