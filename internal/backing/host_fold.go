package backing

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// A view tells names apart byte by byte, and so do the rules for it. In a
// directory that finds a file under further spellings of its name (letter case,
// Unicode forms, trailing dots, short names), only the one that the directory
// lists is a name: the others are ENOENT, and nothing can be made that would be
// stored under another one than was asked for. What the host does meanwhile can
// overtake the check; what is done through the view cannot, for it goes by
// listed names only.

// system says whether directories of a file system may fold names.
type system uint8

const (
	unasked  system = iota
	ordinary        // they do not
	flagged         // those that have a flag do
	folding         // they do, or nothing tells
)

// systems are those that are not ordinary, by statfs(2). What folds on the far
// side of FUSE, 9P or ZFS does not show from here.
var systems = map[uint32]system{
	0x4d44:     folding, // msdos, vfat
	0x2011bab0: folding, // exfat
	0x5346544e: folding, // ntfs
	0x7366746e: folding, // ntfs3
	0x4244:     folding, // hfs
	0x482b:     folding, // hfsplus
	0x4858:     folding, // hfsplus, case-sensitive; it leaves out code points
	0xff534d42: folding, // cifs
	0xfe534d42: folding, // smb2
	0x517b:     folding, // smbfs
	0x9660:     folding, // isofs
	0x15013346: folding, // udf
	0x3153464a: folding, // jfs
	0xf995e849: folding, // hpfs
	0xadff:     folding, // affs
	0xadf5:     folding, // adfs
	0x786f4256: folding, // vboxsf
	0xbacbacbc: folding, // vmhgfs
	0x2fc12fc1: folding, // zfs
	0x01021997: folding, // 9p, of Windows too
	0x65735546: folding, // fuse, of macOS too
	0xef53:     flagged, // ext4
	0xf2f52010: flagged, // f2fs
	0x01021994: flagged, // tmpfs
	0x794c7630: flagged, // overlay
	0xca451a4e: flagged, // bcachefs
}

// casefoldFlag is FS_CASEFOLD_FL (chattr +F).
const casefoldFlag = 0x40000000

// kernelFolds reports whether some file system of this kernel can flag a
// directory, as far as it says so.
func kernelFolds() bool {
	if _, err := os.Stat("/sys/fs"); err != nil {
		return true
	}
	for _, feature := range []string{"ext4/features", "f2fs/features", "tmpfs/features", "bcachefs"} {
		name := "/sys/fs/" + feature
		if strings.HasSuffix(feature, "features") {
			name += "/casefold"
		}
		if _, err := os.Stat(name); err == nil {
			return true
		}
	}
	return false
}

// systemOf asks for the file system that fd is on.
func (t *hostTree) systemOf(fd int) system {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return folding
	}
	switch kind := systems[uint32(st.Type)]; {
	case kind == folding:
		return folding
	case kind == flagged && t.flags:
		return flagged
	}
	return ordinary
}

// folds reports whether the directory may find a file under a name that it does
// not list. On an ordinary file system this costs no system call.
func (d *hostDir) folds(fd int) bool {
	if d.system == ordinary {
		return false
	}
	known := d.known.Load()
	if known == 0 {
		known = 1
		kind := d.system
		if kind == unasked {
			kind = d.tree.systemOf(fd)
		}
		if kind == folding || kind == flagged && hasFlag(fd) {
			known = 2
			d.tree.folds.Store(true)
		}
		d.known.Store(known)
	}
	return known == 2
}

// Folds is folds for whoever has no descriptor at hand. A closed directory may.
func (d *hostDir) Folds() bool {
	folds := true
	d.use(func(fd int) error {
		folds = d.folds(fd)
		return nil
	})
	return folds
}

// hasFlag reports whether the directory has the flag, or nobody lets us see.
func hasFlag(fd int) bool {
	open, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return true
	}
	defer unix.Close(open)
	flags, err := unix.IoctlGetInt(open, unix.FS_IOC_GETFLAGS)
	return err == nil && flags&casefoldFlag != 0
}

// existing runs call on the directory if name is there in no other spelling.
func (d *hostDir) existing(name string, call func(fd int) error) error {
	return d.at(name, func(fd int) error {
		if d.folds(fd) {
			if err := spelled(fd, name); err != nil {
				return err
			}
		}
		return call(fd)
	})
}

// making runs call, which makes name, and has undo take it away again if the
// directory has given it another spelling: EINVAL.
func (d *hostDir) making(name string, call, undo func(fd int) error) error {
	return d.at(name, func(fd int) error {
		if err := call(fd); err != nil || !d.folds(fd) || spelled(fd, name) == nil {
			return err
		}
		undo(fd)
		return unix.EINVAL
	})
}

func removing(name string, flags int) func(fd int) error {
	return func(fd int) error { return unix.Unlinkat(fd, name, flags) }
}

// spelled returns nil if the directory lists name, or has no file under it, and
// ENOENT if it has one under another spelling.
func spelled(fd int, name string) error {
	if other, ok := otherCase(name); ok {
		if _, err := statx(fd, other); err == unix.ENOENT {
			return nil // who tells a from A has no other spelling of plain names
		}
	}
	listing, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(listing)
	return listed(listing, name)
}

// otherCase returns a plain name with its letters in the other case, and false
// if it has none, or something that could fold in other ways.
func otherCase(name string) (string, bool) {
	other, letters := []byte(name), false
	for i, c := range other {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			other[i], letters = c^0x20, true
		case c >= 0x80, strings.IndexByte(`:~\`, c) >= 0:
			return "", false
		}
	}
	return string(other), letters && strings.TrimRight(name, ". ") == name
}

// renameFolding renames in directories of which the target folds names: what is
// replaced must be listed as newName, but for the file's own other spelling.
func renameFolding(fd int, name string, tofd int, newName string) error {
	flags := uint(unix.RENAME_NOREPLACE)
	_, err := statx(tofd, newName)
	switch {
	case err == unix.ENOENT:
	case err != nil:
		return err
	case spelled(tofd, newName) == nil || isItself(fd, name, tofd, newName):
		flags = 0
	default:
		return unix.EEXIST
	}
	err = unix.Renameat2(fd, name, tofd, newName, flags)
	if err == unix.EINVAL && flags != 0 {
		err = unix.Renameat(fd, name, tofd, newName)
	}
	if err != nil || spelled(tofd, newName) == nil {
		return err
	}
	unix.Renameat(tofd, newName, fd, name)
	return unix.EINVAL
}

// isItself reports whether newName, which tofd does not list, finds the file name
// of the same directory, by another spelling. FUSE may show it as two objects,
// so that the listing has to tell.
func isItself(fd int, name string, tofd int, newName string) bool {
	from, err := statx(fd, "")
	to, err2 := statx(tofd, "")
	if err != nil || err2 != nil || from.ID() != to.ID() || vpath.Fold(name) != vpath.Fold(newName) {
		return false
	}
	listing, err := reopen(fd, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer unix.Close(listing)
	list, err := readAll(listing)
	return err == nil && !slices.ContainsFunc(list, func(e Dirent) bool {
		return e.Name != name && vpath.Fold(e.Name) == vpath.Fold(newName)
	})
}
