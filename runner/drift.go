package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

// drift says how the mounts of a container differ from those that it should
// have, whatever its labels claim; "" if they do not.
func drift(have []container.MountPoint, want []mount.Mount) string {
	var rest []container.MountPoint
	for _, m := range have {
		if m.Type == mount.TypeBind {
			rest = append(rest, m)
		}
	}
	for _, w := range want {
		i := slices.IndexFunc(rest, func(m container.MountPoint) bool { return m.Destination == w.Target })
		if i < 0 {
			return fmt.Sprintf("mount %s is missing", w.Target)
		}
		m := rest[i]
		rest = slices.Delete(rest, i, i+1)
		switch source := desktop(m.Source); {
		case source != w.Source:
			return fmt.Sprintf("mount %s shows %s, want %s", w.Target, source, w.Source)
		case m.RW == w.ReadOnly:
			return fmt.Sprintf("mount %s has writing %t, want %t", w.Target, m.RW, !w.ReadOnly)
		case w.BindOptions != nil && m.Propagation != "" && m.Propagation != w.BindOptions.Propagation:
			return fmt.Sprintf("mount %s has propagation %s, want %s", w.Target, m.Propagation, w.BindOptions.Propagation)
		}
	}
	if len(rest) > 0 {
		return fmt.Sprintf("mount %s of %s is not asked for", rest[0].Destination, rest[0].Source)
	}
	return ""
}

// desktop takes off what Docker Desktop writes before the paths of its host.
func desktop(source string) string {
	if path, ok := strings.CutPrefix(source, "/host_mnt/"); ok {
		return "/" + path
	}
	return source
}
