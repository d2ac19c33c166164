package runner

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// hostMount is a mount with what only binds need to know of it.
type hostMount struct {
	mountinfo.Mount
	root   string // the directory within the file system that is mounted
	shared bool   // what is mounted below it is passed on to its copies
	peer   bool   // and to the mount that it is a copy of
}

// hostMounts are the mounts of this process's mount namespace.
type hostMounts []hostMount

func readHostMounts() (hostMounts, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read the table of mounts: %w", err)
	}
	return parseHostMounts(string(text))
}

// parseHostMounts reads a table of mounts. Root and tags are fields 4 and 7 to
// the lone dash; the kernel writes a blank within a path as an octal escape.
func parseHostMounts(text string) (hostMounts, error) {
	table, err := mountinfo.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	mounts := make(hostMounts, 0, len(table))
	lines := strings.Split(text, "\n")
	for i, m := range table {
		head, _, _ := strings.Cut(lines[i], " - ")
		fields := strings.Fields(head)
		h := hostMount{Mount: m, root: unescape(fields[3])}
		for _, tag := range fields[6:] {
			h.peer = h.peer || strings.HasPrefix(tag, "shared:")
			h.shared = h.shared || strings.HasPrefix(tag, "shared:") || strings.HasPrefix(tag, "master:")
		}
		mounts = append(mounts, h)
	}
	return mounts, nil
}

func unescape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if len(s) >= 4 && s[0] == '\\' {
			if n, err := strconv.ParseUint(s[1:4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				s = s[4:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// at returns the mount that the host path name lies on.
func (h hostMounts) at(name string) hostMount {
	var found hostMount
	for _, m := range h {
		if mountinfo.Within(name, m.Point) && len(m.Point) >= len(found.Point) {
			found = m
		}
	}
	return found
}

// table returns the mounts as those who look for mountpoints want them.
func (h hostMounts) table() mountinfo.Table {
	table := make(mountinfo.Table, len(h))
	for i, m := range h {
		table[i] = m.Mount
	}
	return table
}
