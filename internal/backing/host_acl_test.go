package backing

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// acl returns a list in the form of the kernel, of tag, permissions and id.
func acl(entries ...[3]uint32) []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range entries {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

// TestRestrict has nobody be shown more than the list gives to all of a class.
func TestRestrict(t *testing.T) {
	const nobody = ^uint32(0)
	owner, other := [3]uint32{1, 6, nobody}, [3]uint32{32, 4, nobody}
	for _, tt := range []struct {
		name    string
		mode    uint32
		entries [][3]uint32
		want    uint32
	}{
		{"a user with more", 0o664, [][3]uint32{{2, 6, 1000}, {4, 4, nobody}, {16, 6, nobody}}, 0o644},
		{"a user with less", 0o664, [][3]uint32{{2, 0, 1000}, {4, 6, nobody}, {16, 6, nobody}}, 0o600},
		{"a group with less", 0o664, [][3]uint32{{4, 6, nobody}, {8, 0, 1000}, {16, 6, nobody}}, 0o660},
		{"a mask with less", 0o604, [][3]uint32{{2, 7, 1000}, {4, 6, nobody}, {16, 0, nobody}}, 0o600},
		{"the owning group with less", 0o664, [][3]uint32{{2, 6, 1000}, {4, 0, nobody}, {16, 6, nobody}}, 0o604},
		{"no names", 0o664, [][3]uint32{{4, 6, nobody}}, 0o664},
	} {
		list := acl(append(append([][3]uint32{owner}, tt.entries...), other)...)
		if got := restrict(unix.S_IFREG|tt.mode, list); got != unix.S_IFREG|tt.want {
			t.Errorf("%s: %#o under the list is %#o, want %#o", tt.name, tt.mode, got, tt.want)
		}
	}
	for _, list := range [][]byte{nil, {2}, acl(owner)[:11]} {
		if got := restrict(0o777, list); got != 0o700 {
			t.Errorf("under the broken list %x: %#o, want nothing but the owner's", list, got)
		}
	}
}

// TestListsOfFiles reads lists by name and by descriptor, with the call of new
// kernels and without.
func TestListsOfFiles(t *testing.T) {
	defer func(is bool) { listsMatter = is }(listsMatter)
	listsMatter = true
	dir := t.TempDir()
	for _, name := range []string{"listed", "plain"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	list := acl([3]uint32{1, 6, ^uint32(0)}, [3]uint32{2, 0, 1000}, [3]uint32{4, 4, ^uint32(0)}, [3]uint32{16, 4, ^uint32(0)}, [3]uint32{32, 4, ^uint32(0)})
	if err := unix.Setxattr(filepath.Join(dir, "listed"), "system.posix_acl_access", list, 0); err != nil {
		t.Skip("no access control lists: ", err)
	}
	at, err := unix.Open(dir, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(at)
	for _, old := range []bool{false, true} {
		was := oldKernel.Swap(old)
		for name, want := range map[string]uint32{"listed": 0o600, "plain": 0o644} {
			fd, err := unix.Open(filepath.Join(dir, name), unix.O_PATH, 0)
			if err != nil {
				t.Fatal(err)
			}
			byName, err := statx(at, name)
			byFD, err2 := statx(fd, "")
			unix.Close(fd)
			if err != nil || err2 != nil || byName.Mode&0o777 != want || byFD.Mode&0o777 != want {
				t.Errorf("old kernel %t: %s has the mode %#o by name and %#o by descriptor (%v, %v), want %#o", old, name, byName.Mode, byFD.Mode, err, err2, want)
			}
		}
		oldKernel.Store(was)
	}
}
