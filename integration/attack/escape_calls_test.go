package attack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// x32 is the bit of calls of another table, which a filter may forget.
const x32 = 1 << 30

// byCall tries what changes mounts and namespaces, and other processes.
func byCall(host outside) []attempt {
	here, tmp, empty := name("."), name("/tmp"), name("")
	cwd := ^uintptr(99) // AT_FDCWD
	user := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	clone3 := lasting(binary.NativeEndian.AppendUint64(nil, uint64(user)), 88)
	attributes := lasting([]byte{8: unix.MOUNT_ATTR_RDONLY}, 32) // cleared
	word := lasting(nil, 8)
	vector := lasting(binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, uint64(word)), 8), 16)
	handle := unix.NewFileHandle(host.Kind, host.Handle)
	byHandle := func(dir string) func() error {
		return func() error {
			at, err := unix.Open(dir, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(at)
			_, err = unix.OpenByHandleAt(at, handle, unix.O_RDONLY)
			return err
		}
	}
	mounting := either("EPERM", "ENOSYS")
	mount := func(source, target, kind string, flags uintptr) func() error {
		return func() error { return unix.Mount(source, target, kind, flags, "") }
	}
	return []attempt{
		{"remount / writable", mounting, mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND)},
		{"remount the view", mounting, mount("", ".", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID)},
		{"bind / on /tmp", mounting, mount("/", "/tmp", "", unix.MS_BIND)},
		{"mount proc", mounting, mount("proc", "/tmp", "proc", 0)},
		{"mount a cgroup", mounting, mount("cgroup", "/tmp", "cgroup", 0)},
		{"make / shared", mounting, mount("", "/", "", unix.MS_SHARED|unix.MS_REC)},
		{"umount the view", mounting, func() error { return unix.Unmount(".", unix.MNT_DETACH) }},
		{"pivot_root", mounting, func() error { return unix.PivotRoot(".", ".") }},
		{"chroot", mounting, func() error { return unix.Chroot(".") }},
		{"open_tree(CLONE)", mounting, raw(unix.SYS_OPEN_TREE, cwd, here, unix.OPEN_TREE_CLONE)},
		{"move_mount", mounting, raw(unix.SYS_MOVE_MOUNT, cwd, here, cwd, tmp, 0)},
		{"fsopen", mounting, raw(unix.SYS_FSOPEN, name("tmpfs"), 0)},
		{"fspick", mounting, raw(unix.SYS_FSPICK, cwd, here, 0)},
		{"mount_setattr", either("EPERM|ENOSYS", "ENOSYS"), raw(unix.SYS_MOUNT_SETATTR, cwd, empty, 0, attributes, 32)},
		{"mount of the x32 table", either("EPERM|ENOSYS", "ENOSYS"), raw(x32|unix.SYS_MOUNT, here, tmp, empty, unix.MS_BIND, 0)},
		{"unshare(NEWUSER)", either("EPERM", "EINVAL"), raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)},
		{"unshare(NEWUSER|NEWNS)", either("EPERM", "EINVAL"), raw(unix.SYS_UNSHARE, user)},
		{"unshare(NEWNS)", either("EPERM", "EINVAL"), raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS)},
		{"clone(NEWUSER)", either("EPERM", "EINVAL"), clone(unix.SYS_CLONE, user|uintptr(unix.SIGCHLD))},
		{"clone3(NEWUSER)", either("EPERM|ENOSYS", "ENOSYS"), clone(unix.SYS_CLONE3, clone3, 88)},
		{"setns of process 1", either("EPERM|EACCES", "EACCES|ENOSYS"), func() error {
			fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Setns(fd, 0)
		}},
		{"open_by_handle_at of the view", mounting, byHandle(".")},
		{"open_by_handle_at of /", mounting, byHandle("/")},
		{"open_by_handle_at of /proc", mounting, byHandle("/proc")},
		{"ptrace a process of the host", "ESRCH|EPERM", func() error { return unix.PtraceAttach(host.Pid) }},
		{"signal a process of the host", "ESRCH", func() error { return unix.Kill(host.Pid, unix.SIGKILL) }},
		{"signal its group", "ESRCH", func() error { return unix.Kill(-host.Pid, unix.SIGKILL) }},
		{"pidfd_open of it", "ESRCH", raw(unix.SYS_PIDFD_OPEN, uintptr(host.Pid), 0)},
		{"process_vm_readv of it", "ESRCH|EPERM", raw(unix.SYS_PROCESS_VM_READV, uintptr(host.Pid), vector, 1, vector, 1, 0)},
		{"sched_setaffinity of it", "ESRCH", func() error { return unix.SchedSetaffinity(host.Pid, &unix.CPUSet{1}) }},
		{"shared memory of the host", "ENOENT", func() error { _, err := unix.SysvShmGet(host.Shared, 0, 0); return err }},
	}
}

// kept is memory that system calls are given by address alone.
var kept [][]byte

