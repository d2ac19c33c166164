package backing

import (
	"strings"

	"golang.org/x/sys/unix"
)

// checkName refuses what is not one component, so that no *at call walks a
// path or climbs.
func checkName(name string) error {
	switch {
	case name == "":
		return unix.ENOENT
	case name == "." || name == "..":
		return unix.EINVAL
	case strings.IndexByte(name, '/') >= 0, strings.IndexByte(name, 0) >= 0:
		return unix.EINVAL
	}
	return nil
}

// splitRel returns the components of a path below a root; none for "".
func splitRel(rel string) ([]string, error) {
	if rel == "" {
		return nil, nil
	}
	names := strings.Split(rel, "/")
	for _, name := range names {
		if checkName(name) != nil {
			return nil, unix.EINVAL
		}
	}
	return names, nil
}
