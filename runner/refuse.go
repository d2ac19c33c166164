package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// Protected is a place of the host that no container may see.
type Protected struct {
	Path string
	What string // "the state directory", for the message
}

// engineSockets give whoever can write to them the whole host.
var engineSockets = []string{
	"/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock",
}

// source checks that b may be bound and returns its source without symbolic
// links. Nobody makes a source that is missing.
func (d *Docker) source(b Bind, table mountinfo.Table) (string, error) {
	if !filepath.IsAbs(b.Source) {
		return "", fmt.Errorf("bind on %s: the source %q is not an absolute path", b.Target, b.Source)
	}
	at, _, err := mountinfo.Locate(b.Source, table)
	if err == nil {
		err = answers(at)
	}
	on := table.On(at)
	switch {
	case errors.Is(err, unix.ENOTCONN):
		return "", fmt.Errorf("bind on %s: the daemon behind %s has died; sandboxfs umount %s, and mount it again", b.Target, on.Point, on.Point)
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("bind on %s: %s does not exist, and is not made", b.Target, b.Source)
	case err != nil:
		return "", fmt.Errorf("bind on %s: %w", b.Target, err)
	case !b.Plain && !on.Ours():
		return "", fmt.Errorf("bind on %s: %s is a directory of the host and not within a view", b.Target, b.Source)
	}
	if p, ok := overlap(at, on.Ours(), d.protected()); ok {
		return "", fmt.Errorf("bind on %s: %s is refused, because the container would see %s (%s)", b.Target, b.Source, p.What, p.Path)
	}
	return at, nil
}

// answerWithin bounds the wait for a view whose daemon hangs.
const answerWithin = 5 * time.Second

// answers looks at name, which a hanging daemon may never answer for.
func answers(name string) error {
	answer := make(chan error, 1)
	go func() {
		_, err := os.Stat(name)
		answer <- err
	}()
	select {
	case err := <-answer:
		return err
	case <-time.After(answerWithin):
		return fmt.Errorf("%s does not answer within %v", name, answerWithin)
	}
}

func (d *Docker) protected() []Protected {
	all := append([]Protected(nil), d.settings.Protected...)
	if d.settings.StateDir != "" {
		all = append(all, Protected{d.settings.StateDir, "the state directory"})
	}
	if socket, ok := strings.CutPrefix(d.address, "unix://"); ok {
		all = append(all, Protected{socket, "the engine's socket"})
	}
	for _, s := range engineSockets {
		all = append(all, Protected{s, "the engine's socket"})
	}
	return all
}

// overlap finds a protected place that source is, contains or lies in. Names
// count, and so do files: another mount of the same directory is the same. A
// view may lie in a protected place, which it hides.
func overlap(source string, view bool, places []Protected) (Protected, bool) {
	above := ancestors(source)
	for _, p := range places {
		real, err := filepath.EvalSymlinks(p.Path)
		if err != nil {
			real = filepath.Clean(p.Path)
		}
		if mountinfo.Within(real, source) || contains(ancestors(real), source) {
			return p, true
		}
		if !view && (mountinfo.Within(source, real) || contains(above, real)) {
			return p, true
		}
	}
	return Protected{}, false
}

// ancestors are name and the directories above it but "/", as far as they exist.
func ancestors(name string) []os.FileInfo {
	var infos []os.FileInfo
	for ; name != "/" && name != "."; name = filepath.Dir(name) {
		if info, err := os.Lstat(name); err == nil {
			infos = append(infos, info)
		}
	}
	return infos
}

func contains(infos []os.FileInfo, name string) bool {
	info, err := os.Lstat(name)
	if err != nil {
		return false
	}
	for _, i := range infos {
		if os.SameFile(i, info) {
			return true
		}
	}
	return false
}
