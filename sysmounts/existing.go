package sysmounts

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// devices are those that the daemon can serve.
var devices = []string{"/dev/null", "/dev/zero", "/dev/urandom"}

// Existing returns a mount for each of paths that this host has, readonly and
// without layers: whoever builds the view adds them, and until then everything
// is denied.
//
// A symbolic link is shown as that link where it leads into another of paths
// (/bin to /usr/bin). One that leads elsewhere would dangle in the view
// (/etc/resolv.conf to a directory of systemd), so that what it leads to is
// mounted in its place. Missing paths, dangling links, sockets, pipes and
// devices other than null, zero and urandom are left out.
func Existing(paths []string) []overlay.Mount { return existing(os.DirFS("/"), paths) }

func existing(host fs.FS, paths []string) []overlay.Mount {
	var mounts []overlay.Mount
	for _, p := range paths {
		target, err := vpath.Parse(p)
		if err != nil {
			continue
		}
		kind, source, ok := look(host, target, paths)
		if !ok {
			continue
		}
		mounts = append(mounts, overlay.Mount{
			Target:   target,
			Source:   source,
			ReadOnly: true,
			Kind:     kind,
			Policy:   PolicyName,
			System:   true,
		})
	}
	return mounts
}

// look says what is at target and where it really is.
func look(host fs.FS, target vpath.Path, paths []string) (kind overlay.Kind, source string, ok bool) {
	source, err := resolve(host, string(target))
	if err != nil {
		return 0, "", false
	}
	at, err := fs.Lstat(host, target.Rel(vpath.Root))
	if err != nil {
		return 0, "", false
	}
	if at.Mode().Type() == fs.ModeSymlink && insideAnother(target, source, paths) {
		return overlay.KindSymlink, string(target), true
	}
	there, err := fs.Lstat(host, strings.TrimPrefix(source, "/"))
	if err != nil {
		return 0, "", false
	}
	switch {
	case there.IsDir():
		return overlay.KindDir, source, true
	case there.Mode().IsRegular():
		return overlay.KindFile, source, true
	case there.Mode()&fs.ModeCharDevice != 0 && slices.Contains(devices, string(target)):
		return overlay.KindDevice, source, true
	}
	return 0, "", false
}

// insideAnother reports whether source lies in one of paths that is not target.
// System mounts stand at their own places, so that their host paths are virtual
// ones as well.
func insideAnother(target vpath.Path, source string, paths []string) bool {
	for _, p := range paths {
		if p != string(target) && vpath.Path(source).Within(vpath.Path(p)) {
			return true
		}
	}
	return false
}

var errLoop = errors.New("too many symbolic links")

// resolve returns name without symbolic links, as the host would walk it.
func resolve(host fs.FS, name string) (string, error) {
	const maxLinks = 40 // as Linux
	todo := strings.Split(name, "/")
	at := "/"
	for links := 0; len(todo) > 0; {
		step := path.Join(at, todo[0]) // of "..", the parent: at holds no link
		todo = todo[1:]
		if step == "/" || step == at {
			at = step
			continue
		}
		found, err := fs.Lstat(host, step[1:])
		if err != nil {
			return "", err
		}
		if found.Mode().Type() != fs.ModeSymlink {
			at = step
			continue
		}
		if links++; links > maxLinks {
			return "", errLoop
		}
		to, err := fs.ReadLink(host, step[1:])
		if err != nil {
			return "", err
		}
		if path.IsAbs(to) {
			at = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return at, nil
}
