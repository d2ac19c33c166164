package runner

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"
)

// internet is an address in a network namespace of its own, routed by this
// host, that stands for the world.
func internet(t *testing.T) (url string) {
	t.Helper()
	const here, there, content = "198.51.100.1/30", "198.51.100.2/30", "world"
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/index.html", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	world := exec.Command("unshare", "-n", "busybox", "httpd", "-f", "-p", "80", "-h", dir)
	if err := world.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		world.Process.Kill()
		world.Wait()
	})
	pid := fmt.Sprint(world.Process.Pid)
	own, _ := os.Readlink("/proc/self/ns/net")
	for ns := own; ns == own; ns, _ = os.Readlink("/proc/" + pid + "/ns/net") {
		time.Sleep(10 * time.Millisecond)
	}
	for _, line := range []string{
		"ip link add sandboxfs0 type veth peer name world0 netns " + pid,
		"ip addr add " + here + " dev sandboxfs0",
		"ip link set sandboxfs0 up",
		"nsenter -n -t " + pid + " ip addr add " + there + " dev world0",
		"nsenter -n -t " + pid + " ip link set world0 up",
	} {
		args := strings.Fields(line)
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	t.Cleanup(func() { exec.Command("ip", "link", "del", "sandboxfs0").Run() })
	return "http://198.51.100.2/"
}

// neighbours are the places that an isolated container must not reach.
func (r *rig) neighbours() map[string]string {
	r.t.Helper()
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "host") }))
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		r.t.Fatal(err)
	}
	host.Listener = listener
	host.Start()
	r.t.Cleanup(host.Close)
	port := listener.Addr().(*net.TCPAddr).Port

	urls := map[string]string{}
	for _, n := range []Network{NetworkIsolated, NetworkLocal} {
		spec := r.spec()
		spec.Session, spec.Network = "other-"+string(n), n
		c := r.ensure(spec)
		r.sh(c, "echo -n container >/tmp/index.html; httpd -p 8080 -h /tmp")
		address, _ := r.sh(c, `ip -4 addr show eth0 | sed -n 's,.*inet \([0-9.]*\)/.*,\1,p'`)
		urls[string(n)+" container"] = fmt.Sprintf("http://%s:8080/", address)
	}
	bridges, err := r.client.NetworkList(r.t.Context(), network.ListOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, b := range bridges {
		if of := b.Labels[labelInstance]; of != "" && of != r.settings.Instance && b.Name != localNetwork {
			continue // somebody else's, and about to go
		}
		if len(b.IPAM.Config) > 0 && b.IPAM.Config[0].Gateway != "" && b.Labels[labelFiltered] != "false" {
			urls["host by the bridge "+b.Name] = fmt.Sprintf("http://%s:%d/", b.IPAM.Config[0].Gateway, port)
		}
	}
	return urls
}

// fetch is a script that prints the last line behind a URL; busybox's wget, if
// it is static, crashes without the C library's files.
func fetch(url string) string {
	host, port, _ := strings.Cut(strings.Trim(strings.TrimPrefix(url, "http://"), "/"), ":")
	return fmt.Sprintf(`printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 1 %s %s 2>/dev/null | tail -n 1 | grep . || echo nothing`, host, cmp.Or(port, "80"))
}

func TestEngineNetworks(t *testing.T) {
	r := newRig(t, nil)
	if why := r.firewall.unusable(); why != "" {
		t.Skip("no firewall: " + why)
	}
	spec := r.spec()
	spec.Network = NetworkIsolated
	isolated := r.ensure(spec)
	if why := r.firewall.unusable(); why != "" {
		t.Skip("no firewall: " + why)
	}
	spec.Session, spec.Network = "l", NetworkLocal
	local := r.ensure(spec)
	world := internet(t)
	host := strings.Replace(world, "100.2", "100.1", 1)
	r.wantOutput(isolated, fetch(world), "world")
	r.wantOutput(local, fetch(world), "world")
	r.wantOutput(isolated, "cat /etc/resolv.conf", "nameserver 1.1.1.1\nnameserver 8.8.8.8")
	r.wantOutput(isolated, "grep eth0 /proc/net/if_inet6 | wc -l", "0")
	for name, url := range r.neighbours() {
		r.wantOutput(isolated, fetch(url), "nothing")
		port := url[strings.LastIndexByte(url, ':'):]
		want := "container"
		switch {
		case name == "isolated container":
			want = "nothing"
		case strings.HasPrefix(name, "host"):
			want = "host"
			r.wantOutput(isolated, fetch(strings.TrimSuffix(host, "/")+port), "nothing")
		}
		if strings.Contains(name, namePrefix+"other") || strings.Contains(name, isolated.Name) {
			continue // the host's address on an isolated bridge, which only local ones reach
		}
		t.Logf("from local to %s", name)
		r.wantOutput(local, fetch(url), want)
	}
	if _, err := r.Sweep(t.Context(), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if others, err := seesBridge(); err != nil || others {
		t.Logf("somebody else has an isolated network, whose rules stay (%v)", err)
		return
	}
	for _, command := range []string{"iptables", "ip6tables"} {
		if out, err := exec.Command(command, "-S").CombinedOutput(); err != nil || strings.Contains(string(out), "SANDBOXFS") {
			t.Errorf("%s -S after the last container = %v, %s, want none of our rules", command, err, out)
		}
	}
}

func TestEngineIsolatedWithoutFirewall(t *testing.T) {
	r := newRig(t, nil)
	r.firewall.disable("a test says so")
	spec := r.spec()
	spec.Network = NetworkIsolated
	c := r.ensure(spec)
	if len(c.Notes) == 0 || !strings.Contains(strings.Join(c.Notes, "\n"), "a test says so") {
		t.Errorf("notes %q, want the reason", c.Notes)
	}
	for _, url := range r.neighbours() {
		r.wantOutput(c, fetch(url), "nothing")
	}
	again, reason, err := r.Ensure(t.Context(), spec)
	if err != nil || reason != "" || again.ID != c.ID {
		t.Errorf("Ensure again = %s, %q, %v, want %s", again.ID, reason, err, c.ID)
	}
}
