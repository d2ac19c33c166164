package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { helpers["resolver"] = resolver }

// site is a container engine on a network of its own, with a host, other
// containers and an internet, so that nothing on this machine helps or suffers.
type site struct {
	*runWorld
	image  string
	engine string // directory of the engine's files
	pid    int    // a process in the site's namespaces
}

// newSite starts an engine in new namespaces of mounts and network.
func newSite(t *testing.T) *site {
	t.Helper()
	needRoot(t)
	for _, program := range []string{"dockerd", "docker", "busybox", "iptables", "ip", "unshare", "nsenter"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s, which a site of its own needs", program)
		}
	}
	s := &site{runWorld: newRunWorld(t, 0, allowAll), image: "site:1"}
	dir, err := os.MkdirTemp(tempRoot, "e") // short, as the paths of sockets have to be
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.WriteFile(dir+"/resolv.conf", []byte("nameserver 127.0.0.1\n"), 0o644))
	must(t, os.WriteFile(dir+"/fuse.conf", []byte("user_allow_other\n"), 0o644))
	must(t, os.Chmod(dir, 0o755))
	s.env = append(s.env, "DOCKER_HOST=unix://"+dir+"/docker.sock")
	// The shell ends the engine when its input ends, also when the test dies.
	script := `set -e
mount --make-rprivate /
mount --bind "$1/resolv.conf" /etc/resolv.conf
mount --bind "$1/fuse.conf" /etc/fuse.conf
ip link set lo up
dockerd --data-root "$1/data" --exec-root "$1/run" --pidfile "$1/pid" -H "unix://$1/docker.sock" --log-level error </dev/null &
read -r end || true
kill $!
wait $! || true`
	s.pid = s.background("unshare", "-m", "-n", "sh", "-c", script, "sh", dir).Process.Pid
	eventually(t, "the engine", func() error {
		if _, errs, code := s.try("docker", "version"); code != 0 {
			return fmt.Errorf("%s", errs)
		}
		return nil
	})
	s.engine = dir
	busyboxImage(t, s.runWorld, s.image)
	return s
}

// background starts a program whose input ends with the test, which waits for
// its end.
func (s *site) background(argv ...string) *exec.Cmd {
	s.t.Helper()
	cmd := s.cmd(context.Background(), argv...)
	cmd.Stdin = nil
	input, err := cmd.StdinPipe()
	must(s.t, err)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	must(s.t, cmd.Start())
	s.t.Cleanup(func() {
		input.Close()
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(4 * patience):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			s.t.Errorf("%q does not end", argv)
			<-done
		}
		for line := range strings.Lines(output.String()) {
			if s.t.Failed() && !strings.Contains(line, "level=info") && !strings.Contains(line, "level=warning") {
				s.t.Logf("%s printed %s", argv[0], strings.TrimSpace(line))
			}
		}
	})
	return cmd
}

// in is argv in the site's namespaces.
func (s *site) in(argv ...string) []string {
	return append([]string{"nsenter", "-m", "-n", "-t", fmt.Sprint(s.pid), "--"}, argv...)
}

// sandboxfs runs the program in the site.
func (s *site) sandboxfs(args ...string) (stdout, stderr string, code int) {
	return s.try(s.in(append([]string{executable}, args...)...)...)
}

// cage runs a script in a container on the world's root.
func (s *site) cage(script string, flags ...string) (stdout, stderr string) {
	s.t.Helper()
	args := append([]string{"run", "--image", s.image}, flags...)
	out, errs, code := s.sandboxfs(append(args, s.path("profile.yaml"), "--", "sh", "-c", script)...)
	if code != 0 {
		s.t.Fatalf("run %q = %d\n%s%s", flags, code, out, errs)
	}
	return out, errs
}

// The addresses of the site's surroundings. What is not the host's is behind
// the router, on which every one has a web server and a resolver.
var (
	publicAddresses  = []string{"198.51.100.2", "1.1.1.1", "198.51.100.53", "198.51.100.54"}
	privateAddresses = []string{"10.99.0.2", "172.31.250.2", "192.168.77.2", "100.64.0.2", "169.254.169.254"}
	hostAddresses    = []string{"198.51.100.1", "2001:db8::1", "172.17.0.1"}
)

