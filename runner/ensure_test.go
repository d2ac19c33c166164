package runner

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"golang.org/x/sys/unix"
)

func plainSpec(t *testing.T) Spec {
	return Spec{Session: "s", Binds: []Bind{{Source: realDir(t), Target: "/work", Plain: true}}}
}

// S4-04: a label that is missing or another one makes a container stale, every
// one of them.
func TestStaleLabels(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	spec := plainSpec(t)
	c, _, err := d.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	labels := f.containers[c.Name].Config.Labels
	for _, key := range []string{
		"sandbox.runner", "sandboxfs.image.version", "sandboxfs.image.id", "sandboxfs.security.profile",
		"sandboxfs.capabilities", "sandboxfs.readonly", "sandboxfs.network", "sandboxfs.dns.profile", "sandboxfs.dns.servers",
		"sandboxfs.tmpfs.tmp", "sandboxfs.tmpfs.run", "sandboxfs.tmpfs.var_tmp", "sandboxfs.tmpfs.var_run", "sandboxfs.mounts",
	} {
		if _, ok := labels[key]; !ok {
			t.Errorf("label %s is missing", key)
		}
		for _, value := range []string{"", "another"} {
			last := f.containers[c.Name]
			last.Config.Labels = maps.Clone(last.Config.Labels)
			last.Config.Labels[key] = value
			if value == "" {
				delete(last.Config.Labels, key)
			}
			next, reason, err := d.Ensure(t.Context(), spec)
			if err != nil || next.ID == last.ID || !strings.Contains(reason, key) {
				t.Errorf("Ensure with label %s %q = %v, %q, %v, want another container and the label as reason", key, value, next.ID, reason, err)
			}
		}
	}
}

func TestStaleState(t *testing.T) {
	tests := []struct {
		name   string
		change func(*container.InspectResponse)
		want   string
	}{
		{"source", func(c *container.InspectResponse) { c.Mounts[0].Source = "/other" }, "mount /work shows /other"},
		{"writing", func(c *container.InspectResponse) { c.Mounts[0].RW = false }, "mount /work has writing false"},
		{"propagation", func(c *container.InspectResponse) { c.Mounts[0].Propagation = "shared" }, "propagation shared"},
		{"missing", func(c *container.InspectResponse) { c.Mounts = nil }, "mount /work is missing"},
		{"more", func(c *container.InspectResponse) {
			c.Mounts = append(c.Mounts, container.MountPoint{Type: "bind", Source: "/", Destination: "/host"})
		}, "mount /host of / is not asked for"},
		{"network", func(c *container.InspectResponse) { c.HostConfig.NetworkMode = "bridge" }, "on network bridge"},
		{"dead", func(c *container.InspectResponse) { c.State.Dead, c.State.Status = true, "dead" }, "it is dead"},
	}
	for _, tt := range tests {
		d, f, _ := fakeDocker(t, Settings{})
		spec := plainSpec(t)
		c, _, err := d.Ensure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(f.containers[c.Name])
		if next, reason, err := d.Ensure(t.Context(), spec); err != nil || next.ID == c.ID || !strings.Contains(reason, tt.want) {
			t.Errorf("%s: Ensure = %v, %q, %v, want another container because %q", tt.name, next.ID, reason, err, tt.want)
		}
	}
}

func TestEnsureHostConfig(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{CapAdd: []string{"CAP_NET_ADMIN", "MKNOD"}, CapDrop: []string{"MKNOD"}, Runtime: "runsc", ReadOnly: true, UnconfinedSecurity: true})
	c, _, err := d.Ensure(t.Context(), plainSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	h := f.containers[c.Name].HostConfig
	got := fmt.Sprintln(h.CapAdd, h.CapDrop, h.SecurityOpt, h.ReadonlyRootfs, *h.Init, h.Runtime, h.NetworkMode, *h.PidsLimit, h.Memory == h.MemorySwap, h.NanoCPUs, h.Privileged)
	want := "[NET_ADMIN] [ALL MKNOD] [no-new-privileges seccomp=unconfined apparmor=unconfined] true true runsc none 512 true 1000000000 false\n"
	if got != want || f.containers[c.Name].Config.User != "1000:1000" {
		t.Errorf("HostConfig = %s, want %s", got, want)
	}
	for _, dir := range []string{"/tmp", "/run", "/var/tmp", "/var/run"} {
		if got, want := h.Tmpfs[dir], "rw,exec,nosuid,nodev,mode=1777,uid=1000,gid=1000,size=1073741824"; got != want {
			t.Errorf("tmpfs on %s has %q, want %q", dir, got, want)
		}
	}
	if h.LogConfig.Type != "none" {
		t.Errorf("the engine keeps a log (%s) of a program that prints nothing", h.LogConfig.Type)
	}
}

