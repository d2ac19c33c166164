package attack

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inView runs do with the sandbox, once with "run" and once more with "run" of
// something harmless, which has to work as before.
func inView(t *testing.T, do func(t *testing.T, j jail, w *world)) {
	t.Helper()
	inJails(t, func(t *testing.T, j jail, w *world) {
		do(t, j, w)
		out, errs, code := output(j.run(w, nil, "whoami"))
		if code != 0 || len(strings.Fields(out)) != 2 {
			t.Errorf("run afterwards = %d %s\n%s", code, out, errs)
		}
	})
}

// bomb is a process that makes processes like itself, and never ends. That it
// may make no more shows as a file.
func bomb(string, func()) []attempt {
	full := name("full")
	for {
		if _, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); errno == unix.EAGAIN {
			unix.RawSyscall6(unix.SYS_MKNODAT, ^uintptr(99), full, unix.S_IFREG|0o600, 0, 0, 0)
			unix.RawSyscall(unix.SYS_PAUSE, 0, 0, 0)
		}
	}
}

var _ = register("TestForkBomb", bomb)

// TestForkBomb has a command fill its sandbox with processes: there are no more
// than the limit, all end with its time, and the host can still start some.
func TestForkBomb(t *testing.T) {
	inView(t, func(t *testing.T, j jail, w *world) {
		cmd := j.run(w, []string{"--timeout", "8s"}, "attack", "TestForkBomb", ".")
		must(t, cmd.Start())
		most := 0
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for running := true; running; time.Sleep(100 * time.Millisecond) {
			select {
			case <-ended:
				running = false
			default:
				most = max(most, len(processes("./attacker\x00attack\x00TestForkBomb")))
				must(t, exec.Command("true").Run())
			}
		}
		if code := cmd.ProcessState.ExitCode(); code != 124 {
			t.Errorf("run of a fork bomb = %d, want 124", code)
		}
		if most > 512+100 { // what leads to it has the same words, and the user may have other processes
			t.Errorf("a fork bomb had %d processes, want the limit of 512", most)
		}
		if err := stat(w.path("root/full"))(); err != nil {
			t.Errorf("a fork bomb met no limit: %v", err)
		}
	})
}

var _ = register("TestMemoryBomb", func(string, func()) []attempt {
	return []attempt{{"write 6 GiB", "-", func() error {
		const size = 6 << 30
		block, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		for i := 0; err == nil && i < size; i += 4096 {
			block[i] = 1
		}
		return err
	}}}
})

// TestMemoryBomb has a command take more memory than a container may: it is
// killed, and nothing else is.
func TestMemoryBomb(t *testing.T) {
	inView(t, func(t *testing.T, j jail, w *world) {
		if j.backend == "local" {
			t.Skip("a local sandbox has no limit of memory (docs/decisions/0008-local-backend.md)")
		}
		_, errs, code := output(j.run(w, nil, "attack", "TestMemoryBomb", "."))
		if code != 128+9 {
			t.Errorf("run of a memory bomb = %d, want 137\n%s", code, errs)
		}
	})
}

var _ = register("TestFullTmpfs", func(string, func()) []attempt {
	list := []attempt{}
	for _, dir := range []string{"/tmp", "/run", "/var/tmp", "/dev/shm"} {
		list = append(list, attempt{"allocate 8 GiB in " + dir, "ENOSPC", func() error {
			fd, err := unix.Open(dir+"/big", unix.O_RDWR|unix.O_CREAT, 0o600)
			if err != nil {
				return err
			}
			defer unix.Unlink(dir + "/big")
			defer unix.Close(fd)
			return unix.Fallocate(fd, 0, 0, 8<<30)
		}})
	}
	return list
})

// TestFullTmpfs fills what a sandbox may write without a view. S4-03.
func TestFullTmpfs(t *testing.T) {
	inJails(t, func(t *testing.T, j jail, w *world) { j.attack(t, w, outside{}) })
}

var _ = register("TestKillAll", func(string, func()) []attempt {
	unix.Kill(-1, unix.SIGKILL)
	unix.Kill(1, unix.SIGKILL)
	unix.Kill(os.Getpid(), unix.SIGKILL)
	return nil
})

// TestKillAll has a command kill all that it can: a process of the same user on
// the host lives on.
func TestKillAll(t *testing.T) {
	inView(t, func(t *testing.T, j jail, w *world) {
		victim := exec.Command("sleep", "1000")
		victim.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
		must(t, victim.Start())
		defer victim.Wait()
		defer victim.Process.Kill()
		out, errs, code := output(j.run(w, []string{"--timeout", "20s"}, "attack", "TestKillAll", "."))
		if code != 128+9 {
			t.Errorf("run of kill -KILL -1 = %d, want 137\n%s%s", code, out, errs)
		}
		if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", victim.Process.Pid)); err != nil || strings.Contains(string(state), ") Z ") {
			t.Errorf("a process of the host is gone: %s, %v", state, err)
		}
	})
}