// surround gives the site a router that has the addresses of the world, and the
// host a web server, a resolver, and containers of others with published ports.
func (s *site) surround() {
	s.t.Helper()
	s.write("world/index.html", "world")
	s.write("host/index.html", "host")
	world := s.background("unshare", "-n", "sh", "-c", "ip link set lo up; busybox httpd -f -p '[::]:80' -h "+s.path("world")+" & read -r end; kill $!")
	router := func(argv ...string) []string {
		return append([]string{"nsenter", "-n", "-t", fmt.Sprint(world.Process.Pid), "--"}, argv...)
	}
	eventually(s.t, "the router's namespace", func() error {
		own, _ := os.Readlink("/proc/self/ns/net")
		if ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", world.Process.Pid)); err != nil || ns == own {
			return fmt.Errorf("namespace %s, %v", ns, err)
		}
		return nil
	})
	ip := func(where func(...string) []string, line string) {
		s.t.Helper()
		s.run(s.t, where(append([]string{"ip"}, strings.Fields(line)...)...)...)
	}
	ip(s.in, fmt.Sprintf("link add wan type veth peer name lan netns %d", world.Process.Pid))
	for _, line := range []string{"addr add 198.51.100.1/24 dev wan", "-6 addr add 2001:db8::1/64 dev wan nodad", "link set wan up", "route add default via 198.51.100.2"} {
		ip(s.in, line)
	}
	for _, line := range []string{"addr add 198.51.100.2/24 dev lan", "-6 addr add 2001:db8::2/64 dev lan nodad", "link set lan up", "route add default via 198.51.100.1"} {
		ip(router, line)
	}
	elsewhere := append(append([]string{}, publicAddresses[1:]...), privateAddresses...)
	for _, a := range elsewhere {
		ip(router, "addr add "+a+"/32 dev lo")
	}
	self := helperBinary()
	s.background(router(append([]string{self, "helper", "resolver"}, elsewhere...)...)...)
	s.background(s.in(self, "helper", "resolver", "127.0.0.1")...)
	s.background(s.in("sh", "-c", "busybox httpd -f -p '[::]:8000' -h "+s.path("host")+" & read -r end; kill $!")...)
	serve := "echo container >/run/index.html; exec httpd -f -p 80 -h /run"
	s.run(s.t, "docker", "network", "create", "--subnet", "203.0.113.0/24", "public")
	s.run(s.t, "docker", "run", "-d", "--name", "other", "-p", "8080:80", s.image, "sh", "-c", serve)
	s.run(s.t, "docker", "run", "-d", "--name", "public", "--network", "public", "--ip", "203.0.113.10", "-p", "8081:80", s.image, "sh", "-c", serve)
	s.t.Cleanup(func() { s.try("docker", "rm", "-f", "other", "public") })
}

// resolver is a helper that answers, at each of the addresses that are its
// arguments, every question for a name with that address, until its input ends.
func resolver(addresses []string) error {
	for _, a := range addresses {
		at := net.ParseIP(a)
		conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: at, Port: 53})
		if err != nil {
			return err
		}
		go func() {
			for {
				question := make([]byte, 512)
				n, from, err := conn.ReadFromUDP(question)
				if err != nil || n < 17 {
					continue
				}
				end := 12 // of the name, then type and class
				for end < n && question[end] != 0 {
					end += int(question[end]) + 1
				}
				if end+5 > n {
					continue
				}
				reply := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0}, question[12:end+5]...)
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				conn.WriteToUDP(append(reply, at.To4()...), from)
			}
		}()
	}
	os.Stdin.Read(make([]byte, 1))
	return nil
}

// left fails the test if anything is left in the site.
func (s *site) left() {
	s.t.Helper()
	if left := s.run(s.t, "docker", "ps", "-aq", "--filter", "label=sandbox.runner=true"); left != "" {
		s.t.Errorf("left behind: containers %s", left)
	}
	if left := s.run(s.t, "docker", "network", "ls", "-q", "--filter", "label=sandbox.runner=true"); left != "" {
		s.t.Errorf("left behind: networks %s", left)
	}
	for _, command := range []string{"iptables", "ip6tables"} {
		if rules := s.run(s.t, s.in(command, "-S")...); strings.Contains(rules, "SANDBOXFS") {
			s.t.Errorf("left behind: %s -S\n%s", command, rules)
		}
	}
	if files, _ := filepath.Glob(s.path("home/sandboxfs/*")); len(files) > 0 {
		s.t.Errorf("left behind: %q", files)
	}
}
