package fs

import (
	"errors"
	"syscall"

	"github.com/sandboxfs/sandboxfs/policy"
)

// refusal returns the errno that a caller sees for a verdict that does not
// permit. It is the only place where a verdict becomes an errno.
func refusal(v policy.Verdict) syscall.Errno {
	if v.Decision == policy.Hide {
		return syscall.ENOENT
	}
	switch v.Rule {
	case policy.ReadonlyMount:
		return syscall.EROFS
	case policy.Mountpoint:
		return syscall.EBUSY
	case policy.CrossMount, policy.Subtree:
		return syscall.EXDEV
	case policy.Device:
		return syscall.EPERM
	}
	return syscall.EACCES
}

// noDirectoryLink is what a hard link to a directory gets, as link(2).
const noDirectoryLink = syscall.EPERM

// notOwner is what a change of owner gets that the daemon cannot or must not
// carry out.
const notOwner = syscall.EPERM

// errnoOf returns the errno inside err, EIO when there is none: bazil answers EIO
// to a wrapped errno, so nothing but a bare one leaves this package.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return syscall.EIO
}
