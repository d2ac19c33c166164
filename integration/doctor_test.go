package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// S3-06: doctor names a dead view and its cure, and ends though another one
// hangs and SANDBOX_ROOT is wrong.
func TestDoctorWithDeadAndHangingViews(t *testing.T) {
	needRoot(t)
	w := newRunWorld(t, 0, allowAll)
	absent := w.path("absent.sock")
	w.env = append(w.env, "DOCKER_HOST=unix://"+absent, "SANDBOX_ROOT="+w.path("conversations"))
	mounted := func(dir string) *os.Process {
		w.mkdir(dir)
		cmd := w.cmd(context.Background(), executable, "mount", "--metrics", "off", "profile.yaml", dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := fmt.Fscan(out, new(string)); err != nil {
			t.Fatalf("mount %s: %v", dir, err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd.Process
	}
	dead, hanging := mounted("dead"), mounted("hanging") // the start of one clears what is dead
	must(t, dead.Signal(syscall.SIGKILL))
	must(t, hanging.Signal(syscall.SIGSTOP))
	eventually(t, "the end of the daemon", func() error {
		if _, err := os.ReadDir(w.path("dead")); err == nil {
			return fmt.Errorf("%s can still be read", w.path("dead"))
		}
		return nil
	})
	out, _, code := w.try(executable, "doctor")
	for _, want := range []string{
		w.path("dead") + " was left by a daemon that has died", "→ sandboxfs umount " + w.path("dead"),
		"there is no socket " + absent, "→ make it, or name the directory where the volume is",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor = %d, and lacks %q:\n%s", code, want, out)
		}
	}
	if code != 1 {
		t.Errorf("doctor with a wrong SANDBOX_ROOT = %d, want 1", code)
	}
	must(t, hanging.Signal(syscall.SIGCONT))
	w.run(t, executable, "umount", w.path("hanging"))
	w.run(t, executable, "umount", w.path("dead"))
	w.mkdir("conversations")
	if out := w.run(t, executable, "doctor", "--json", "profile.yaml"); !strings.Contains(out, "record "+w.path("home")) || !strings.Contains(out, `"sandboxfs gc"`) {
		t.Errorf("doctor names no record of the daemon that was killed:\n%s", out)
	}
	w.run(t, executable, "gc")
	eventually(t, "the end of the daemon that was unmounted", func() error {
		if left := daemons(w.Dir); len(left) > 0 {
			return fmt.Errorf("processes %v", left)
		}
		return nil
	})
	w.left()
}
