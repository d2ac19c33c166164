package bazil

import (
	"strconv"
	"syscall"

	"bazil.org/fuse"

	"github.com/sandboxfs/sandboxfs/metrics"
)

// operations are the counters of what is served, resolved ahead.
type operations struct {
	metrics *metrics.Metrics
	other   *metrics.Operation

	lookup, getattr, setattr, readlink, access, statfs   *metrics.Operation
	open, create, read, write, release, fsync, fallocate *metrics.Operation
	opendir, readdir, releasedir, fsyncdir               *metrics.Operation
	mkdir, mknod, symlink, link, unlink, rmdir, rename   *metrics.Operation
	getxattr, listxattr, setxattr, removexattr           *metrics.Operation
	setlk, forget, interrupt, destroy                    *metrics.Operation
}

func newOperations(m *metrics.Metrics) operations {
	return operations{
		metrics: m, other: m.Operation("unsupported"),
		lookup: m.Operation("lookup"), getattr: m.Operation("getattr"), setattr: m.Operation("setattr"),
		readlink: m.Operation("readlink"), access: m.Operation("access"), statfs: m.Operation("statfs"),
		open: m.Operation("open"), create: m.Operation("create"), read: m.Operation("read"),
		write: m.Operation("write"), release: m.Operation("release"), fsync: m.Operation("fsync"),
		fallocate: m.Operation("fallocate"),
		opendir:   m.Operation("opendir"), readdir: m.Operation("readdir"),
		releasedir: m.Operation("releasedir"), fsyncdir: m.Operation("fsyncdir"),
		mkdir: m.Operation("mkdir"), mknod: m.Operation("mknod"), symlink: m.Operation("symlink"),
		link: m.Operation("link"), unlink: m.Operation("unlink"), rmdir: m.Operation("rmdir"),
		rename:   m.Operation("rename"),
		getxattr: m.Operation("getxattr"), listxattr: m.Operation("listxattr"),
		setxattr: m.Operation("setxattr"), removexattr: m.Operation("removexattr"),
		setlk: m.Operation("setlk"), forget: m.Operation("forget"),
		interrupt: m.Operation("interrupt"), destroy: m.Operation("destroy"),
	}
}

// refusal is the answer to an operation that is not carried.
type refusal struct {
	name  string
	errno syscall.Errno
}

// refusals are the operations that the library reads but does not decode, by
// opcode of linux/fuse.h. ENOSYS makes the kernel fall back, once and for all;
// ENOTSUP would break stat. A rename with flags has no fallback and is EINVAL,
// as on a file system without it.
var refusals = map[uint32]refusal{
	37: {"bmap", syscall.ENOSYS},
	39: {"ioctl", syscall.ENOSYS}, // seen as ENOTTY; forwarded ones would run with the daemon's rights
	44: {"readdirplus", syscall.ENOSYS},
	45: {"rename2", syscall.EINVAL},
	46: {"lseek", syscall.ENOSYS}, // all of a file is data
	47: {"copy_file_range", syscall.EOPNOTSUPP},
	48: {"setupmapping", syscall.ENOSYS},
	49: {"removemapping", syscall.ENOSYS},
	50: {"syncfs", syscall.ENOSYS},
	51: {"tmpfile", syscall.EOPNOTSUPP},
	52: {"statx", syscall.ENOSYS},
	53: {"copy_file_range_64", syscall.EOPNOTSUPP},
}

// refuse answers what is not carried; what nobody thought of is ENOSYS.
func (w *worker) refuse(req fuse.Request) *metrics.Operation {
	ops := &w.loop.operations
	answer := refusal{"unknown", syscall.ENOSYS}
	switch r := req.(type) {
	case *fuse.UnrecognizedRequest:
		var known bool
		if answer, known = refusals[r.Opcode]; !known {
			answer = refusal{"opcode_" + strconv.Itoa(int(r.Opcode)), syscall.ENOSYS}
		}
	case *fuse.FlushRequest:
		// Nothing is left to do at a close: writes go through and record locks are
		// the kernel's own. ENOSYS saves the round trip of every further one.
		answer = refusal{"flush", syscall.ENOSYS}
	case *fuse.PollRequest:
		answer = refusal{"poll", syscall.ENOSYS} // files are always ready
	case *fuse.QueryLockRequest:
		answer = refusal{"getlk", syscall.ENOSYS}
	}
	ops.metrics.Unsupported(answer.name)
	w.reply(answer.errno, 0)
	return ops.other
}
