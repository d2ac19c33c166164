package backing

import (
	"encoding/binary"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A caller's kernel checks the mode bits that a view shows, and knows no access
// control list (acl(5)). Where the daemon is root nothing else checks: the bits
// shown for group and others are then those that everybody has whom the list
// could mean. Who has more by the list has it on the host alone.

// listsMatter is whether this process may do what lists forbid.
var listsMatter = os.Geteuid() == 0

// Tags and masks of a list as the kernel hands it out (linux/posix_acl_xattr.h).
const (
	aclAttribute = "system.posix_acl_access\x00"
	aclHeader    = 4
	aclEntry     = 8

	aclUser     = 0x02
	aclGroupObj = 0x04
	aclGroup    = 0x08
	aclMask     = 0x10
)

// underList returns mode without what the access control list of name in fd, or
// of fd itself, keeps from somebody. A list that cannot be read leaves nothing.
func underList(fd int, name *byte, mode uint32) uint32 {
	if mode&0o077 == 0 || mode&unix.S_IFMT == unix.S_IFLNK {
		return mode
	}
	b := lists.Get().(*listBuffer)
	defer lists.Put(b)
	if *name == 0 && mode&unix.S_IFMT == unix.S_IFDIR {
		name = &dot[0] // the empty path is EBADF for a descriptor with O_PATH
	}
	n, errno := b.read(fd, name)
	switch errno {
	case 0:
		return restrict(mode, b.list[:n])
	case unix.ENODATA, unix.EOPNOTSUPP:
		return mode
	}
	return mode &^ 0o077
}

// restrict returns mode with the group's and others' bits that every caller of
// the class has under list.
func restrict(mode uint32, list []byte) uint32 {
	const all = 7
	group, named, users, mask := uint32(all), uint32(all), uint32(all), uint32(all)
	extended := false // there are entries with names
	if len(list) < aclHeader || (len(list)-aclHeader)%aclEntry != 0 {
		return mode &^ 0o077
	}
	for e := list[aclHeader:]; len(e) > 0; e = e[aclEntry:] {
		perm := uint32(binary.LittleEndian.Uint16(e[2:]))
		switch binary.LittleEndian.Uint16(e) {
		case aclUser:
			users &= perm
			extended = true
		case aclGroup:
			named &= perm
			extended = true
		case aclGroupObj:
			group = perm
		case aclMask:
			mask = perm
		}
	}
	if extended {
		mode = mode&^7 | mode&7&users&named&mask
	}
	return mode&^0o070 | (group&users&mask)<<3
}

// oldKernel is set when there is no getxattrat(2), which came with Linux 6.13.
var oldKernel atomic.Bool

// listBuffer is the memory of one call. It is no variable of the caller: the
// kernel gets an address that the garbage collector does not know.
type listBuffer struct {
	args struct {
		value       uint64
		size, flags uint32
	}
	list [4096]byte // some 500 entries
}

var (
	dot   = [...]byte{'.', 0}
	lists = sync.Pool{New: func() any { return new(listBuffer) }}
)

// read reads the list of name in fd, or of fd itself, and returns its length.
func (b *listBuffer) read(fd int, name *byte) (int, unix.Errno) {
	if !oldKernel.Load() {
		b.args.value, b.args.size = uint64(uintptr(unsafe.Pointer(&b.list))), uint32(len(b.list))
		n, _, errno := unix.Syscall6(sysGetxattrat, uintptr(fd), uintptr(unsafe.Pointer(name)),
			unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, uintptr(unsafe.Pointer(unsafe.StringData(aclAttribute))),
			uintptr(unsafe.Pointer(&b.args)), unsafe.Sizeof(b.args))
		if errno == unix.ENOSYS {
			oldKernel.Store(true)
		} else if errno != unix.EBADF {
			return int(n), errno
		}
	}
	attribute := aclAttribute[:len(aclAttribute)-1]
	if *name == 0 {
		n, err := unix.Getxattr(procPath(fd), attribute, b.list[:])
		return n, asErrno(err)
	}
	n, err := unix.Lgetxattr(procPath(fd)+"/"+unix.BytePtrToString(name), attribute, b.list[:])
	return n, asErrno(err)
}

// sysGetxattrat is the number of getxattrat(2), but on MIPS, where there is no call
// of that number.
const sysGetxattrat = 464

func asErrno(err error) unix.Errno {
	errno, _ := err.(unix.Errno)
	return errno
}
