package integration

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// crowdScript says that it is there, waits for the others, and shows what it
// sees: its own file, what lies beside its view, and the rest of its view.
const crowdScript = `echo $HOSTNAME > up; until test -e go; do sleep 0.2; done; cat id; ls ..; ls; echo $(hostname) > host`

// member is one of many runs at the same time.
type member struct {
	cmd       *exec.Cmd
	root      string
	out, errs bytes.Buffer
	ended     chan error
}

// TestCrowd has many views and containers at the same time, some on a network.
// Each sees its own view alone, and nothing is left of any. S4-04, C-02.
func TestCrowd(t *testing.T) {
	needRoot(t)
	image := needImage(t)
	w := newRunWorld(t, 0, allowAll)
	crowd := make([]*member, 6)
	if soak {
		crowd = make([]*member, 50)
	}
	for i := range crowd {
		name := fmt.Sprint("root-", i)
		w.write(name+"/id", name+"\n")
		profile := w.write(fmt.Sprintf("p%d.yaml", i), fmt.Sprintf("version: 1\nroot: ./%s\n", name))
		network := "off"
		if i < 4 {
			network = "isolated"
		}
		m := &member{root: name}
		m.cmd = w.cmd(context.Background(), executable, "run", "--image", image, "--network", network, "--timeout", "10m", profile, "--", "sh", "-c", crowdScript)
		m.cmd.Stdout, m.cmd.Stderr = &m.out, &m.errs
		must(t, m.cmd.Start())
		m.ended = make(chan error, 1)
		go func() { m.ended <- m.cmd.Wait(); close(m.ended) }()
		crowd[i] = m
	}
	defer func() {
		for _, m := range crowd {
			m.cmd.Process.Signal(os.Interrupt) // a test that has failed; the others are gone
			<-m.ended
		}
	}()
	for _, m := range crowd {
		// Many of them start slowly; each has its --timeout.
		for up := w.path(m.root + "/up"); ; time.Sleep(50 * time.Millisecond) {
			if _, err := os.Stat(up); err == nil {
				break
			}
			if len(m.ended) > 0 {
				t.Fatalf("run on %s ended: %v\n%s", m.root, <-m.ended, m.errs.String())
			}
		}
	}
	there := strings.Fields(containers(t, image))
	if mounts := mountsBelow(w.Dir); len(there) != len(crowd) || len(mounts) != len(crowd) {
		t.Errorf("%d containers and %d mounts at once, want %d of each", len(there), len(mounts), len(crowd))
	}
	for _, m := range crowd {
		w.write(m.root+"/go", "")
	}
	hosts := map[string]bool{}
	for _, m := range crowd {
		err := <-m.ended
		lines := strings.Fields(m.out.String())
		if err != nil || len(lines) != 5 || lines[0] != m.root || !slices.Equal(lines[2:], []string{"go", "id", "up"}) {
			t.Errorf("run on %s = %v, %q, want its own file, one view, go, id and up\n%s", m.root, err, lines, m.errs.String())
		}
		hosts[read(t, w.path(m.root+"/host"))] = true
	}
	if len(hosts) != len(crowd) {
		t.Errorf("%d runs were in %d containers", len(crowd), len(hosts))
	}
	w.left()
	if left := containers(t, image); left != "" {
		t.Errorf("left behind: containers %s", left)
	}
	for _, name := range there {
		if _, _, code := (command{}).try("docker", "network", "inspect", name); code == 0 {
			t.Errorf("left behind: network %s", name)
		}
	}
	eventually(t, "the end of the firewall's rules", rulesLeft)
}

// rulesLeft is an error if there are rules for isolated bridges and no bridge.
// Another program's may be there meanwhile.
func rulesLeft() error {
	all, err := net.Interfaces()
	if err != nil || slices.ContainsFunc(all, func(i net.Interface) bool { return strings.HasPrefix(i.Name, "sfx") }) {
		return err
	}
	for _, iptables := range []string{"iptables", "ip6tables"} {
		out, _, _ := (command{}).try(iptables, "-S")
		if strings.Contains(out, "SANDBOXFS") {
			return fmt.Errorf("%s -S:\n%s", iptables, out)
		}
	}
	return nil
}
