package runner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// firewall is the rules that hold back isolated containers. They speak of all
// bridges with our prefix and are the same for every instance.
type firewall struct {
	run    func(ctx context.Context, stdin, command string, args ...string) error
	there  func(bridge string) bool // whether this process sees the bridge
	needed func() (bool, error)     // whether there is a bridge that the rules speak of

	mu  sync.Mutex
	why string // guarded by mu: why there can be no rules; "" if there can
}

func newFirewall(engineAddress string) *firewall {
	f := &firewall{run: runCommand, there: seesInterface, needed: seesBridge}
	switch _, err := exec.LookPath("iptables"); {
	case !strings.HasPrefix(engineAddress, "unix://"):
		f.why = "the engine at " + engineAddress + " is on another host, whose rules are not ours"
	case os.Geteuid() != 0:
		f.why = "only root can drop what goes to the host and to private addresses"
	case err != nil:
		f.why = "iptables is not installed; apt install iptables"
	}
	return f
}

// unusable says why there can be no rules; "" if there can.
func (f *firewall) unusable() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.why
}

func (f *firewall) disable(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = why
}

// The chains that hold our rules, and those of the system that lead to them.
const (
	chainForward = "SANDBOXFS-FORWARD"
	chainInput   = "SANDBOXFS-INPUT"
)

// private are the addresses that are not the internet.
var private = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
}

// rules is the filter table's text for iptables-restore. What others begin
// towards a bridge is dropped, and so is all that a bridge sends to the host, or
// to a port of the host that leads on to another container. Isolated bridges
// have no IPv6.
func rules(v6 bool) string {
	bridge := bridgePrefix + "+"
	var b strings.Builder
	fmt.Fprintf(&b, "*filter\n:%s - [0:0]\n:%s - [0:0]\n", chainForward, chainInput)
	if v6 {
		fmt.Fprintf(&b, "-A %s -i %s -j DROP\n-A %s -o %s -j DROP\n", chainForward, bridge, chainForward, bridge)
	} else {
		for _, p := range private {
			fmt.Fprintf(&b, "-A %s -i %s -d %s -j DROP\n", chainForward, bridge, p)
		}
		fmt.Fprintf(&b, "-A %s -i %s -m conntrack --ctstate DNAT -j DROP\n", chainForward, bridge)
		fmt.Fprintf(&b, "-A %s -o %s -m conntrack ! --ctstate RELATED,ESTABLISHED -j DROP\n", chainForward, bridge)
	}
	fmt.Fprintf(&b, "-A %s -i %s -j DROP\nCOMMIT\n", chainInput, bridge)
	return b.String()
}

// install puts the rules in place, at once, and the jumps to them before all
// others. It may be called again.
func (f *firewall) install(ctx context.Context) error {
	if err := f.run(ctx, rules(false), "iptables-restore", "--noflush", "--wait"); err != nil {
		return err
	}
	if err := f.jumps(ctx, "iptables"); err != nil {
		return err
	}
	if !f.v6() {
		return nil
	}
	if err := f.run(ctx, rules(true), "ip6tables-restore", "--noflush", "--wait"); err != nil {
		return err
	}
	return f.jumps(ctx, "ip6tables")
}

// v6 reports whether the kernel has IPv6 at all.
func (f *firewall) v6() bool {
	_, err := os.Stat("/proc/net/if_inet6")
	return err == nil
}

func (f *firewall) jumps(ctx context.Context, iptables string) error {
	for _, j := range f.fromTo(ctx, iptables) {
		if f.run(ctx, "", iptables, "--wait", "-C", j[0], "-j", j[1]) == nil {
			continue
		}
		if err := f.run(ctx, "", iptables, "--wait", "-I", j[0], "1", "-j", j[1]); err != nil {
			return err
		}
	}
	return nil
}

// fromTo are the jumps. Docker keeps DOCKER-USER before its own rules, also
// when it starts anew; without that chain FORWARD has to do.
func (f *firewall) fromTo(ctx context.Context, iptables string) [][2]string {
	forward := "DOCKER-USER"
	if f.run(ctx, "", iptables, "--wait", "-n", "-L", forward) != nil {
		forward = "FORWARD"
	}
	return [][2]string{{forward, chainForward}, {"INPUT", chainInput}}
}

// remove takes away what install has put in place. What is not there is no
// error.
func (f *firewall) remove(ctx context.Context) error {
	var errs []error
	for _, iptables := range []string{"iptables", "ip6tables"} {
		if f.run(ctx, "", iptables, "--wait", "-n", "-L", chainInput) != nil {
			continue
		}
		for _, j := range append(f.fromTo(ctx, iptables), [2]string{"FORWARD", chainForward}) {
			f.run(ctx, "", iptables, "--wait", "-D", j[0], "-j", j[1]) // none of them has to be there
		}
		for _, chain := range []string{chainForward, chainInput} {
			errs = append(errs, f.run(ctx, "", iptables, "--wait", "-F", chain), f.run(ctx, "", iptables, "--wait", "-X", chain))
		}
	}
	return errors.Join(errs...)
}

// lock keeps other processes from removing rules that this one is about to
// need. The file stays, as that of iptables does.
func (f *firewall) lock() (unlock func(), err error) {
	if f.unusable() != "" {
		return func() {}, nil
	}
	// Only root can open it, so nobody else can hold it.
	file, err := os.OpenFile("/run/sandboxfs-firewall.lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the firewall: %w", err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock the firewall: %w", err)
	}
	return func() { file.Close() }, nil
}

// seesInterface asks the kernel and not /sys, which may show another namespace.
func seesInterface(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

func seesBridge() (bool, error) {
	all, err := net.Interfaces()
	if err != nil {
		return false, fmt.Errorf("list the network interfaces: %w", err)
	}
	return slices.ContainsFunc(all, func(i net.Interface) bool { return strings.HasPrefix(i.Name, bridgePrefix) }), nil
}

func runCommand(ctx context.Context, stdin, command string, args ...string) error {
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}
