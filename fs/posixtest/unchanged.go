package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

// failuresKeepTimes: what fails moves no time of the file, nor of the directory.
func failuresKeepTimes(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "text")
	makeDir(t, dir+"/sub")
	makeFile(t, dir+"/sub/file", "")
	for name, c := range map[string]struct {
		want error
		act  func() error
	}{
		"creat":     {unix.EEXIST, func() error { return openErr(dir+"/file", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY) }},
		"mkdir":     {unix.EEXIST, func() error { return unix.Mkdir(dir+"/file", 0o755) }},
		"symlink":   {unix.EEXIST, func() error { return unix.Symlink("x", dir+"/file") }},
		"mkfifo":    {unix.EEXIST, func() error { return unix.Mkfifo(dir+"/file", 0o600) }},
		"link":      {unix.EEXIST, func() error { return unix.Link(dir+"/file", dir+"/sub/file") }},
		"link of a": {unix.EPERM, func() error { return unix.Link(dir+"/sub", dir+"/new") }},
		"rename":    {unix.EISDIR, func() error { return unix.Rename(dir+"/file", dir+"/sub") }},
		"rename of": {unix.ENOTDIR, func() error { return unix.Rename(dir+"/sub", dir+"/file") }},
		"rename in": {unix.EINVAL, func() error { return unix.Rename(dir+"/sub", dir+"/sub/new") }},
		"rmdir":     {unix.ENOTEMPTY, func() error { return unix.Rmdir(dir + "/sub") }},
		"rmdir of":  {unix.ENOTDIR, func() error { return unix.Rmdir(dir + "/file") }},
		"unlink":    {unix.ENOENT, func() error { return unix.Unlink(dir + "/none") }},
		"truncate":  {unix.EINVAL, func() error { return unix.Truncate(dir+"/file", -1) }},
		"getxattr":  {unix.ENODATA, func() error { _, err := unix.Getxattr(dir+"/file", "user.none", nil); return err }},
		"removex":   {unix.ENODATA, func() error { return unix.Removexattr(dir+"/file", "user.none") }},
		"setxattr":  {unix.ENODATA, func() error { return unix.Setxattr(dir+"/file", "user.none", nil, unix.XATTR_REPLACE) }},
	} {
		for _, of := range []string{"", "/file", "/sub"} {
			mtime, ctime := moves(t, dir+of, func() { check(t, c.act(), c.want, "%s", name) })
			if mtime || ctime {
				t.Errorf("a failed %s moved the times of %q: mtime %t, ctime %t", name, of, mtime, ctime)
			}
		}
	}
}

// renameMovesTimes: of what is renamed, and of both directories, but no mtime of
// what is renamed.
func renameMovesTimes(t *testing.T, dir string) {
	makeDir(t, dir+"/from")
	makeDir(t, dir+"/to")
	makeFile(t, dir+"/from/file", "text")
	makeDir(t, dir+"/from/sub")
	makeLink(t, "x", dir+"/from/link")
	for _, name := range []string{"/file", "/sub", "/link"} {
		links := lstat(t, dir+"/to").Nlink
		was := lstat(t, dir+"/from"+name)
		var fromMoved, toMoved bool
		fromMoved, _ = moves(t, dir+"/from", func() {
			toMoved, _ = moves(t, dir+"/to", func() {
				check(t, unix.Rename(dir+"/from"+name, dir+"/to"+name), nil, "rename(%s)", name)
			})
		})
		is := lstat(t, dir+"/to"+name)
		if was.Ctim == is.Ctim || was.Mtim != is.Mtim || was.Ino != is.Ino {
			t.Errorf("rename of %s: ctime moved %t, mtime %t, inode %d and %d", name, was.Ctim != is.Ctim, was.Mtim != is.Mtim, was.Ino, is.Ino)
		}
		if !fromMoved || !toMoved {
			t.Errorf("rename of %s moved mtime of the old directory: %t, of the new: %t", name, fromMoved, toMoved)
		}
		if got := lstat(t, dir+"/to").Nlink; name == "/sub" && links > 1 && got != links+1 {
			t.Errorf("nlink of the new directory went from %d to %d", links, got)
		}
	}
	up := lstat(t, dir+"/to/sub/..")
	if to := lstat(t, dir+"/to"); up.Ino != to.Ino {
		t.Errorf(".. of the moved directory is inode %d, want %d", up.Ino, to.Ino)
	}
}
