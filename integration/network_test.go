package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// target is a web server that containers try to reach.
type target struct{ address, port, says string }

// places are what there is around the site, by name. GATEWAY stands for the
// host's address on the container's own bridge.
func (s *site) places(more map[string]target) map[string]target {
	all := map[string]target{
		"own gateway":                        {"GATEWAY", "8000", "host"},
		"published port at the gateway":      {"GATEWAY", "8080", "container"},
		"published port at the host":         {"198.51.100.1", "8080", "container"},
		"published port of a public network": {"198.51.100.1", "8081", "container"},
		"container of others":                {strings.TrimSpace(s.run(s.t, "docker", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", "other")), "80", "container"},
		"container of a public network":      {"203.0.113.10", "80", "container"},
	}
	for _, a := range hostAddresses {
		all["host "+a] = target{a, "8000", "host"}
	}
	for _, a := range slices.Concat(publicAddresses, privateAddresses) {
		all["world "+a] = target{a, "80", "world"}
	}
	for name, t := range more {
		all[name] = t
	}
	for name, t := range all {
		if t.address == "" {
			s.t.Fatalf("%s has no address", name)
		}
	}
	return all
}

// probe is a script that tells for each place whether it was reached.
func probe(places map[string]target) string {
	var b strings.Builder
	b.WriteString(`gateway=$(ip route | sed -n 's/^default via \([0-9.]*\).*/\1/p')
try() {
	for i in 1 2 3; do
		out=$(printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 4 "$2" "$3" 2>/dev/null | tail -n 1)
		[ "$out" = "$4" ] && echo "reached: $1" && break
	done
}
`)
	for name, t := range places {
		fmt.Fprintf(&b, "try '%s' %s %s %s &\n", name, strings.Replace(t.address, "GATEWAY", `"${gateway:-192.0.2.9}"`, 1), t.port, t.says)
	}
	return b.String() + "wait\n"
}

// wantReached compares what probe printed.
func wantReached(t *testing.T, who, output string, places map[string]target, want func(name string) bool) {
	t.Helper()
	for name := range places {
		got := strings.Contains("\n"+output, "\nreached: "+name+"\n")
		if got != want(name) {
			t.Errorf("%s reaches %s: %t, want %t", who, name, got, want(name))
		}
	}
}

// TestNetworks shows what containers of each network reach: S4-03.
func TestNetworks(t *testing.T) {
	s := newSite(t)
	s.surround()
	must(t, os.Chmod(s.path("root"), 0o777))
	neighbour := `echo container >/tmp/index.html; httpd -p 8080 -h /tmp; ip -4 addr show eth0 | sed -n 's,.*inet \([0-9.]*\)/.*,\1,p' >NAME; sleep 1000`
	more := map[string]target{}
	for _, network := range []string{"isolated", "local"} {
		argv := s.in(executable, "run", "--image", s.image, "--network", network, s.path("profile.yaml"), "--", "sh", "-c", strings.Replace(neighbour, "NAME", network, 1))
		cmd := s.cmd(context.Background(), argv...)
		must(t, cmd.Start())
		defer func() {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			cmd.Wait()
		}()
		eventually(t, "the neighbour on "+network, func() error {
			text, err := os.ReadFile(s.path("root/" + network))
			if err == nil && len(text) < 8 {
				err = fmt.Errorf("%q", text)
			}
			more["neighbour on "+network] = target{strings.TrimSpace(string(text)), "8080", "container"}
			return err
		})
	}
	places := s.places(more)

	out, _ := s.cage(probe(places)+"ip link | grep -c ^[0-9]", "--network", "off")
	wantReached(t, "off", out, places, func(string) bool { return false })
	if !strings.HasSuffix(out, "\n1\n") && out != "1\n" {
		t.Errorf("off has more than one interface: %s", out)
	}
	byDefault, _ := s.cage("ip link | grep -c ^[0-9]")
	if byDefault != "1\n" {
		t.Errorf("by default there are %s interfaces, want the loopback alone", byDefault)
	}

	out, _ = s.cage(probe(places), "--network", "local")
	wantReached(t, "local", out, places, func(name string) bool {
		switch name {
		case "neighbour on isolated", "host 2001:db8::1": // no container has IPv6
			return false
		case "container of others", "container of a public network": // the engine keeps networks apart
			return false
		}
		return true
	})

	hostile := probe(places) + `
ping -c 1 -W 3 198.51.100.1 >/dev/null 2>&1 && echo reached: ping of the host
cat /etc/resolv.conf
grep eth0 /proc/net/if_inet6
! ip addr add 10.99.0.9/24 dev eth0 2>/dev/null || echo changed the address
`
	out, errs := s.cage(hostile, "--network", "isolated")
	if strings.Contains(errs, "isolated network has no internet") {
		t.Fatalf("no rules: %s", errs)
	}
	wantReached(t, "isolated", out, places, func(name string) bool {
		return slices.ContainsFunc(publicAddresses, func(a string) bool { return name == "world "+a })
	})
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "reached: world ") && line != "nameserver 1.1.1.1\n" && line != "nameserver 8.8.8.8\n" {
			t.Errorf("isolated: %s", line)
		}
	}
}

// TestIsolatedByForce has somebody with all rights within the network namespace
// of an isolated container try to get further: other addresses, IPv6, the
// host's own hardware address. S4-03.
func TestIsolatedByForce(t *testing.T) {
	s := newSite(t)
	s.surround()
	must(t, os.Chmod(s.path("root"), 0o777))
	argv := s.in(executable, "run", "--image", s.image, "--network", "isolated", s.path("profile.yaml"), "--", "sh", "-c", "echo up >up; sleep 1000")
	cmd := s.cmd(context.Background(), argv...)
	must(t, cmd.Start())
	killed := false
	defer func() {
		if !killed {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
			cmd.Wait()
		}
	}()
	eventually(t, "the container", func() error { _, err := os.Stat(s.path("root/up")); return err })
	id := strings.TrimSpace(s.run(t, "docker", "ps", "-q", "--filter", "label=sandbox.runner=true"))
	pid := strings.TrimSpace(s.run(t, "docker", "inspect", "-f", "{{.State.Pid}}", id))
	bridge := strings.TrimSpace(s.run(t, s.in("sh", "-c", "ip -o link | sed -n 's/.*: \\(sfx[0-9a-f]*\\):.*/\\1/p' | head -n 1")...))
	if pid == "" || bridge == "" {
		t.Fatalf("process %q, bridge %q", pid, bridge)
	}
	// The host has IPv6 on the bridge, as where the engine gives it to all.
	s.run(t, s.in("sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/"+bridge+"/disable_ipv6; ip -6 addr add 2001:db8:1::1/64 dev "+bridge+" nodad; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")...)
	places := map[string]target{
		"host by IPv6 on the bridge":  {"2001:db8:1::1", "8000", "host"},
		"host by IPv6":                {"2001:db8::1", "8000", "host"},
		"world by IPv6":               {"2001:db8::2", "80", "world"},
		"host":                        {"198.51.100.1", "8000", "host"},
		"private world":               {"10.99.0.2", "80", "world"},
		"metadata":                    {"169.254.169.254", "80", "world"},
		"container of others":         {"172.17.0.2", "80", "container"},
		"loopback of the host":        {"127.0.0.1", "8000", "host"},
		"world from a stolen address": {"198.51.100.2", "80", "world"},
	}
	script := `
echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet
ip -6 addr add 2001:db8:1::2/64 dev eth0 nodad
ip -6 route add default via 2001:db8:1::1
ip addr del 127.0.0.1/8 dev lo
gateway=$(ip route | sed -n 's/^default via \([0-9.]*\).*/\1/p')
ip route add 127.0.0.0/8 via $gateway
` + probe(places)
	out, errs, code := s.try("nsenter", "-n", "-t", pid, "--", "sh", "-c", strings.ReplaceAll(script, "nc -w", "busybox nc -w"))
	if code != 0 || strings.Contains(errs, "RTNETLINK") {
		t.Fatalf("the attack did not run: %d\n%s%s", code, out, errs)
	}
	// What is reached without the rules shows that the attack is one.
	wantReached(t, "force", out, places, func(name string) bool { return name == "world from a stolen address" })
	s.run(t, s.in("sh", "-c", "for t in iptables ip6tables; do $t -F SANDBOXFS-FORWARD; $t -F SANDBOXFS-INPUT; done")...)
	out, _, _ = s.try("nsenter", "-n", "-t", pid, "--", "sh", "-c", strings.ReplaceAll(probe(places), "nc -w", "busybox nc -w"))
	for _, open := range []string{"host by IPv6 on the bridge", "host by IPv6", "host", "private world", "metadata"} {
		if !strings.Contains(out, "reached: "+open+"\n") {
			t.Errorf("without rules %s is not reached either, so the attack shows nothing:\n%s", open, out)
		}
	}
	// What SIGKILL leaves gc removes, the rules last.
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Wait()
	killed = true
	if out, errs, code := s.sandboxfs("gc"); code != 0 || !strings.Contains(out, "removed container ") || !strings.Contains(out, "removed network ") {
		t.Errorf("gc = %d\n%s%s", code, out, errs)
	}
	s.left()
}

// TestResolvers shows who answers a container's questions for names: S4-02,
// S4-03.
func TestResolvers(t *testing.T) {
	s := newSite(t)
	s.surround()
	const ask = `cat /etc/resolv.conf
for server in "" 127.0.0.11; do nslookup -type=a who.example $server 2>/dev/null | sed -n '/^Name/,$s/^Address: *//p'; done`
	for _, tt := range []struct{ docker, network, want string }{
		{"", "isolated", "nameserver 1.1.1.1\nnameserver 8.8.8.8\n1.1.1.1\n1.1.1.1\n"},
		{"isolatedDnsServers: [198.51.100.53], localDnsServers: [198.51.100.54]", "isolated", "nameserver 198.51.100.53\n198.51.100.53\n198.51.100.53\n"},
		{"isolated_dns_servers: [198.51.100.53], local_dns_servers: [198.51.100.54]", "local", "nameserver 198.51.100.54\n198.51.100.54\n198.51.100.54\n"},
		{"", "local", "127.0.0.1\n127.0.0.1\n"},
	} {
		s.profile("root: DIR/root\nguards: []\ndocker: {" + tt.docker + "}\n")
		out, _ := s.cage(ask, "--network", tt.network)
		if got := withoutEmbedded(out); got != tt.want {
			t.Errorf("{%s} on %s: %q, want %q", tt.docker, tt.network, got, tt.want)
		}
	}
	s.left()
}

// withoutEmbedded leaves out what the engine writes to resolv.conf.
func withoutEmbedded(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "nameserver 127.0.0.11\n" && !strings.HasPrefix(line, "options ") && line != "\n" && line != "nameserver 127.0.0.1\n" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestNetworkOfProfile has the profile's keys put a container on the local
// network where no flag says otherwise: S4-02.
func TestNetworkOfProfile(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		docker string
		flags  []string
		want   string
	}{
		{"allowLocalNetworkingForUsers: [root]", nil, "local"},
		{"allowLocalNetworkingFor: [root]", nil, "local"},
		{"allow_local_networking_for_users: [somebody]", nil, "none"},
		{"allow_local_networking: true", nil, "local"},
		{"allow_local_networking: true", []string{"--network", "off"}, "none"},
		{"allow_local_networking: false", nil, "none"},
	} {
		s.profile("root: DIR/root\nguards: []\ndocker: {" + tt.docker + "}\n")
		out, errs := s.cage("grep -c : /proc/net/dev", tt.flags...)
		got := "none"
		if out == "2\n" {
			got = "local"
		}
		if got != tt.want || strings.Contains(errs, "on the local network as the profile or the config says") != (tt.want == "local") {
			t.Errorf("{%s} %q: network %s, want %s\n%s", tt.docker, tt.flags, got, tt.want, errs)
		}
	}
	s.left()
}

// TestIsolatedWithoutRoot has an ordinary user's isolated container reach
// nothing, since nobody could filter what it sends, and say so. S4-03.
func TestIsolatedWithoutRoot(t *testing.T) {
	s := newSite(t)
	s.surround()
	must(t, unix.Chmod("/dev/fuse", 0o666))
	s.run(t, "chown", "1000:1000", s.engine+"/docker.sock", s.path("home"), s.path("root"))
	places := s.places(nil)
	argv := s.in("setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", executable, "run", "--image", s.image, "--network", "isolated", s.path("profile.yaml"), "--", "sh", "-c", probe(places)+"nslookup -type=a who.example 127.0.0.11 | grep ^Name")
	out, errs, _ := s.try(argv...)
	if strings.Count(errs, "the isolated network has no internet: only root can drop") != 1 {
		t.Errorf("run as user 1000 does not say that there is no internet:\n%s", errs)
	}
	wantReached(t, "isolated of user 1000", out, places, func(string) bool { return false })
	if strings.Contains(out, "Name") {
		t.Errorf("the host's resolver answers: %s", out)
	}
	s.left()
}
