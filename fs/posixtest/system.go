package posixtest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// utimensFD is futimens(3).
func utimensFD(fd int, ts []unix.Timespec) error {
	return unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH)
}

// descriptorPath names what fd holds, whatever its name is by now.
func descriptorPath(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// parseEntries takes a buffer of getdents64(2) apart.
func parseEntries(buf []byte) []entry {
	var entries []entry
	for len(buf) > 0 {
		size := binary.NativeEndian.Uint16(buf[16:])
		name, _, _ := bytes.Cut(buf[19:size], []byte{0})
		entries = append(entries, entry{
			name: string(name),
			ino:  binary.NativeEndian.Uint64(buf),
			next: int64(binary.NativeEndian.Uint64(buf[8:])),
			kind: buf[18],
		})
		buf = buf[size:]
	}
	return entries
}