// lasting returns the address of data, followed by zeros up to size.
func lasting(data []byte, size int) uintptr {
	kept = append(kept, append(data, make([]byte, size-len(data))...))
	return ptr(kept[len(kept)-1])
}

func name(s string) uintptr { return lasting([]byte(s), len(s)+1) }

// byRight tries to get rights, or what needs them. Where a call would do harm if
// it were allowed, its arguments make it fail later.
func byRight(outside) []attempt {
	denied := either("EPERM", "ENOSYS")
	header := lasting(binary.NativeEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3), 8)
	every := lasting(bytes.Repeat([]byte{0xff}, 24), 24)
	zero := lasting(nil, 128)
	own := func(program string) func() error {
		return func() error {
			out, err := exec.Command(program, "whoami").Output()
			if got, want := strings.TrimSpace(string(out)), fmt.Sprint(os.Getuid(), os.Getuid()); err == nil && got != want {
				err = fmt.Errorf("%q and not %q", got, want)
			}
			return err
		}
	}
	return []attempt{
		{"become root", ofRoot("ok", either("EPERM", "EPERM|EINVAL")), func() error { return unix.Setresuid(0, 0, 0) }},
		{"become another user", either("EPERM", "EPERM|EINVAL"), func() error { return unix.Setresuid(1, 1, 1) }},
		{"join group 0", "EPERM", func() error { return unix.Setgroups([]int{0}) }},
		{"take every capability", "EPERM", raw(unix.SYS_CAPSET, header, every)},
		{"run a set-uid program of the view", "ok", own("./setuid")},
		{"run a set-uid program of the image", either("ok", "ENOENT"), own("/setuid")},
		{"status of this process", "ok", func() error { return none(missing("/proc/self/status", rights)) }},
		{"process 1, if it is open to this one", "ok|EACCES", func() error {
			if err := open("/proc/1/mem", unix.O_WRONLY)(); err != nil {
				return err
			}
			return none(missing("/proc/1/status", rights))
		}},
		{"mknod of a disk in the view", "EPERM", func() error { return unix.Mknod("disk", unix.S_IFBLK|0o666, int(unix.Mkdev(254, 0))) }},
		{"mknod of memory in /tmp", "EPERM", func() error { return unix.Mknod("/tmp/mem", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1))) }},
		{"file capabilities", "EPERM", setxattr("attacker", "security.capability", "\x01\x00\x00\x02"+strings.Repeat("\xff", 16))},
		{"keyctl", denied, raw(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 0)},
		{"add_key", denied, raw(unix.SYS_ADD_KEY, name("user"), name("k"), zero, 1, ^uintptr(3))},
		{"request_key", denied, raw(unix.SYS_REQUEST_KEY, name("user"), name("k"), 0, 0)},
		{"bpf", denied, raw(unix.SYS_BPF, 5, zero, 128)},
		{"perf_event_open", denied, raw(unix.SYS_PERF_EVENT_OPEN, zero, 0, ^uintptr(0), ^uintptr(0), 0)},
		{"io_uring_setup", either("EFAULT|EPERM|ENOSYS", "ENOSYS"), raw(unix.SYS_IO_URING_SETUP, 1, 0)}, // an older engine's filter lets it pass
		{"userfaultfd", denied, raw(unix.SYS_USERFAULTFD, 0)},
		{"fanotify_init", "EPERM", raw(unix.SYS_FANOTIFY_INIT, 0, 0)},
		{"init_module", denied, raw(unix.SYS_INIT_MODULE, 0, 0, 0)},
		{"kexec_load", denied, raw(unix.SYS_KEXEC_LOAD, 0, 1<<20, 0, ^uintptr(0))},
		{"reboot", denied, raw(unix.SYS_REBOOT, 0, 0, 0)},
		{"syslog", denied, raw(unix.SYS_SYSLOG, 3, zero, 128)},
		{"acct", denied, raw(unix.SYS_ACCT, name("/tmp/acct"))},
		{"swapoff", denied, raw(unix.SYS_SWAPOFF, name("/none"))},
		{"quotactl", denied, raw(unix.SYS_QUOTACTL, 0x80000100, 0, 0, 0)},
		{"settimeofday", denied, raw(unix.SYS_SETTIMEOFDAY, 0, zero)},
		{"sethostname", "EPERM", func() error { return unix.Sethostname([]byte("x")) }},
		{"nice", "EACCES|EPERM", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) }},
		{"be killed last", "EACCES", func() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("-1000"), 0) }},
		{"more processes", "EPERM", func() error {
			return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
		}},
	}
}

// rights are lines of /proc/PID/status.
var rights = []string{
	"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
	"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
}

// missing are the lines that a file does not have.
func missing(file string, lines []string) (list []string) {
	text, _ := os.ReadFile(file)
	for _, l := range lines {
		if !strings.Contains(string(text), l+"\n") {
			list = append(list, l)
		}
	}
	return list
}
