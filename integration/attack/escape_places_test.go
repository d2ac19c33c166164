package attack

import (
	"bytes"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// byPath tries names that lead out, and files that command the kernel.
func byPath(host outside) []attempt {
	here, _ := os.Getwd()
	var list []attempt
	for _, file := range host.Files {
		for _, way := range []string{"", "/proc/self/root", "/proc/1/root", "/proc/1/cwd", fmt.Sprintf("/proc/%d/root", host.Pid),
			here + strings.Repeat("/..", 40)} {
			list = append(list, attempt{"open " + way + file, "ENOENT|EACCES", open(way+file, unix.O_PATH)})
		}
		list = append(list, attempt{"follow a link to " + file, "ENOENT", func() error {
			if err := unix.Symlink(file, "out"); err != nil {
				return err
			}
			defer unix.Unlink("out")
			return open("out", unix.O_PATH)()
		}})
	}
	for file, want := range map[string]string{
		"/proc/sys/kernel/core_pattern": "EROFS|EACCES", "/proc/sys/kernel/modprobe": "EROFS|EACCES|ENOENT", "/proc/sysrq-trigger": "EROFS|EACCES|ENOENT",
		"/proc/sys/vm/drop_caches": "EROFS|EACCES", "/proc/sys/fs/binfmt_misc/register": "EROFS|EACCES|ENOENT",
		"/sys/kernel/uevent_helper": "EROFS|EACCES|ENOENT", "/sys/fs/cgroup/release_agent": "EROFS|EACCES|ENOENT",
		"/dev/fuse": "ENOENT", "/dev/mem": "ENOENT", "/dev/kmsg": "ENOENT", "/dev/kvm": "ENOENT", "/dev/net/tun": "ENOENT",
		"/dev/loop-control": "ENOENT", "/dev/mapper/control": "ENOENT",
	} {
		list = append(list, attempt{"open " + file + " to write", want, open(file, unix.O_WRONLY)})
	}
	return append(list,
		attempt{"link of the view's into /tmp", "EXDEV", link("attacker", "/tmp/attacker")},
		attempt{"link of a program into the view", "EXDEV|EPERM", link("/proc/self/exe", "linked")},
		attempt{"link of a file of the image into the view", either("EXDEV|EPERM", "EXDEV|EPERM"), link(either("/setuid", "/usr/bin/env"), "linked")},
		attempt{"rename out of the view", "EXDEV", rename("attacker", "/tmp/attacker")},
		attempt{"write a program of the system", either("ETXTBSY|EROFS|EACCES", "EROFS|EACCES"), open(either("/sbin/docker-init", "/usr/bin/env"), unix.O_WRONLY)},
		attempt{"change /etc/passwd", either("EROFS|EACCES|ENOENT", "EROFS|EACCES"), open("/etc/passwd", unix.O_WRONLY)},
		attempt{"change /etc/resolv.conf", "EROFS|EACCES|ENOENT", open("/etc/resolv.conf", unix.O_WRONLY)},
		attempt{"change /etc/hosts", "EROFS|EACCES", open("/etc/hosts", unix.O_WRONLY)},
		attempt{"create /x", "EROFS|EACCES", create("/x")},
		attempt{"create /dev/x", ofRoot("ok", "EROFS|EACCES"), create("/dev/x")},
		attempt{"memory of the kernel", "ok|EACCES|ENOENT", func() error { return empty("/proc/kcore") }},
		attempt{"keys", "ok|EACCES|ENOENT", func() error { return empty("/proc/keys") }},
		attempt{"what is beside the view", "ok", func() error { return none(siblings(here)) }},
		attempt{"cgroups to write", "ok", func() error { return none(writable("/sys")) }},
		attempt{"kernel settings to write", "ok", func() error { return none(writable("/proc/sys")) }},
		attempt{"sockets and devices", "ok", func() error { return none(strangers(here)) }},
		attempt{"create(denied)", "EACCES", create("denied")},
	)
}

// empty is an error if there is something to read in a file.
func empty(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, _ := f.Read(make([]byte, 64)); n > 0 {
		return fmt.Errorf("%s is not empty", file)
	}
	return nil
}

// siblings are the names beside a directory.
func siblings(dir string) (list []string) {
	entries, _ := os.ReadDir(filepath.Dir(dir))
	for _, e := range entries {
		if e.Name() != filepath.Base(dir) {
			list = append(list, e.Name())
		}
	}
	return list
}

// writable are the files below dir that may be opened for writing.
func writable(dir string) (list []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && open(path, unix.O_WRONLY)() == nil {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// strangers are the sockets and devices that a sandbox need not have.
func strangers(view string) (list []string) {
	usual := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts/ptmx", "/dev/console"}
	filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		switch {
		case path == "/proc" || path == view:
			return fs.SkipDir
		case err == nil && d.Type()&(fs.ModeSocket|fs.ModeDevice) != 0 && !slices.Contains(usual, path):
			list = append(list, path)
		}
		return nil
	})
	return list
}

// bySocket tries to talk to the host; the network is off.
func bySocket(host outside) []attempt {
	socket := func(domain, kind, protocol int) func() error {
		return func() error {
			fd, err := unix.Socket(domain, kind, protocol)
			unix.Close(fd)
			return err
		}
	}
	dial := func(network, address string) func() error {
		return func() error {
			c, err := net.DialTimeout(network, address, 5*time.Second)
			if err == nil {
				c.Close()
			}
			return err
		}
	}
	return []attempt{
		{"raw socket", "EPERM", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"packet socket", "EPERM", socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{"vsock", host.Vsock, socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"abstract socket", "ECONNREFUSED", dial("unix", host.Abstract)},
		{"a port of the host", "ECONNREFUSED", dial("tcp", "127.0.0.1:"+host.Port)},
		{"another address", "ENETUNREACH", dial("tcp", "198.51.100.1:80")},
		{"metadata service", "ENETUNREACH", dial("udp", "169.254.169.254:80")},
	}
}

// byLeak looks for what came along from the caller: descriptors, the
// environment, keys, addresses.
func byLeak(outside) []attempt {
	return []attempt{
		{"descriptors", "ok", func() error { return none(inherited()) }},
		{"environment of every process", "ok", func() error { return none(leaks("/proc/[0-9]*/environ")) }},
		{"command line of every process", "ok", func() error { return none(leaks("/proc/[0-9]*/cmdline")) }},
		{"interfaces", "ok", func() error {
			all, err := net.Interfaces()
			if len(all) != 1 || all[0].Name != "lo" {
				return fmt.Errorf("%v", all)
			}
			return err
		}},
	}
}

// inherited are the descriptors that are no pipe, and not of Go's runtime, which
// reads its cgroup: a file of the host could be opened anew with more rights.
func inherited() (list []string) {
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if err == nil && to != "/dev/null" && !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:[event") &&
			!strings.HasPrefix(to, "anon_inode:[pidfd") && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			list = append(list, filepath.Base(fd)+" "+to)
		}
	}
	return list
}

// leaks are the files that hold the secret.
func leaks(pattern string) (list []string) {
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(secret)) {
			list = append(list, file)
		}
	}
	return list
}
