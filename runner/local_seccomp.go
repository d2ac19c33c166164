package runner

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// audited are the numbers that the kernel gives to processors in a filter.
var audited = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64}

// refused are the calls that a sandbox has no use for: those that change what
// is mounted, that lead round the namespaces, or that open much of the kernel
// to whoever has no rights. Most need a capability that a sandbox lacks; it
// must not get one in a namespace of its own either. The answers are those of a
// kernel built without them, for which programs are prepared.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, // keyrings have no namespace
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_CLONE3, // its flags are out of a filter's sight; clone is there
}

const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME

// Places in struct seccomp_data.
const (
	dataNumber   = 0
	dataArch     = 4
	dataArgument = 16
)

// seccompFilter is the program that the kernel runs on each system call of a
// sandbox, in the form of struct sock_filter.
func seccompFilter() (string, error) {
	arch, ok := audited[runtime.GOARCH]
	if !ok {
		return "", fmt.Errorf("%w: there is no system call filter for %s", ErrLocal, runtime.GOARCH)
	}
	var f filter
	f.load(dataArch)
	f.skipUnless(unix.BPF_JEQ, arch, 1, func() { f.skip(1) })
	f.answer(unix.ENOSYS) // programs for other processors
	f.load(dataNumber)
	if runtime.GOARCH == "amd64" {
		f.skipUnless(unix.BPF_JGE, 1<<30, 1, func() { f.answer(unix.ENOSYS) }) // the x32 calls
	}
	for _, call := range refused {
		f.skipUnless(unix.BPF_JEQ, call, 1, func() { f.answer(unix.ENOSYS) })
	}
	f.refuseArgument(unix.SYS_CLONE, 0, unix.BPF_JSET, newNamespaces&^unix.CLONE_NEWTIME, unix.EINVAL) // that bit is part of the exit signal here
	f.refuseArgument(unix.SYS_UNSHARE, 0, unix.BPF_JSET, newNamespaces, unix.EINVAL)
	f.refuseArgument(unix.SYS_SOCKET, 0, unix.BPF_JEQ, unix.AF_VSOCK, unix.EAFNOSUPPORT) // which has no namespace
	f.refuseArgument(unix.SYS_IOCTL, 1, unix.BPF_JEQ, unix.TIOCSTI, unix.EIO)            // typing for somebody else
	f.refuseArgument(unix.SYS_IOCTL, 1, unix.BPF_JEQ, unix.TIOCLINUX, unix.ENOTTY)
	f.put(unix.BPF_RET|unix.BPF_K, 0, 0, unix.SECCOMP_RET_ALLOW)
	return f.String(), nil
}

// filter is a program as it grows.
type filter struct{ bytes.Buffer }

func (f *filter) put(code uint16, yes, no uint8, k uint32) {
	binary.Write(f, binary.NativeEndian, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (f *filter) load(offset uint32) { f.put(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }

func (f *filter) skip(n uint32) { f.put(unix.BPF_JMP|unix.BPF_JA, 0, 0, n) }

func (f *filter) answer(errno unix.Errno) {
	f.put(unix.BPF_RET|unix.BPF_K, 0, 0, unix.SECCOMP_RET_ERRNO|uint32(errno))
}

// skipUnless runs the next n instructions, which then writes, where the
// comparison of what is loaded with k holds.
func (f *filter) skipUnless(comparison uint16, k uint32, n uint8, then func()) {
	f.put(unix.BPF_JMP|comparison|unix.BPF_K, 0, n, k)
	then()
}

// refuseArgument refuses a call where the comparison holds for the low half of
// an argument; the number is loaded before and after.
func (f *filter) refuseArgument(call, argument uint32, comparison uint16, k uint32, errno unix.Errno) {
	f.skipUnless(unix.BPF_JEQ, call, 4, func() {
		f.load(dataArgument + 8*argument)
		f.skipUnless(comparison, k, 1, func() { f.answer(errno) })
		f.load(dataNumber)
	})
}
