package reload

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links the kernel follows in one path.
const maxLinks = 40

// walk follows path as the kernel does. It returns the directories where a
// change can make path mean something else: those that hold a symbolic link on
// the way (mounted config maps swap one of them), the one that holds the end,
// and the end itself if it is a directory. Where the way breaks off, it is the
// last directory that is there. The links are returned too.
func walk(path string) (dirs []string, links []os.FileInfo) {
	at, rest := "/", names(path)
	for len(rest) > 0 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		st, err := os.Lstat(next)
		switch {
		case err != nil || len(links) == maxLinks:
			return append(dirs, at), links
		case st.Mode()&os.ModeSymlink != 0:
			dirs, links = append(dirs, at), append(links, st)
			target, err := os.Readlink(next)
			if err != nil {
				return dirs, links
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(names(target), rest...)
		case st.IsDir():
			if len(rest) == 0 {
				dirs = append(dirs, at)
			}
			at = next
		default:
			return append(dirs, at), links
		}
	}
	return append(dirs, at), links
}

func names(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
