package profile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/expand"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// source is a place of the host that can be mounted.
type source struct {
	path  string // absolute, without symbolic links
	links []string
	kind  overlay.Kind
}

// source reads s as a path of the host and looks at what is there. What names
// the key in messages.
func (v *validator) source(what string, s strictyaml.String) (source, bool) {
	name, ok := v.hostPath(what, s)
	if !ok {
		return source{}, false
	}
	at, links, err := mountinfo.Locate(name, nil)
	if err != nil {
		v.problems.Add(s.Pos, "%s %s: %v", what, name, reason(err))
		return source{}, false
	}
	info, err := os.Stat(at)
	if err != nil {
		v.problems.Add(s.Pos, "%s %s: %v", what, name, reason(err))
		return source{}, false
	}
	kind, need := overlay.KindFile, uint32(unix.R_OK)
	switch {
	case info.IsDir():
		kind, need = overlay.KindDir, unix.R_OK|unix.X_OK
	case !info.Mode().IsRegular():
		v.problems.Add(s.Pos, "%s %s is neither a directory nor a file", what, name)
		return source{}, false
	}
	if err := unix.Faccessat(unix.AT_FDCWD, at, need, unix.AT_EACCESS); err != nil {
		v.problems.Add(s.Pos, "%s %s cannot be read: %v", what, name, err)
		return source{}, false
	}
	return source{at, links, kind}, true
}

// hostPath reads s as an absolute path of the host, with its variables
// replaced. Symbolic links are still in it.
func (v *validator) hostPath(what string, s strictyaml.String) (string, bool) {
	name, err := expand.Path(s.V, v.lookup)
	if err != nil {
		v.problems.Add(s.Pos, "%s: %v", what, err)
		return "", false
	}
	if name == "" || strings.IndexByte(name, 0) >= 0 {
		v.problems.Add(s.Pos, "%s: %q is not the path of a file or directory", what, s.V)
		return "", false
	}
	return v.absolute(name), true
}

// absolute returns name as seen from the file's directory. It is not cleaned:
// the ".." after a symbolic link is the parent of what the link leads to.
func (v *validator) absolute(name string) string {
	switch name = strings.TrimPrefix(name, "./"); {
	case filepath.IsAbs(name):
		return name
	case name == "" || name == ".":
		return v.dir
	}
	return strings.TrimSuffix(v.dir, "/") + "/" + name
}

// policyDirs returns the directories that entries name, and their places.
func (v *validator) policyDirs(entries []strictyaml.String) (dirs []string, at []strictyaml.Pos) {
	for _, e := range entries {
		dir, ok := v.hostPath("policies", e)
		if !ok {
			continue
		}
		info, err := os.Stat(dir)
		switch {
		case err != nil:
			v.problems.Add(e.Pos, "policies %s: %v", dir, reason(err))
		case !info.IsDir():
			v.problems.Add(e.Pos, "policies %s is a file; name the directory that holds the policies", dir)
		default:
			dirs, at = append(dirs, dir), append(at, e.Pos)
		}
	}
	return dirs, at
}

// reason returns what the system said, without the operation and the path that
// the message names already.
func reason(err error) error {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
