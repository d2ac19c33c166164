package fs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/sandboxfs/sandboxfs/overlay"
)

// savesInZone reports whether a rename is the second half of a save: of a file
// that the same process made, within one zone, without anything gained. It asks
// for write of the new name alone, for it is no deletion.
func (s *Server) savesInZone(c *Caller, view *overlay.View, m *move) bool {
	zone := s.mountAt(view, m.old)
	if zone == nil || !zone.zone || zone != s.mountAt(view, m.new) || m.node == nil || m.node.kind != kindFile {
		return false
	}
	if m.oldDir.hides(view, m.old) || mayGain(view, m.old, m.new) {
		return false
	}
	made := m.node.process.Load()
	return made != 0 && made == processOf(c.Pid)
}

// processOf returns the process that a thread belongs to; 0 if there is none
// such any more.
func processOf(thread uint32) uint32 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("Tgid:")); ok {
			id, err := strconv.ParseUint(string(bytes.TrimSpace(rest)), 10, 32)
			if err != nil {
				return 0
			}
			return uint32(id)
		}
	}
	return 0
}
