package runner

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"
	"golang.org/x/sys/unix"
)

func TestEngineEnsure(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	r.wantOutput(c, "id -u; id -g; pwd", "1000\n1000\n/work")
	r.wantOutput(c, "echo hello >/work/file && cat /work/file", "hello")
	r.wantOutput(c, "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -d ' \t'", "CapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1")
	r.wantOutput(c, "cat /proc/1/comm", "docker-init")
	r.wantOutput(c, "for d in /tmp /run /var/tmp /var/run; do touch $d/f && echo ok; done", "ok\nok\nok\nok")
	r.wantOutput(c, "ls /sys/class/net", "lo")
	info, err := os.Stat(r.dir + "/file")
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(r.dir+"/file", &st); err != nil || st.Uid != 1000 {
		t.Errorf("%s on the host belongs to %d, %v, want 1000", info.Name(), st.Uid, err)
	}
	for _, end := range []string{"", "KILL"} {
		if end != "" {
			if err := r.client.ContainerKill(t.Context(), c.ID, end); err != nil {
				t.Fatal(err)
			}
		}
		again, reason, err := r.Ensure(t.Context(), r.spec())
		if err != nil || reason != "" || again.ID != c.ID {
			t.Errorf("Ensure again after %q = %v, %q, %v, want the same container %v", end, again.ID, reason, err, c.ID)
		}
		r.wantOutput(again, "cat /work/file", "hello")
	}
}

// S4-04: every setting has a label, and a container of another one is replaced.
func TestEngineStale(t *testing.T) {
	r := newRig(t, nil)
	base := r.settings
	tests := []struct {
		reason string
		change func(*Settings, *Spec)
	}{
		{"sandboxfs.readonly", func(s *Settings, _ *Spec) { s.ReadOnly = true }},
		{"sandboxfs.security.profile", func(s *Settings, _ *Spec) { s.UnconfinedSecurity = true }},
		{"sandboxfs.capabilities", func(s *Settings, _ *Spec) { s.CapAdd = []string{"CAP_NET_RAW"} }},
		{"sandboxfs.capabilities", func(s *Settings, _ *Spec) { s.CapDrop = []string{"MKNOD"} }},
		{"sandboxfs.runtime", func(s *Settings, _ *Spec) { s.Runtime = "runc" }},
		{"sandboxfs.limits", func(s *Settings, _ *Spec) { s.Limits.Pids = 65 }},
		{"sandboxfs.network", func(_ *Settings, s *Spec) { s.Network = NetworkLocal }},
		{"sandboxfs.user", func(_ *Settings, s *Spec) { s.User = "1001:1001" }},
		{"sandboxfs.dir", func(_ *Settings, s *Spec) { s.Dir = "/tmp" }},
		{"sandboxfs.mounts", func(_ *Settings, s *Spec) { s.Binds[0].ReadOnly = true }},
	}
	last := r.ensure(r.spec())
	for _, tt := range tests {
		settings, spec := base, r.spec()
		tt.change(&settings, &spec)
		for _, step := range []struct {
			Settings
			Spec
		}{{settings, spec}, {base, r.spec()}} {
			r.restart(step.Settings)
			c, reason, err := r.Ensure(t.Context(), step.Spec)
			if err != nil || c.ID == last.ID || !strings.Contains(reason, tt.reason) {
				t.Fatalf("Ensure = %v, %q, %v, want another container because of %s", c.ID == last.ID, reason, err, tt.reason)
			}
			last = c
		}
	}
	r.restart(base)
	if c := r.ensure(r.spec()); c.ID != last.ID {
		t.Errorf("Ensure of a new runner with the same settings = %s, want the container %s that is there", c.ID, last.ID)
	}
}

// DNS servers change with the network that uses them.
func TestEngineResolv(t *testing.T) {
	r := newRig(t, func(s *Settings) { s.LocalDNS = []string{"192.0.2.1"} })
	spec := r.spec()
	spec.Network = NetworkLocal
	c := r.ensure(spec)
	r.wantOutput(c, "cat /etc/resolv.conf; touch /etc/resolv.conf 2>/dev/null; echo $?", "nameserver 192.0.2.1\n1")
	s := r.settings
	s.LocalDNS = []string{"192.0.2.2"}
	r.restart(s)
	_, reason, err := r.Ensure(t.Context(), spec)
	if err != nil || !strings.Contains(reason, "sandboxfs.dns.servers") {
		t.Errorf("Ensure = %q, %v, want a reason with sandboxfs.dns.servers", reason, err)
	}
	if err := r.Remove(t.Context(), spec.Session); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(s.StateDir); len(files) > 0 {
		t.Errorf("Remove left %v in the state directory", files)
	}
}

