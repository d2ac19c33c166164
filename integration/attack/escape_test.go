package attack

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// secret stands in the environment and in files of the host.
const secret = "host-only-5f1d"

// outside is what the attacker is told of the host, so that it need not guess.
type outside struct {
	Pid      int      // a process of its own user
	Files    []string // what it must not find under any name
	Abstract string   // a listening socket without a file
	Port     string   // one that listens on 127.0.0.1
	Shared   int      // the key of a shared memory segment
	Handle   []byte   // of a file, for open_by_handle_at
	Kind     int32    // of that handle
	Vsock    string   // what a vsock comes to
}

// prepare makes what there is to be had outside, all of it open to everybody.
func prepare(t *testing.T, w *world) outside {
	t.Helper()
	victim := exec.Command("sleep", "1000")
	victim.Dir = w.Dir
	victim.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	must(t, victim.Start())
	t.Cleanup(func() {
		if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("a process of the host has gone: %v", err)
		}
		victim.Process.Kill()
		victim.Wait()
	})
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { tcp.Close() })
	dir, err := os.MkdirTemp(tempRoot, "e") // short, as the names of sockets have to be
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	socket := dir + "/socket"
	host := outside{Pid: victim.Process.Pid, Abstract: "@" + dir, Shared: 0x5f1d0000 + os.Getpid()&0xffff}
	_, host.Port, _ = net.SplitHostPort(tcp.Addr().String())
	for _, name := range []string{host.Abstract, socket} {
		l, err := net.Listen("unix", name)
		must(t, err)
		t.Cleanup(func() { l.Close() })
	}
	must(t, os.Chmod(socket, 0o777))
	segment, err := unix.SysvShmGet(host.Shared, 4096, unix.IPC_CREAT|0o666)
	must(t, err)
	t.Cleanup(func() { unix.SysvShmCtl(segment, unix.IPC_RMID, nil) })
	file := w.write("outside/secret", secret)
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, file, 0)
	must(t, err)
	host.Handle, host.Kind = handle.Bytes(), handle.Type()
	host.Files = []string{
		file, w.path("root"), w.path("p.yaml"), w.path("policies/agent.yaml"), w.path("audit.jsonl"), socket,
		executable, "/etc/shadow", "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock",
	}
	if engine.dir != "" {
		host.Files = append(host.Files, engine.dir, engine.dir+"/socket")
	}
	return host
}

// hostState is what an escape would change.
func hostState(t *testing.T, w *world) map[string]string {
	t.Helper()
	state := tree(t, w.path("outside"))
	for path, what := range tree(t, w.path("root")) {
		state["root"+path] = what[:min(len(what), 64)]
	}
	agents, _ := filepath.Glob("/sys/fs/cgroup/*/release_agent")
	for _, file := range append(agents, "/etc/passwd", "/etc/shadow", "/sys/kernel/uevent_helper", "/proc/sys/kernel/core_pattern",
		"/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/sysrq") {
		text, _ := os.ReadFile(file)
		state[file] = string(text)
	}
	return state
}

var _ = register("TestEscape", func(string, func()) []attempt {
	var host outside
	if err := json.Unmarshal([]byte(os.Getenv("OUTSIDE")), &host); err != nil {
		panic(err)
	}
	return slices.Concat(byCall(host), byRight(host), byPath(host), bySocket(host), byLeak(host))
})

// TestEscape tries the ways out of a sandbox: none gets at the host, and none
// writes what is not the view's. S4-02, S4-03, C-02.
func TestEscape(t *testing.T) {
	inJails(t, func(t *testing.T, j jail, w *world) {
		host := prepare(t, w)
		if host.Vsock = "EAFNOSUPPORT|EPERM"; j.backend == "docker" && engine.major() < 23 {
			host.Vsock += "|ok" // docs/runner.md, networks
		}
		before := hostState(t, w)
		j.attack(t, w, host)
		unchanged(t, "host", hostState(t, w), before)
	})
}

// either is the first in a container and the second in a local sandbox.
func either(container, local string) string {
	if os.Getenv("JAIL") == "docker" {
		return container
	}
	return local
}

// ofRoot is the first for an attacker who is root in the sandbox.
func ofRoot(root, user string) string {
	if os.Getuid() == 0 {
		return root
	}
	return user
}

// raw is a system call without a wrapper.
func raw(number uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
			return errno
		}
		return nil
	}
}

// clone is clone(2) with flags, of a child that ends at once.
func clone(number uintptr, args ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], args)
		pid, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if errno != 0 {
			return errno
		}
		if pid == 0 {
			for {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
			}
		}
		unix.Wait4(int(pid), nil, 0, nil)
		return nil
	}
}

// none is an error that names what is in list.
func none(list []string) error {
	if len(list) > 0 {
		return fmt.Errorf("%q", list)
	}
	return nil
}
