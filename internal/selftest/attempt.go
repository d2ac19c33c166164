package selftest

import (
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/policy"
)

// aim is what an attempt is after.
type aim uint8

const (
	toRead   aim = iota // the content of a file that must not be read
	toChange            // a file that must not be changed or removed
	toMake              // a name that must not be made
	toFold              // the same in another letter case, where that is refused as well
	toTell              // whether a hidden name exists
	toKeep              // what was open when the rules changed
)

// attempt is one way round a rule.
type attempt struct {
	id    string // of the requirement
	name  string
	aim   aim
	free  bool // needs a directory where everything is allowed
	moves bool // moves what lies around the target, and back
	try   func(*agent) error
}

// attempts are tried on every target that they fit, in this order.
var attempts = []attempt{
	{"X-01", "read through a hard link", toRead, true, false, readLink},
	{"X-01", "read through a hard link to a descriptor", toRead, true, false, readLinkedDescriptor},
	{"X-01", "write through a hard link", toChange, true, false, writeLink},
	{"X-01", "put a hard link in the place of an absent file", toMake, true, false, makeLink},
	{"X-02", "read after a rename", toRead, true, false, readRenamed},
	{"X-02", "read after a rename of the directory", toRead, true, true, readMoved},
	{"X-02", "read after an exchange", toRead, true, false, readExchanged},
	{"X-02", "rename another file over it", toChange, true, false, renameOnto},
	{"X-02", "rename it away", toChange, true, false, renameAway},
	{"X-02", "write after a rename of the directory", toChange, true, true, writeMoved},
	{"X-02", "exchange it with another file", toChange, true, false, exchange},
	{"X-02", "rename a file to an absent name", toMake, true, false, renameOnto},
	{"X-02", "build it elsewhere and rename the directory", toMake, true, false, makeMoved},
	{"X-03", "read through a symbolic link", toRead, true, false, readSymlink},
	{"X-03", "read through .. and /proc/self/fd", toRead, false, false, readWalked},
	{"X-03", "write through a symbolic link", toChange, true, false, writeSymlink},
	{"X-03", "create through a symbolic link", toMake, true, false, makeThroughSymlink},
	{"X-05", "use a descriptor, a map and a name after the rules have changed", toKeep, true, false, useRevoked},
	{"X-06", "tell by an errno or a listing that a hidden file exists", toTell, true, false, tellApart},
	{"X-06", "open", toRead, false, false, readPlain},
	{"X-06", "copy_file_range, O_PATH and direct I/O", toRead, true, false, readOddly},
	{"X-07", "write, append, truncate on open", toChange, false, false, writePlain},
	{"X-07", "truncate, fallocate", toChange, false, false, resize},
	{"X-07", "write a map of it", toChange, false, false, writeMap},
	{"X-07", "write through a descriptor that reads", toChange, false, false, writeReopened},
	{"X-07", "chmod", toChange, false, false, chmod},
	{"X-07", "unlink", toChange, false, false, unlink},
	{"X-07", "create, mknod", toMake, false, false, makePlain},
	{"X-07", "O_TMPFILE and link", toMake, true, false, makeTemporary},
	{"X-12", "create in another letter case", toFold, false, false, makeOtherCase},
}

// fits reports whether a is worth trying on t.
func (g *Ground) fits(a *attempt, t *Target) bool {
	if t.broken || t.Exists == (a.aim == toMake || a.aim == toFold) {
		return false
	}
	switch a.aim {
	case toTell:
		return t.hidden
	case toRead:
		return t.allowed&policy.Read.Set() == 0
	case toChange:
		return t.allowed&(policy.Write.Set()|policy.DeleteOps) == 0
	}
	also := t.allowed
	if a.aim == toFold {
		also = g.View.Permitted(otherCase(t.Path))
	}
	return (t.allowed|also)&policy.CreateOps == 0
}

// agent is the process that makes one attempt on one path of a mount. What it
// could read goes to got; what it has moved is put back by undo.
type agent struct {
	path string // host path of the target
	free string // host path of the directory where everything is allowed
	got  []byte
	made *int // names so far
	undo []func()

	// revoke returns when everything is forbidden.
	revoke func() error
}

// text is what an attempt writes where it can.
const text = "written by the self-test\n"

// own returns a new name in the free directory.
func (a *agent) own() string {
	*a.made++
	name := path.Join(a.free, "own"+strconv.Itoa(*a.made))
	a.undo = append(a.undo, func() { unix.Unlink(name) })
	return name
}

// ownFile returns a new file there.
func (a *agent) ownFile() (string, error) {
	name := a.own()
	return name, write(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY)
}

func (a *agent) read(name string) error {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return a.readFrom(fd)
}

func (a *agent) readFrom(fd int) error {
	buf := make([]byte, 4096)
	n, err := unix.Pread(fd, buf, 0)
	if n > 0 {
		a.got = append(a.got, buf[:n]...)
	}
	return err
}

// write opens name with flags and writes text to it.
func write(name string, flags int) error {
	fd, err := unix.Open(name, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(text))
	return err
}

// rename renames and puts back.
func (a *agent) rename(from, to string, flags uint) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags)
	if err == nil {
		a.undo = append(a.undo, func() { unix.Renameat2(unix.AT_FDCWD, to, unix.AT_FDCWD, from, flags) })
	}
	return err
}
