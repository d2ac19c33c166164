package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// whereGroupWaits says of every thread of a process group what it waits for in
// the kernel. The stacks are for root alone.
func whereGroupWaits(group int) string {
	var b strings.Builder
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if g, err := syscall.Getpgid(pid); err != nil || g != group {
			continue
		}
		comm, _ := os.ReadFile(dir + "/comm")
		tasks, _ := filepath.Glob(dir + "/task/*")
		for _, task := range tasks {
			wchan, _ := os.ReadFile(task + "/wchan")
			stack, _ := os.ReadFile(task + "/stack")
			fmt.Fprintf(&b, "%d %s: thread %s waits in %s\n%s", pid, strings.TrimSpace(string(comm)), filepath.Base(task), wchan, stack)
		}
	}
	return b.String()
}

// quitDaemons has every daemon of this run print where its goroutines are, and
// end; what waited for it then fails.
func quitDaemons() {
	for _, pid := range daemons(tempRoot) {
		syscall.Kill(pid, syscall.SIGQUIT)
	}
	time.Sleep(time.Second) // until they have printed it
}

// TestHangIsExplained shows what is left of a hang for whoever looks for its cause.
func TestHangIsExplained(t *testing.T) {
	w := newWorld(t)
	m := w.view(allowAll)
	sleeper := command{dir: w.Dir}.cmd(t.Context(), "sh", "-c", "sleep 1000; true")
	must(t, sleeper.Start())
	eventually(t, "the sleeper is seen to sleep", func() error {
		if got := whereGroupWaits(sleeper.Process.Pid); !strings.Contains(got, "sleep: thread") || !strings.Contains(got, "nanosleep") {
			return fmt.Errorf("seen: %s", got)
		}
		return nil
	})
	must(t, syscall.Kill(-sleeper.Process.Pid, syscall.SIGKILL))
	sleeper.Wait()

	quitDaemons()
	<-m.exited
	if got := m.output.text(); !strings.Contains(got, "SIGQUIT") || !strings.Contains(got, "(*loop)") {
		t.Errorf("a daemon that is to quit printed %s, want its goroutines", tail(got))
	}
	must(t, abortConnection(m.Path))
	must(t, syscall.Unmount(m.Path, syscall.MNT_DETACH))
}
