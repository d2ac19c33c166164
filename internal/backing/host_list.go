package backing

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// listBuffers holds buffers for getdents64.
var listBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// ReadDir lists the directory. It needs read permission. It is ENOENT when the
// directory was removed.
func (d *hostDir) ReadDir() ([]Dirent, error) {
	var list []Dirent
	err := d.use(func(fd int) error {
		listing, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer unix.Close(listing)
		list, err = readAll(listing)
		return err
	})
	return list, err
}

// readAll reads the listing of an open directory to its end.
func readAll(fd int) ([]Dirent, error) {
	buf := listBuffers.Get().(*[64 << 10]byte)
	defer listBuffers.Put(buf)
	var list []Dirent
	for {
		n, err := unix.Getdents(fd, buf[:])
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return list, nil
		}
		list = parseDirents(list, buf[:n])
	}
}

// listed returns ENOENT unless the open directory lists name.
func listed(fd int, name string) error {
	list, err := readAll(fd)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(e Dirent) bool { return e.Name == name }) {
		return unix.ENOENT
	}
	return nil
}

// The fixed part of struct linux_dirent64: d_ino, d_off, d_reclen, d_type.
const (
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

// parseDirents appends the entries of one getdents64 buffer. All their names
// are parts of one string.
func parseDirents(list []Dirent, buf []byte) []Dirent {
	all := string(buf)
	for off := 0; off < len(buf); {
		rec := buf[off:]
		reclen := int(binary.NativeEndian.Uint16(rec[direntReclen:]))
		start := off + direntName
		name := all[start : start+bytes.IndexByte(rec[direntName:reclen], 0)]
		off += reclen
		if name == "." || name == ".." {
			continue
		}
		list = append(list, Dirent{
			Name: name,
			Ino:  binary.NativeEndian.Uint64(rec),
			Type: rec[direntType],
		})
	}
	return list
}
