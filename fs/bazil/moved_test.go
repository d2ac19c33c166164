package bazil

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What the kernel keeps of a file obeys the place that the file has got: a
// descriptor that was read from before the file moved, or got a further name,
// where less is allowed..
func TestMovedToWhereLessIsAllowed(t *testing.T) {
	for what, act := range map[string]func(at string) error{
		"rename":          func(at string) error { return unix.Rename(at+"/free/file", at+"/closed/file") },
		"rename of above": func(at string) error { return unix.Rename(at+"/free", at+"/closed/dir") },
		"link":            func(at string) error { return unix.Link(at+"/free/file", at+"/closed/file") },
	} {
		t.Run(what, func(t *testing.T) {
			w := mount(t, parsePolicy(t, []string{"stat allow stat /**", "no-read deny read /closed/**/file", "all allow * /**"}))
			check(t, unix.Mkdir(w.backing+"/free", 0o755), nil, "mkdir")
			check(t, unix.Mkdir(w.backing+"/closed", 0o755), nil, "mkdir")
			makeFile(t, w.backing+"/free/file", "content")
			fd, err := unix.Open(w.at+"/free/file", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			check(t, err, nil, "open")
			defer unix.Close(fd)
			_, err = unix.Pread(fd, make([]byte, 9), 0)
			check(t, err, nil, "pread before")
			check(t, act(w.at), nil, what)
			err = untilRefused(t, "pread", func() error { _, err := unix.Pread(fd, make([]byte, 9), 0); return err })
			check(t, err, unix.EACCES, "pread after")
		})
	}
}
