package posixtest

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func readlink(t *testing.T, path string) string {
	t.Helper()
	buf := make([]byte, 5000)
	n, err := unix.Readlink(path, buf)
	check(t, err, nil, "readlink(%q)", path)
	return string(buf[:n])
}

func symlinkTargets(t *testing.T, dir string) {
	for _, target := range []string{
		"x", "/", "/etc/passwd", "../../..", "a//b/./c/", "new\nline\xff\x1b[31m", strings.Repeat("t", 255),
		strings.Repeat("t/", 128), strings.Repeat("t", 4095),
	} {
		makeLink(t, target, dir+"/link")
		if got := readlink(t, dir+"/link"); got != target {
			t.Errorf("readlink = %.60q, want %.60q", got, target)
		}
		st := lstat(t, dir+"/link")
		if st.Size != int64(len(target)) || st.Mode != unix.S_IFLNK|0o777 {
			t.Errorf("a link to %d bytes has size %d and mode %#o", len(target), st.Size, st.Mode)
		}
		check(t, unix.Unlink(dir+"/link"), nil, "unlink(link)")
	}
	check(t, unix.Symlink("", dir+"/link"), unix.ENOENT, "symlink to nothing")
	check(t, unix.Symlink(strings.Repeat("t", 4096), dir+"/link"), unix.ENAMETOOLONG, "symlink to 4096 bytes")
	makeLink(t, "longer than the buffer", dir+"/link")
	buf := make([]byte, 6)
	if n, err := unix.Readlink(dir+"/link", buf); n != 6 || err != nil || string(buf) != "longer" {
		t.Errorf("readlink into 6 bytes = %d, %v, %q", n, err, buf)
	}
}

func symlinkErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	makeLink(t, "x", dir+"/link")
	for name, want := range map[string]error{
		"/file": unix.EEXIST, "/dir": unix.EEXIST, "/link": unix.EEXIST, "/none/link": unix.ENOENT, "/file/link": unix.ENOTDIR,
	} {
		check(t, unix.Symlink("target", dir+name), want, "symlink(%s)", name)
	}
	buf := make([]byte, 10)
	for name, want := range map[string]error{"/file": unix.EINVAL, "/dir": unix.EINVAL, "/none": unix.ENOENT, "/file/x": unix.ENOTDIR} {
		_, err := unix.Readlink(dir+name, buf)
		check(t, err, want, "readlink(%s)", name)
	}
}

func symlinkWalk(t *testing.T, dir string) {
	makeDir(t, dir+"/a")
	makeDir(t, dir+"/a/b")
	makeFile(t, dir+"/a/b/file", "content")
	makeLink(t, "a/b", dir+"/rel")
	makeLink(t, dir+"/a", dir+"/abs")
	makeLink(t, "../a/b/../b/file", dir+"/a/up")
	for _, name := range []string{"/rel/file", "/abs/b/file", "/a/up", "/abs/up", "/rel/../up", "/rel/../../rel/file"} {
		wantContent(t, dir+name, "content")
	}
	makeFile(t, dir+"/rel/new", "made through a link")
	wantContent(t, dir+"/a/b/new", "made through a link")
	check(t, unix.Unlink(dir+"/rel"), nil, "unlink(rel)")
	wantContent(t, dir+"/a/b/file", "content")
	makeLink(t, "a", dir+"/turn")
	check(t, unix.Unlink(dir+"/turn"), nil, "unlink(turn)")
	makeLink(t, "a/b", dir+"/turn")
	wantContent(t, dir+"/turn/file", "content")
}

func symlinkLoop(t *testing.T, dir string) {
	makeLink(t, "b", dir+"/a")
	makeLink(t, "a", dir+"/b")
	makeLink(t, "self", dir+"/self")
	for _, name := range []string{"/a", "/self", "/a/x"} {
		check(t, openErr(dir+name, unix.O_RDONLY), unix.ELOOP, "open(%s)", name)
		check(t, unix.Stat(dir+name, new(unix.Stat_t)), unix.ELOOP, "stat(%s)", name)
		check(t, unix.Truncate(dir+name, 0), unix.ELOOP, "truncate(%s)", name)
	}
	makeFile(t, dir+"/0", "content")
	for i := 1; i <= 41; i++ {
		makeLink(t, fmt.Sprint(i-1), fmt.Sprintf("%s/%d", dir, i))
	}
	wantContent(t, dir+"/40", "content")
	check(t, openErr(dir+"/41", unix.O_RDONLY), unix.ELOOP, "open of a chain of 41 links")
}