// The user of the container reads its resolv.conf, whatever the caller's umask.
func TestEnsureResolvMode(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	d, _, _ := fakeDocker(t, Settings{})
	c, _, err := d.Ensure(t.Context(), Spec{Session: "s", Network: NetworkIsolated})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(d.resolvFile(c.Name)); err != nil || info.Mode() != 0o644 {
		t.Errorf("resolv.conf = %v, %v, want mode 0644", info, err)
	}
}

// S3-02: nothing is bound before the paths of an engine that is elsewhere are
// proven.
func TestEnsureBindsNothingUnproven(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	d.elsewhere = true
	if _, _, err := d.Ensure(t.Context(), plainSpec(t)); err == nil || !strings.Contains(err.Error(), "proven") || len(f.containers) > 0 {
		t.Errorf("Ensure = %v, with containers %v, want a refusal and none", err, f.containers)
	}
}

// Another process may make the container at the same time.
func TestEnsureAdoptsOnConflict(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	spec := plainSpec(t)
	other, _, err := d.Ensure(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	theirs := f.containers[other.Name]
	delete(f.containers, other.Name)
	f.before["create"] = func() { f.containers[other.Name] = theirs }
	c, reason, err := d.Ensure(t.Context(), spec)
	if err != nil || reason != "" || c.ID != other.ID {
		t.Errorf("Ensure = %v, %q, %v, want the other's container %v", c.ID, reason, err, other.ID)
	}
}

func TestEnsureLeavesNothing(t *testing.T) {
	for _, call := range []string{"network", "create", "start"} {
		d, f, _ := fakeDocker(t, Settings{})
		spec := plainSpec(t)
		spec.Network = NetworkIsolated
		broken := errors.New("no more room")
		f.fail[call] = broken
		_, _, err := d.Ensure(t.Context(), spec)
		files, _ := os.ReadDir(d.settings.StateDir)
		if !errors.Is(err, broken) || len(f.containers)+len(f.networks)+len(files) > 0 {
			t.Errorf("Ensure with a failing %s = %v, left %v, %v, %v", call, err, f.containers, f.networks, files)
		}
	}
}

// What is done is counted, and whether it came to be.
func TestCount(t *testing.T) {
	var counted []string
	d, f, _ := fakeDocker(t, Settings{Count: func(operation string, err error) {
		counted = append(counted, fmt.Sprint(operation, " ", err == nil))
	}})
	f.fail["start"] = errors.New("no more room")
	d.Ensure(t.Context(), plainSpec(t))
	c, _, err := d.Ensure(t.Context(), plainSpec(t))
	if err != nil {
		t.Fatal(err)
	}
	f.fail["exec"] = errors.New("no more room")
	d.Exec(t.Context(), c, Cmd{Args: []string{"true"}})
	f.fail["remove"] = errors.New("no more room")
	d.Remove(t.Context(), "s")
	d.Remove(t.Context(), "s")
	if want := []string{"ensure false", "ensure true", "exec false", "remove false", "remove true"}; !slices.Equal(counted, want) {
		t.Errorf("counted %q, want %q", counted, want)
	}
}

// A container whose network somebody removes is made anew, with a network.
func TestEnsureTriesAgain(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	spec := plainSpec(t)
	spec.Network = NetworkLocal
	f.fail["start"] = fmt.Errorf("network is gone: %w", errdefs.ErrNotFound)
	c, _, err := d.Ensure(t.Context(), spec)
	if err != nil || f.containers[c.Name] == nil || len(f.networks) != 1 {
		t.Errorf("Ensure = %v, %v, want a container after the second attempt", c, err)
	}
}

func TestNames(t *testing.T) {
	s := Settings{}
	sessions := []string{"a.b", "a-b", "a/b", "A-b", "é", "..", strings.Repeat("x", 300), strings.Repeat("x", 301)}
	names := map[string]string{}
	for _, session := range sessions {
		name := s.name(session)
		if other, taken := names[name]; taken || len(name) > 63 {
			t.Errorf("name(%q) = %s, which is taken by %q or too long", session, name, other)
		}
		names[name] = session
	}
	if s.name("a") == (Settings{Instance: "other"}).name("a") {
		t.Error("two instances share a name")
	}
	if n := len(bridgePrefix + s.hash("a")); n > 15 {
		t.Errorf("a bridge's name has %d characters, the kernel allows 15", n)
	}
}

func TestSweep(t *testing.T) {
	d, f, commands := fakeDocker(t, Settings{})
	for _, session := range []string{"keep", "end", "old"} {
		spec := plainSpec(t)
		spec.Session, spec.Network = session, NetworkIsolated
		if _, _, err := d.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	f.containers[d.settings.name("old")].Config.Labels[labelImage] = "sha256:0"
	delete(f.containers, d.settings.name("end")) // its network is left
	swept, err := d.Sweep(t.Context(), func(s string) bool { return s != "end" })
	var names []string
	for _, s := range swept {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	want := []string{d.settings.name("end"), d.settings.name("old")}
	if err != nil || !slices.Equal(names, want) || len(f.containers) != 1 || len(f.networks) != 1 {
		t.Errorf("Sweep = %v, %v, want %v removed and keep left, %v, %v", swept, err, want, f.containers, f.networks)
	}
	needed := d.firewall.needed
	d.firewall.needed = func() (bool, error) { return true, nil } // by another engine on this host
	*commands = nil
	if err := d.removeRules(t.Context()); err != nil || len(*commands) > 0 {
		t.Errorf("removeRules with a bridge of another engine = %v, commands %q, want none", err, *commands)
	}
	d.firewall.needed = needed
	if err := d.Remove(t.Context(), "keep"); err != nil || !slices.ContainsFunc(*commands, func(c string) bool { return strings.Contains(c, "-X "+chainInput) }) {
		t.Errorf("Remove of the last one = %v, commands %q, want the rules gone", err, *commands)
	}
	if err := d.Remove(t.Context(), "keep"); err != nil {
		t.Errorf("Remove of what is gone = %v, want nil", err)
	}
}

// S4-03: a bridge that was made where there could be rules is not used where
// there are none, and the engine's resolver does not lead to that of the host.
func TestIsolatedNetworkIsNotTakenOver(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	spec := Spec{Session: "s", Network: NetworkIsolated}
	for _, why := range []string{"", "iptables is gone", ""} {
		d.firewall.disable(why)
		c, _, err := d.Ensure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if n := f.networks[c.Name]; n.Internal != (why != "") {
			t.Errorf("with the firewall %q the network is internal %t", why, n.Internal)
		}
		if dns := f.containers[c.Name].HostConfig.DNS; !slices.Equal(dns, defaults.IsolatedDNS) {
			t.Errorf("the engine's resolver asks %q, want %q", dns, defaults.IsolatedDNS)
		}
		delete(f.containers, c.Name) // it crashed, and left its network
	}
}

// S4-03: a container does not stay on a network that is gone, or that was made
// where there could be rules.
func TestNetworkStale(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	spec := Spec{Session: "s", Network: NetworkIsolated}
	for _, tt := range []struct {
		change func(name string)
		want   string
	}{
		{func(string) {}, ""},
		{func(name string) { delete(f.networks, name) }, "its network is gone"},
		{func(string) { d.firewall.disable("iptables is gone") }, `its network has label sandboxfs.filtered "true", want "false"`},
	} {
		c, _, err := d.Ensure(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if icc := f.networks[c.Name].Options["com.docker.network.bridge.enable_icc"]; icc != "false" {
			t.Errorf("enable_icc of an isolated bridge is %q, want false", icc)
		}
		tt.change(c.Name)
		next, reason, err := d.Ensure(t.Context(), spec)
		if err != nil || reason != tt.want || (next.ID == c.ID) != (tt.want == "") {
			t.Errorf("Ensure = %v after %v, %q, %v, want another one because %q", next.ID, c.ID, reason, err, tt.want)
		}
	}
}

// An engine has a limited number of address ranges.
func TestNoAddressRange(t *testing.T) {
	d, f, _ := fakeDocker(t, Settings{})
	f.fail["network"] = errors.New("could not find an available, non-overlapping IPv4 address pool among the defaults")
	spec := plainSpec(t)
	spec.Network = NetworkIsolated
	if _, _, err := d.Ensure(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "default-address-pools") {
		t.Errorf("Ensure without a free range = %v, want an error that says what to change", err)
	}
}
