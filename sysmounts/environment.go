package sysmounts

import (
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// Environment is where the daemon runs.
type Environment struct {
	OS           string // as runtime.GOOS
	Container    bool   // Docker, Podman, containerd, Kubernetes
	WSL          bool   // Windows Subsystem for Linux, also below a container
	DevContainer bool   // a development container of an editor, Codespaces included
	Codespaces   bool   // GitHub Codespaces
}

// String says it in words: "linux, container, dev container".
func (e Environment) String() string {
	words := []string{e.OS}
	for _, s := range []struct {
		so   bool
		word string
	}{{e.Container, "container"}, {e.WSL, "WSL"}, {e.DevContainer, "dev container"}, {e.Codespaces, "Codespaces"}} {
		if s.so {
			words = append(words, s.word)
		}
	}
	return strings.Join(words, ", ")
}

// Detect returns the environment of this process. It reads a few files of
// /proc and the environment variables, and takes what it cannot read for
// absent.
func Detect() Environment { return detect(runtime.GOOS, os.DirFS("/"), os.Getenv) }

func detect(goos string, host fs.FS, getenv func(string) string) Environment {
	codespaces := getenv("CODESPACES") != ""
	env := Environment{
		OS:           goos,
		Codespaces:   codespaces,
		DevContainer: codespaces || getenv("REMOTE_CONTAINERS") != "",
	}
	if goos == "linux" {
		env.Container = inContainer(host, getenv)
		env.WSL = inWSL(host)
	}
	return env
}

// inContainer looks for any one of the marks that container engines leave. The
// control group of process 1 alone does not tell: under cgroup v2 a container
// has a namespace of its own there and reads 0::/.
func inContainer(host fs.FS, getenv func(string) string) bool {
	return exists(host, ".dockerenv") || // Docker
		exists(host, "run/.containerenv") || // Podman
		getenv("container") != "" || // Podman, systemd-nspawn, LXC
		getenv("KUBERNETES_SERVICE_HOST") != "" ||
		strings.Contains("\x00"+read(host, "proc/1/environ"), "\x00container=") ||
		namesEngine(read(host, "proc/1/cgroup")) ||
		overlayRoot(read(host, "proc/self/mountinfo"))
}

// namesEngine reports whether the control groups are of an engine's making.
func namesEngine(cgroup string) bool {
	for _, engine := range []string{"docker", "kubepods", "containerd", "libpod"} {
		if strings.Contains(cgroup, engine) {
			return true
		}
	}
	return false
}

// overlayRoot reports whether / is an overlay as engines mount it, with the
// source "overlay". The overlays of live systems name another one.
func overlayRoot(mountinfo string) bool {
	for line := range strings.Lines(mountinfo) {
		mount, origin, _ := strings.Cut(line, " - ")
		at, from := strings.Fields(mount), strings.Fields(origin)
		if len(at) < 5 || at[4] != "/" || len(from) < 2 {
			continue
		}
		if from[0] == "overlay" && from[1] == "overlay" || from[0] == "fuse.fuse-overlayfs" {
			return true
		}
	}
	return false
}

// inWSL looks at the kernel's release, the third word of /proc/version:
// "4.4.0-19041-Microsoft", "5.15.90.1-microsoft-standard-WSL2". Further words
// say who compiled it and where.
func inWSL(host fs.FS) bool {
	words := strings.Fields(read(host, "proc/version"))
	return len(words) > 2 && strings.Contains(strings.ToLower(words[2]), "microsoft")
}

func exists(host fs.FS, name string) bool {
	_, err := fs.Lstat(host, name)
	return err == nil
}

func read(host fs.FS, name string) string {
	text, err := fs.ReadFile(host, name)
	if err != nil {
		return ""
	}
	return string(text)
}
