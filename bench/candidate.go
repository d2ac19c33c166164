package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// candidate is one way to show the backing directory.
type candidate struct {
	name  string
	dir   string   // where it shows it
	start []string // the command that serves it in the foreground; none for the backing itself

	index   int
	metrics string    // address of /metrics; "" for those without
	cmd     *exec.Cmd // while it is served
	exited  chan error
}

// newCandidates returns the backing directory itself, the view and the peers,
// none of them started.
func newCandidates(dir, backing, sandboxfs, loopback string) ([]*candidate, error) {
	profile, err := writeProfile(dir, backing)
	if err != nil {
		return nil, err
	}
	metrics, err := freeAddr()
	if err != nil {
		return nil, err
	}
	at := func(name string) string { return filepath.Join(dir, "mnt-"+name) }
	all := []*candidate{
		{name: "beside", dir: backing},
		{name: "sandboxfs", dir: at("sandboxfs"), metrics: metrics,
			start: []string{sandboxfs, "mount", "--metrics", metrics, profile, at("sandboxfs")}},
		{name: "bindfs", dir: at("bindfs"), start: []string{"bindfs", "-f", backing, at("bindfs")}},
		{name: "go-fuse loopback", dir: at("loopback"), start: []string{loopback, "-q", at("loopback"), backing}},
	}
	for i, c := range all {
		c.index = i
		if err := os.Mkdir(filepath.Join(backing, filepath.Base(c.own())), 0o755); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(c.dir, 0o755); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// own is the directory where the candidate writes.
func (c *candidate) own() string { return filepath.Join(c.dir, fmt.Sprint("own", c.index)) }

// writeProfile writes a profile with a policy of fifty rules, of which the last
// allows what the work needs.
func writeProfile(dir, backing string) (string, error) {
	var p strings.Builder
	p.WriteString("version: 1\nname: bench\nfile_rules:\n")
	for i := range 49 {
		glob := []string{"/**/*.secret%d", "/**/.private%d/**", "/vault%d/**", "/**/key%d.pem"}[i%4]
		fmt.Fprintf(&p, "  - {name: r%d, paths: [\"%s\"], operations: [read, write], decision: deny}\n", i, fmt.Sprintf(glob, i))
	}
	p.WriteString("  - {name: rest, paths: [\"/**\"], operations: [\"*\"], decision: allow}\n")
	if err := os.Mkdir(filepath.Join(dir, "policies"), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "policies", "bench.yaml"), []byte(p.String()), 0o600); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "profile.yaml")
	text := fmt.Sprintf("version: 1\nname: bench\nroot: %q\npolicy: bench\npolicies: [./policies]\n", backing)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// fresh serves the candidate anew, so that the kernel has nothing of it in its
// caches. Those of the backing directory stay as they are.
func (c *candidate) fresh() error {
	if err := c.stop(); err != nil || c.start == nil {
		return err
	}
	c.cmd = exec.Command(c.start[0], c.start[1:]...)
	if err := c.cmd.Start(); err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func(cmd *exec.Cmd) { exited <- cmd.Wait() }(c.cmd)
	c.exited = exited
	for deadline := time.Now().Add(10 * time.Second); !mounted(c.dir); time.Sleep(5 * time.Millisecond) {
		select {
		case err := <-exited:
			c.cmd = nil
			return fmt.Errorf("%s ended before it was mounted: %v", c.name, err)
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not mounted after ten seconds", c.name)
		}
	}
	_, err := os.ReadDir(c.dir)
	return err
}

// stop unmounts the candidate and waits for its process, by force if need be.
func (c *candidate) stop() error {
	if c.cmd == nil {
		return nil
	}
	if mounted(c.dir) && exec.Command("fusermount3", "-u", c.dir).Run() != nil {
		exec.Command("fusermount3", "-u", "-z", c.dir).Run()
	}
	select {
	case <-c.exited:
	case <-time.After(10 * time.Second):
		c.cmd.Process.Kill()
		<-c.exited
	}
	c.cmd = nil
	if mounted(c.dir) {
		return fmt.Errorf("%s is still mounted at %s", c.name, c.dir)
	}
	return nil
}

func stopAll(all []*candidate) error {
	var errs []error
	for _, c := range all {
		errs = append(errs, c.stop())
	}
	return errors.Join(errs...)
}

func mounted(dir string) bool {
	mounts, err := os.ReadFile("/proc/self/mounts")
	return err == nil && strings.Contains(string(mounts), " "+dir+" ")
}
