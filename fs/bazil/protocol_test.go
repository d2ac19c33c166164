package bazil

import (
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// protocol are the requests of FUSE 7.45, by opcode of linux/fuse.h, as the
// matrix calls them.
var protocol = map[uint32]string{
	1: "lookup", 2: "forget", 3: "getattr", 4: "setattr", 5: "readlink", 6: "symlink", 8: "mknod", 9: "mkdir",
	10: "unlink", 11: "rmdir", 12: "rename", 13: "link", 14: "open", 15: "read", 16: "write", 17: "statfs",
	18: "release", 20: "fsync", 21: "setxattr", 22: "getxattr", 23: "listxattr", 24: "removexattr", 25: "flush",
	26: "init", 27: "opendir", 28: "readdir", 29: "releasedir", 30: "fsyncdir", 31: "getlk", 32: "setlk", 33: "setlk",
	34: "access", 35: "create", 36: "interrupt", 37: "bmap", 38: "destroy", 39: "ioctl", 40: "poll",
	41: "unknown", // the reply to a notice that is never sent
	42: "forget", 43: "fallocate", 44: "readdirplus", 45: "rename2", 46: "lseek", 47: "copy_file_range",
	48: "setupmapping", 49: "removemapping", 50: "syncfs", 51: "tmpfile", 52: "statx", 53: "copy_file_range_64",
}

// columns of the matrix that is printed.
var columns = []string{"denied", "asked", "hidden", "readonly", "unmounted"}

// matrixLine is an operation, with what became of it in each column.
type matrixLine struct {
	label    string
	outcomes map[string]string
}

var matrixLines []*matrixLine

// note keeps what became of an operation. Tests of the matrix run one by one.
func note(column, label string, err error) {
	i := slices.IndexFunc(matrixLines, func(l *matrixLine) bool { return l.label == label })
	if i < 0 {
		i = len(matrixLines)
		matrixLines = append(matrixLines, &matrixLine{label, make(map[string]string)})
	}
	text := "ok"
	if errno, isErrno := err.(unix.Errno); isErrno {
		text = unix.ErrnoName(errno)
	} else if err != nil {
		text = err.Error()
	}
	matrixLines[i].outcomes[column] = text
}

// printMatrix writes what was noted, and what reaches no decision, where
// SANDBOXFS_MATRIX is set.
func printMatrix(w io.Writer) {
	if os.Getenv("SANDBOXFS_MATRIX") == "" {
		return
	}
	fmt.Fprintf(w, "%-44s", "request, operation, on")
	for _, c := range columns {
		fmt.Fprintf(w, " %-10s", c)
	}
	fmt.Fprintln(w)
	for _, l := range matrixLines {
		fmt.Fprintf(w, "%-44s", l.label)
		for _, c := range columns {
			text := l.outcomes[c]
			if text == "" {
				text = "-"
			}
			fmt.Fprintf(w, " %-10s", text)
		}
		fmt.Fprintln(w)
	}
	opcodes := make([]uint32, 0, len(protocol))
	for opcode := range protocol {
		opcodes = append(opcodes, opcode)
	}
	slices.Sort(opcodes)
	for _, opcode := range opcodes {
		name := protocol[opcode]
		switch f, refused := fallbacks[name]; {
		case refused:
			fmt.Fprintf(w, "%2d %-20s never served: %s\n", opcode, name, unix.ErrnoName(f.errno))
		case slices.Contains(undecided, name):
			fmt.Fprintf(w, "%2d %-20s asks nobody: it gives something back\n", opcode, name)
		}
	}
}

// TestProtocolIsCovered fails for a request of the protocol that has no row in
// the matrix, is not refused, and is not one that asks for nothing. C-06.
func TestProtocolIsCovered(t *testing.T) {
	covered := slices.Concat(undecided, unreached, []string{"init"}) // init is before the first request
	for _, r := range rows {
		covered = append(covered, r.request)
	}
	for _, r := range heldRows {
		covered = append(covered, r.request)
	}
	for name := range fallbacks {
		covered = append(covered, name)
	}
	for opcode, name := range protocol {
		if !slices.Contains(covered, name) {
			t.Errorf("opcode %d, %s, is tried nowhere", opcode, name)
		}
		if r, ok := refusals[opcode]; ok && r.name != name {
			t.Errorf("opcode %d is refused as %s; linux/fuse.h calls it %s", opcode, r.name, name)
		}
	}
	for opcode := range refusals {
		if protocol[opcode] == "" {
			t.Errorf("opcode %d is refused, and is none of the protocol", opcode)
		}
	}
}
