package attack

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// containerEngine is a Docker daemon of the tests' own: it has its own socket
// and state. It is in a network namespace of its own, since one without a bridge
// deletes docker0, which is another engine's.
type containerEngine struct {
	once   sync.Once
	dir    string
	daemon *exec.Cmd
	why    error // why there is none
}

var engine containerEngine

// image holds nothing but the attacker, which also has to sleep, and once more
// as a set-uid program.
const image = "sandboxfs-attack:1"

// need starts the engine, or skips the test where none can be started.
func (e *containerEngine) need(t *testing.T) {
	t.Helper()
	e.once.Do(func() { e.why = e.start() })
	if e.why != nil {
		t.Skip("no container engine: ", e.why)
	}
}

func (e *containerEngine) address() string { return "unix://" + e.dir + "/socket" }

// command returns "docker run" of the attacker's script name, as c and with the
// view bound into it.
func (e *containerEngine) command(t *testing.T, c caller, view, name string) *exec.Cmd {
	t.Helper()
	e.need(t)
	user := strconv.Itoa(int(c.uid))
	args := []string{"run", "--rm", "-i", "--network", "none", "--user", user + ":" + user, "-v", view + ":" + view}
	program := []string{"attack", name, view}
	if c.namespace != "" {
		args = append(args, "--security-opt", "seccomp=unconfined")
		program = append([]string{"namespaced", c.namespace}, program...)
	}
	return e.docker(append(append(args, image, "/attacker"), program...)...)
}

// major is the engine's version, 0 if it does not say.
func (e *containerEngine) major() (n int) {
	out, _ := e.docker("version", "--format", "{{.Server.Version}}").Output()
	fmt.Sscanf(string(out), "%d.", &n)
	return n
}

func (e *containerEngine) docker(args ...string) *exec.Cmd {
	return exec.Command("docker", append([]string{"-H", e.address()}, args...)...)
}

func (e *containerEngine) start() error {
	if os.Getuid() != 0 {
		return fmt.Errorf("not root")
	}
	for _, name := range []string{"dockerd", "docker"} {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	e.dir = filepath.Join(tempRoot, "engine")
	if err := os.Mkdir(e.dir, 0o700); err != nil {
		return err
	}
	e.daemon = exec.Command("unshare", "--net", "dockerd", "-H", e.address(), "-p", e.dir+"/pid",
		"--data-root", e.dir+"/data", "--exec-root", e.dir+"/exec",
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false")
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	e.daemon.Stdout, e.daemon.Stderr = log, log
	e.daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.daemon.Start(); err != nil {
		return err
	}
	for range 150 {
		if e.docker("version").Run() == nil {
			return e.importImage()
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	return fmt.Errorf("dockerd does not answer: %s", text[max(0, len(text)-500):])
}

// importImage makes the image, of one program.
func (e *containerEngine) importImage() error {
	program, err := os.ReadFile(attackerBinary())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "etc/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "attacker", Mode: 0o755, Size: int64(len(program))},
		{Name: "setuid", Mode: 0o4755, Size: int64(len(program))},
		{Name: "bin/sleep", Typeflag: tar.TypeSymlink, Linkname: "/attacker"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if h.Size > 0 {
			w.Write(program)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	cmd := e.docker("import", "-", image)
	cmd.Stdin = &b
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docker import: %w\n%s", err, out)
	}
	return nil
}

// stop ends the engine; its state goes with tempRoot.
func (e *containerEngine) stop() {
	if e.daemon == nil || e.daemon.Process == nil {
		return
	}
	e.daemon.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { e.daemon.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		e.daemon.Process.Kill()
		<-ended
	}
	for _, path := range mountsBelow(e.dir) {
		syscall.Unmount(path, syscall.MNT_DETACH)
	}
}
