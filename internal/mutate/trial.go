package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// suite is a set of tests that a mutant may fail.
type suite struct {
	args   []string // of go test
	room   string   // only gates of this package can fail it; "" for all
	binary bool     // the tests run the program: it is built with the mutant in it
	limit  time.Duration
}

// suitesOf returns the suites in the order of their cost.
func suitesOf(long bool) []suite {
	suites := []suite{
		{args: []string{"./fs"}, room: "fs", limit: time.Minute},
		{args: []string{"-skip=^TestPosix|^TestUnprivileged$|^TestModel$", "./fs/bazil"}, limit: 2 * time.Minute},
		{args: []string{"-run=^TestPosix$/^host$", "./fs/bazil"}, limit: 5 * time.Minute},
	}
	if long {
		suites = append(suites,
			suite{args: []string{"-run=^TestModel$", "./fs/bazil"}, limit: 5 * time.Minute},
			suite{args: []string{"-p=1", "./integration/attack", "./integration"}, binary: true, limit: 20 * time.Minute})
	}
	return suites
}

// trial tries gates.
type trial struct {
	root   string
	suites []suite
	out    io.Writer

	mu       sync.Mutex
	survived int
	broken   int
}

// all tries each gate and prints the table as it goes. Before, it runs the
// tests once with nothing taken away: they must pass.
func (t *trial) all(ctx context.Context, gates []gate, jobs int) error {
	if len(gates) == 0 {
		return errors.New("no gate found")
	}
	if verdict, killed, err := t.try(ctx, nil); err != nil || killed {
		return errors.Join(fmt.Errorf("with every gate in its place: %s", verdict), err)
	}
	todo := make(chan gate)
	var workers sync.WaitGroup
	for range max(jobs, 1) {
		workers.Go(func() {
			for g := range todo {
				t.one(ctx, g)
			}
		})
	}
	for _, g := range gates {
		if ctx.Err() == nil {
			todo <- g
		}
	}
	close(todo)
	workers.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(t.out, "%d gates taken away, one at a time: %d killed, %d survived\n",
		len(gates), len(gates)-t.survived-t.broken, t.survived)
	if t.survived+t.broken > 0 {
		return fmt.Errorf("%d gates can be deleted unseen, %d could not be tried", t.survived, t.broken)
	}
	return nil
}

// one tries one gate and prints its line.
func (t *trial) one(ctx context.Context, g gate) {
	verdict, killed, err := t.try(ctx, &g)
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		t.broken++
		verdict = "NOT TRIED: " + err.Error()
	case !killed:
		t.survived++
		verdict = "SURVIVED"
	}
	fmt.Fprintf(t.out, "%s\t%s\n", g, verdict)
}

// try runs the suites without g until a test fails, and says which.
func (t *trial) try(ctx context.Context, g *gate) (verdict string, killed bool, err error) {
	tmp, err := os.MkdirTemp("", "mutate-") // short, as the names of sockets below it have to be
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", false, err
	}
	overlay, err := t.overlay(tmp, g)
	if err != nil {
		return "", false, err
	}
	for _, s := range t.suites {
		if g != nil && s.room != "" && s.room != g.room {
			continue
		}
		if verdict, killed, err = t.suite(ctx, s, overlay, tmp); killed || err != nil {
			return verdict, killed, err
		}
	}
	return "", false, nil
}

// overlay writes the file without g, and the table that names it.
func (t *trial) overlay(tmp string, g *gate) (string, error) {
	replace := make(map[string]string)
	if g != nil {
		write := func(name, as string, text []byte) error {
			replace[filepath.Join(t.root, name)] = as
			return os.WriteFile(as, text, 0o644)
		}
		if err := write(g.file, filepath.Join(tmp, "mutant.go"), g.text); err != nil {
			return "", err
		}
		pkg := path.Base(g.room)
		if err := write(g.room+"/mutant_answers.go", filepath.Join(tmp, "answers.go"), fmt.Appendf(nil, answers, pkg)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(tmp, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}

// suite builds and runs one suite. The tests have a mount namespace and a
// temporary directory of their own, where the user may have one, so that what a
// mutant leaves behind goes with it.
func (t *trial) suite(ctx context.Context, s suite, overlay, tmp string) (verdict string, killed bool, err error) {
	// An engine outside of the namespace sees none of its mounts.
	env := append(os.Environ(), "TMPDIR="+tmp, "DOCKER_HOST=unix://"+tmp+"/no-engine")
	if s.binary {
		bin := filepath.Join(tmp, "sandboxfs")
		build := exec.CommandContext(ctx, "go", "build", "-overlay="+overlay, "-o", bin, "./cmd/sandboxfs")
		build.Dir, build.Env = t.root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", false, fmt.Errorf("%w: %s", err, brief(out))
		}
		env = append(env, "SANDBOXFS_BIN="+bin)
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit+30*time.Second)
	defer cancel()
	args := append([]string{"test", "-vet=off", "-count=1", "-failfast", "-overlay=" + overlay, "-timeout=" + s.limit.String()}, s.args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = t.root, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	cmd.Cancel = func() error {
		abort(cmd.Process.Pid)
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return "", false, nil
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return "", false, fmt.Errorf("it does not build: %s", brief(out))
	}
	return failedIn(out), true, nil
}

var (
	failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running = regexp.MustCompile(`(?m)^running tests:\n\s*(\S+)`)
)

// failedIn says which test failed: of a test and its subtests, the innermost.
func failedIn(out []byte) string {
	if m := running.FindSubmatch(out); m != nil {
		return string(m[1]) + " (it does not end)"
	}
	best := ""
	for _, m := range failure.FindAllSubmatch(out, -1) {
		if name := string(m[1]); best == "" || strings.HasPrefix(name, best+"/") {
			best = name
		}
	}
	if best == "" {
		return "the run: " + brief(out)
	}
	return best
}

// brief returns the line of an output that says most.
func brief(out []byte) string {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, ".go:") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return strings.TrimSpace(string(out[max(0, len(out)-200):]))
}
