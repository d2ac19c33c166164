package mountinfo

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the number of symbolic links that a path may lead through, as in
// the kernel.
const maxLinks = 40

// Locate returns the absolute path, free of symbolic links, that name leads to,
// and the place of every link on the way: whoever can write one of those
// decides what name means. The mounts of this program in t are never looked at,
// only passed by their name, so that the mountpoint of a dead daemon can be
// found.
func Locate(name string, t Table) (at string, links []string, err error) {
	if !filepath.IsAbs(name) {
		dir, err := unix.Getwd()
		if err != nil {
			return "", nil, fmt.Errorf("current directory: %w", err)
		}
		name = dir + "/" + name
	}
	ours := map[string]bool{}
	for _, m := range t {
		ours[m.Point] = m.Ours() // the last one on a point is the one that is seen
	}
	at, todo := "/", strings.Split(name, "/")
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		step := filepath.Join(at, next)
		target, err := readlink(step, ours[step])
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", step, err)
		}
		if target == "" {
			at = step
			continue
		}
		if links = append(links, step); len(links) > maxLinks {
			return "", nil, fmt.Errorf("%s: %w", name, unix.ELOOP)
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return at, links, nil
}

// readlink returns the target of the symbolic link step, or "" when it is
// something else, which a mountpoint always is.
func readlink(step string, mountpoint bool) (string, error) {
	if mountpoint {
		return "", nil
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(step, buf)
	if errors.Is(err, unix.EINVAL) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
