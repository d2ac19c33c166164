// Package mountinfo reads the kernel's table of mounts, and tells mountpoints
// apart without touching them: a look at a mount whose daemon has died fails,
// and at one whose daemon hangs never returns.
package mountinfo

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// FSType is the type under which the kernel lists the mounts of this program.
const FSType = "fuse.sandboxfs"

// Mount is one line of the table.
type Mount struct {
	ID     int    // not used twice as long as the mount exists
	Root   string // the directory of its file system that is mounted
	Point  string // where it is mounted, absolute
	Shared bool   // what is mounted below it is passed on to its copies, or comes to it
	Peer   bool   // and to the mount that it is a copy of
	Type   string // "ext4", "fuse.sandboxfs"
	Source string // what is mounted, as the file system calls it
	UID    int    // of a FUSE mount, the user whose daemon serves it; 0 for others
	GID    int    // and that user's group
}

// Ours reports whether the mount is one of this program.
func (m Mount) Ours() bool { return m.Type == FSType }

// Table is every mount of this process's mount namespace, in the order of the
// kernel: of several mounts on one point the last is the one to be seen.
type Table []Mount

// Read returns the table as it is now.
func Read() (Table, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the table of mounts: %w", err)
	}
	defer f.Close()
	return Parse(f)
}

// Parse reads a table in the form of /proc/PID/mountinfo.
func Parse(r io.Reader) (Table, error) {
	var table Table
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m, err := parseLine(lines.Text())
		if err != nil {
			return nil, err
		}
		table = append(table, m)
	}
	return table, lines.Err()
}

// At returns the uppermost mount on point, which must be clean.
func (t Table) At(point string) (Mount, bool) {
	for i := len(t) - 1; i >= 0; i-- {
		if t[i].Point == point {
			return t[i], true
		}
	}
	return Mount{}, false
}

// On returns the mount that the clean host path name lies on.
func (t Table) On(name string) Mount {
	var found Mount
	for _, m := range t {
		if Within(name, m.Point) && len(m.Point) >= len(found.Point) {
			found = m
		}
	}
	return found
}

// Has reports whether the mount of that ID is still there.
func (t Table) Has(id int) bool {
	for _, m := range t {
		if m.ID == id {
			return true
		}
	}
	return false
}

// Within reports whether the host path name is dir or lies below it, by whole
// components. Both must be clean.
func Within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// parseLine reads "ID parent device root point options [tags…] - type source super".
func parseLine(line string) (Mount, error) {
	before, after, ok := strings.Cut(line, " - ")
	head, tail := strings.Fields(before), strings.Fields(after)
	if !ok || len(head) < 6 || len(tail) < 2 {
		return Mount{}, fmt.Errorf("table of mounts: cannot read the line %q", line)
	}
	id, err := strconv.Atoi(head[0])
	if err != nil {
		return Mount{}, fmt.Errorf("table of mounts: cannot read the line %q", line)
	}
	m := Mount{
		ID:     id,
		Root:   unescape(head[3]),
		Point:  unescape(head[4]),
		Type:   tail[0],
		Source: unescape(tail[1]),
	}
	for _, tag := range head[6:] {
		m.Peer = m.Peer || strings.HasPrefix(tag, "shared:")
		m.Shared = m.Shared || strings.HasPrefix(tag, "shared:") || strings.HasPrefix(tag, "master:")
	}
	if strings.HasPrefix(m.Type, "fuse") && len(tail) > 2 {
		for option := range strings.SplitSeq(tail[2], ",") {
			if id, ok := strings.CutPrefix(option, "user_id="); ok {
				m.UID, _ = strconv.Atoi(id)
			} else if id, ok := strings.CutPrefix(option, "group_id="); ok {
				m.GID, _ = strconv.Atoi(id)
			}
		}
	}
	return m, nil
}

// unescape undoes the octal escapes that the kernel writes for blanks and
// backslashes.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
