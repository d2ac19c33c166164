package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Descriptors that bubblewrap inherits.
const (
	argsFD = 3 + iota
	statusFD
	seccompFD
	passwdFD
	groupFD
)

// systemPaths are what a sandbox sees of the host, read-only, where the host has
// it: programs, libraries, and what those look up. Accounts, keys and the
// configuration of services are not among it.
var systemPaths = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
	"/etc/alternatives", "/etc/bash.bashrc", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/debian_version",
	"/etc/fonts", "/etc/gitconfig", "/etc/hosts", "/etc/inputrc", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
	"/etc/profile", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
	"/etc/terminfo", "/etc/timezone",
}

// args are bubblewrap's options for b; they hold the environment, and therefore
// go through a descriptor and not through a command line that everybody sees.
func (l *Local) args(b *box) []string {
	args := []string{
		"--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", "sandbox", "--clearenv", "--cap-drop", "ALL",
		"--json-status-fd", strconv.Itoa(statusFD), "--seccomp", strconv.Itoa(seccompFD),
	}
	if b.spec.Network == NetworkNone {
		args = append(args, "--unshare-net")
	}
	if os.Geteuid() == 0 {
		// setpriv becomes the user of the command with these, and drops them.
		args = append(args, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP")
	} else {
		args = append(args, "--unshare-user")
	}
	if !b.terminal {
		args = append(args, "--new-session")
	}
	args = append(append(args, l.procArgs()...), "--dev", "/dev")
	args = append(args, kernelBinds("/proc")...)
	args = append(args, systemBinds(systemPaths, "/")...)
	args = append(args,
		"--perms", "0644", "--ro-bind-data", strconv.Itoa(passwdFD), "/etc/passwd",
		"--perms", "0644", "--ro-bind-data", strconv.Itoa(groupFD), "/etc/group")
	for _, dir := range []string{"/tmp", "/run", "/var/tmp", "/dev/shm"} {
		args = append(args, "--perms", "1777", "--size", strconv.FormatInt(l.limits.Tmpfs, 10), "--tmpfs", dir)
	}
	args = append(args, "--symlink", "/run", "/var/run")
	for _, bind := range b.binds {
		args = append(args, parents(bind.Target)...)
		option := "--bind"
		if bind.ReadOnly {
			option = "--ro-bind"
		}
		args = append(args, option, bind.Source, bind.Target)
	}
	args = append(args, "--remount-ro", "/", "--remount-ro", "/dev", "--chdir", b.dir)
	for _, e := range b.env {
		name, value, _ := strings.Cut(e, "=")
		args = append(args, "--setenv", name, value)
	}
	return args
}

// kernelBinds closes what a new proc leaves open: settings of the kernel, which
// are writable by their owner whatever capabilities it lacks, and the names of
// keys, which have no namespace.
func kernelBinds(proc string) (args []string) {
	for file, source := range map[string]string{"sys": filepath.Join(proc, "sys"), "keys": os.DevNull} {
		if _, err := os.Stat(filepath.Join(proc, file)); err == nil {
			args = append(args, "--ro-bind", source, filepath.Join("/proc", file))
		}
	}
	return args
}

// parents makes the directories above target, for all to pass. Bubblewrap would
// make them for its own user.
func parents(target string) []string {
	var args []string
	for i, r := range target {
		if r == '/' && i > 0 {
			args = append(args, "--perms", "0755", "--dir", target[:i])
		}
	}
	return args
}

// systemBinds shows paths of the host, whose root is at host. A link to another
// place that is shown stays one; what another link leads to is shown in its place.
func systemBinds(paths []string, host string) []string {
	var args []string
	for _, p := range paths {
		at := filepath.Join(host, p)
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			continue
		}
		args = append(args, parents(p)...)
		target, err := os.Readlink(at)
		if err == nil {
			full := target
			if !filepath.IsAbs(full) {
				full = filepath.Join(filepath.Dir(p), target)
			}
			if shown(paths, full) {
				args = append(args, "--symlink", target, p)
				continue
			}
		}
		args = append(args, "--ro-bind", real, p)
	}
	return args
}

func shown(paths []string, name string) bool {
	for _, p := range paths {
		if below(name, p) {
			return true
		}
	}
	return false
}

// command is what bubblewrap starts: a chain of programs, each of which limits
// itself and becomes the next.
func (l *Local) command(b *box, args []string) []string {
	uid, gid, _ := strings.Cut(b.spec.User, ":")
	var line []string
	if os.Geteuid() == 0 {
		line = append(line, l.tools["setpriv"], "--reuid", uid, "--regid", gid, "--clear-groups", "--inh-caps", "-all", "--bounding-set", "-all", "--")
	}
	most := l.limits.Pids + int64(tasksOf(uid))
	line = append(line, l.tools["prlimit"], fmt.Sprintf("--nproc=%d:%d", most, most), "--core=0:0", "--")
	if b.terminal {
		line = append(line, l.tools["setsid"], "--ctty", "--")
	}
	line = append(line, l.tools["env"], "--")
	return append(line, args...)
}

// tasksOf counts the threads of a user: the kernel's limit is one for all of
// them, in whatever sandbox they are.
func tasksOf(uid string) int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	count := 0
	for _, dir := range dirs {
		text, _ := os.ReadFile(dir + "/status")
		fields := map[string][]string{}
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok {
				fields[key] = strings.Fields(value)
			}
		}
		if ids, threads := fields["Uid"], fields["Threads"]; len(ids) > 0 && ids[0] == uid && len(threads) == 1 {
			n, _ := strconv.Atoi(threads[0])
			count += n
		}
	}
	return count
}

// accounts are the users and groups that a sandbox knows.
func accounts(user string) (passwd, group string) {
	uid, gid, _ := strings.Cut(user, ":")
	passwd = "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
	group = "root:x:0:\nnogroup:x:65534:\n"
	if uid != "0" && uid != "65534" {
		passwd += fmt.Sprintf("agent:x:%s:%s::/tmp:/bin/sh\n", uid, gid)
	}
	if gid != "0" && gid != "65534" {
		group += fmt.Sprintf("agent:x:%s:\n", gid)
	}
	return passwd, group
}

// inherit returns a file without a name that holds data, to be read from its
// beginning.
func inherit(data string) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandboxfs", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "sandboxfs")
	if _, err := f.WriteString(data); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(0, 0)
	return f, err
}