func TestEngineAtOnce(t *testing.T) {
	r := newRig(t, nil)
	other, err := New(r.settings, r.log) // as another process does it
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var wg sync.WaitGroup
	ids := make([]string, 6)
	for i := range ids {
		d := []*Docker{r.Docker, other}[i%2]
		wg.Go(func() {
			c, _, err := d.Ensure(t.Context(), r.spec())
			if err != nil {
				t.Errorf("Ensure: %v", err)
			}
			ids[i] = c.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("Ensure at once = %q, want one container", ids)
		}
	}
}

func TestEngineSweep(t *testing.T) {
	r := newRig(t, nil)
	for _, s := range []string{"a.b", "a-b"} {
		spec := r.spec()
		spec.Session, spec.Network = s, NetworkIsolated
		r.ensure(spec)
	}
	if got := len(r.left(t.Context())); got != 4 {
		t.Errorf("a.b and a-b have %v, want two containers and two networks", r.left(t.Context()))
	}
	swept, err := r.Sweep(t.Context(), func(s string) bool { return s == "a.b" })
	if err != nil || len(swept) != 1 || len(r.left(t.Context())) != 2 {
		t.Errorf("Sweep = %v, %v, left %v, want a-b gone with its network", swept, err, r.left(t.Context()))
	}
	s := r.settings
	s.ReadOnly = true
	r.restart(s)
	swept, err = r.Sweep(t.Context(), func(string) bool { return true })
	if err != nil || len(swept) != 1 || !strings.Contains(swept[0].Reason, "sandboxfs.readonly") {
		t.Errorf("Sweep after a change = %v, %v, want the container because of its label", swept, err)
	}
}

// A view that is mounted again comes back inside, where the host is shared.
func TestEnginePropagation(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	r := newRig(t, nil)
	mount := func(source, target, kind string, flags uintptr) {
		t.Helper()
		if err := unix.Mount(source, target, kind, flags, ""); err != nil {
			t.Fatalf("mount %s: %v", target, err)
		}
		t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
	}
	if err := os.Mkdir(r.dir+"/view", 0o755); err != nil {
		t.Fatal(err)
	}
	c := r.ensure(r.spec())
	if len(c.Notes) == 0 && exec.Command("findmnt", "-no", "PROPAGATION", "-T", r.dir).Run() == nil {
		t.Log("the host's mount is shared already")
	}
	mount(r.dir, r.dir, "", unix.MS_BIND)
	mount("", r.dir, "", unix.MS_SHARED)
	c, reason, err := r.Ensure(t.Context(), r.spec())
	if err != nil || len(c.Notes) > 0 {
		t.Fatalf("Ensure on a shared mount = %q, notes %q, %v", reason, c.Notes, err)
	}
	for _, content := range []string{"one", "two"} {
		mount("none", r.dir+"/view", "tmpfs", 0)
		if err := os.WriteFile(r.dir+"/view/file", []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		r.wantOutput(c, "cat /work/view/file", content)
		if err := unix.Unmount(r.dir+"/view", 0); err != nil {
			t.Fatal(err)
		}
		r.wantOutput(c, "ls /work/view", "")
	}
}

func TestEngineDrift(t *testing.T) {
	r := newRig(t, nil)
	c := r.ensure(r.spec())
	made, err := r.client.ContainerInspect(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.ContainerRemove(t.Context(), c.ID, container.RemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	host := made.HostConfig
	host.Mounts[0].Source = t.TempDir()
	if _, err := r.client.ContainerCreate(t.Context(), made.Config, host, nil, nil, c.Name); err != nil {
		t.Fatal(err)
	}
	_, reason, err := r.Ensure(t.Context(), r.spec())
	if err != nil || !strings.Contains(reason, "mount /work shows") {
		t.Errorf("Ensure of a container with the right labels and another mount = %q, %v, want that reason", reason, err)
	}
}
