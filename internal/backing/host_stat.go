package backing

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// statx describes name in the directory fd, or fd itself when name is "". It
// follows no link, triggers no automount and allocates nothing, which is why
// it does not go through unix.Statx.
func statx(fd int, name string) (Stat, error) {
	const (
		flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH
		mask  = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	)
	var (
		stack [256]byte
		path  = stack[:]
		stx   unix.Statx_t
	)
	if len(name) >= len(path) {
		path = make([]byte, len(name)+1)
	}
	copy(path, name)
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(fd), uintptr(unsafe.Pointer(&path[0])),
		flags, mask, uintptr(unsafe.Pointer(&stx)), 0)
	if errno != 0 {
		return Stat{}, errno
	}
	st := statOf(&stx)
	if listsMatter {
		st.Mode = underList(fd, &path[0], st.Mode)
	}
	return st, nil
}

func statOf(stx *unix.Statx_t) Stat {
	st := Stat{
		Dev:     unix.Mkdev(stx.Dev_major, stx.Dev_minor),
		Ino:     stx.Ino,
		Mode:    uint32(stx.Mode),
		Nlink:   stx.Nlink,
		Uid:     stx.Uid,
		Gid:     stx.Gid,
		Rdev:    uint32(unix.Mkdev(stx.Rdev_major, stx.Rdev_minor)),
		Blksize: stx.Blksize,
		Size:    stx.Size,
		Blocks:  stx.Blocks,
		Atime:   timespec(stx.Atime),
		Mtime:   timespec(stx.Mtime),
		Ctime:   timespec(stx.Ctime),
	}
	if stx.Mask&unix.STATX_BTIME != 0 {
		st.Btime = timespec(stx.Btime)
	}
	return st
}

func timespec(ts unix.StatxTimestamp) unix.Timespec {
	return unix.Timespec{Sec: ts.Sec, Nsec: int64(ts.Nsec)}
}
