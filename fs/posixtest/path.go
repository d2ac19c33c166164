package posixtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// calls are the system calls that take a path, of which the last component need
// not exist for those that make a name.
var calls = map[string]func(path string) error{
	"open":      func(p string) error { return openErr(p, unix.O_RDONLY) },
	"creat":     func(p string) error { return openErr(p, unix.O_CREAT|unix.O_WRONLY) },
	"stat":      func(p string) error { return unix.Stat(p, new(unix.Stat_t)) },
	"lstat":     func(p string) error { return unix.Lstat(p, new(unix.Stat_t)) },
	"access":    func(p string) error { return unix.Access(p, unix.F_OK) },
	"chmod":     func(p string) error { return unix.Chmod(p, 0o644) },
	"chown":     func(p string) error { return unix.Chown(p, -1, -1) },
	"lchown":    func(p string) error { return unix.Lchown(p, -1, -1) },
	"utimensat": func(p string) error { return unix.UtimesNano(p, []unix.Timespec{{}, {}}) },
	"truncate":  func(p string) error { return unix.Truncate(p, 0) },
	"readlink":  func(p string) error { _, err := unix.Readlink(p, make([]byte, 9)); return err },
	"getxattr":  func(p string) error { _, err := unix.Getxattr(p, "user.x", nil); return err },
	"setxattr":  func(p string) error { return unix.Setxattr(p, "user.x", nil, 0) },
	"listxattr": func(p string) error { _, err := unix.Listxattr(p, nil); return err },
	"statfs":    func(p string) error { return unix.Statfs(p, new(unix.Statfs_t)) },
	"mkdir":     func(p string) error { return unix.Mkdir(p, 0o755) },
	"mkfifo":    func(p string) error { return unix.Mkfifo(p, 0o644) },
	"symlink":   func(p string) error { return unix.Symlink("x", p) },
	"link from": func(p string) error { return unix.Link(p, p+"-new") },
	"rename":    func(p string) error { return unix.Rename(p, p+"-new") },
	"unlink":    func(p string) error { return unix.Unlink(p) },
	"rmdir":     func(p string) error { return unix.Rmdir(p) },
}

// makers are those calls that need no last component.
var makers = []string{"creat", "mkdir", "mkfifo", "symlink"}

func pathErrors(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeLink(t, "loop", dir+"/loop")
	for name, call := range calls {
		for path, want := range map[string]error{
			dir + "/none/x": unix.ENOENT, dir + "/file/x": unix.ENOTDIR, dir + "/loop/x": unix.ELOOP, "": unix.ENOENT,
			dir + "/" + strings.Repeat("n", 256):             unix.ENAMETOOLONG,
			dir + "/" + strings.Repeat("n", 256) + "/x":      unix.ENAMETOOLONG,
			dir + strings.Repeat("/.", 2048) + "/x":          unix.ENAMETOOLONG,
			dir + "/" + strings.Repeat("n", 255) + "/../x/y": unix.ENOENT,
		} {
			check(t, call(path), want, "%s(%.80q)", name, path)
		}
		if !slices.Contains(makers, name) {
			check(t, call(dir+"/none"), unix.ENOENT, "%s(none)", name)
		}
	}
	wantNames(t, dir, "file", "loop")
}

func longNames(t *testing.T, dir string) {
	long := strings.Repeat("n", 255)
	makeFile(t, dir+"/"+long, "content")
	wantContent(t, dir+"/"+long, "content")
	wantNames(t, dir, long)
	check(t, unix.Rename(dir+"/"+long, dir+"/"+long+"n"), unix.ENAMETOOLONG, "rename to 256 bytes")
	check(t, unix.Link(dir+"/"+long, dir+"/"+long+"n"), unix.ENAMETOOLONG, "link to 256 bytes")
	check(t, unix.Unlink(dir+"/"+long), nil, "unlink")
	longest := dir + strings.Repeat("/.", (4095-len(dir)-5)/2) + "/file"
	check(t, openErr(longest, unix.O_CREAT|unix.O_WRONLY), nil, "open of a path of %d bytes", len(longest))
	wantNames(t, dir, "file")
}

// everyByte makes a name of each byte that a name can hold, alone and within others.
func everyByte(t *testing.T, dir string) {
	var want []string
	for b := 1; b < 256; b++ {
		if b == '/' {
			continue
		}
		name := string([]byte{'a', byte(b), 'z'})
		if b%2 == 0 {
			name = string([]byte{byte(b)}) + "z"
		}
		want = append(want, name)
		makeFile(t, dir+"/"+name, name)
	}
	slices.Sort(want)
	wantNames(t, dir, want...)
	for _, name := range want {
		wantContent(t, dir+"/"+name, name)
		check(t, unix.Rename(dir+"/"+name, dir+"/"+name+"2"), nil, "rename(%q)", name)
		check(t, unix.Unlink(dir+"/"+name+"2"), nil, "unlink(%q)", name)
	}
	wantNames(t, dir)
}

// namesAreBytes makes names that are one for a reader, or for another system,
// and are not one here.
func namesAreBytes(t *testing.T, dir string) {
	names := []string{"file", "File", "FILE", "caf\u00e9", "cafe\u0301", "...", " ", "a ", ".hidden", "con", "a:b", "a\\b", "*", "~", "-rf", "\u202etxt"}
	for _, name := range names {
		makeFile(t, dir+"/"+name, name)
	}
	slices.Sort(names)
	wantNames(t, dir, names...)
	for _, name := range names {
		wantContent(t, dir+"/"+name, name)
	}
}

func dots(t *testing.T, dir string) {
	makeDir(t, dir+"/a")
	makeDir(t, dir+"/a/b")
	makeFile(t, dir+"/file", "content")
	for _, name := range []string{"/./file", "/a/../file", "/a/b/../../file", "//file", "/a/./b/.././../file"} {
		wantContent(t, dir+name, "content")
	}
	here, above := lstat(t, dir+"/a"), lstat(t, dir)
	if got := lstat(t, dir+"/a/.").Ino; got != here.Ino {
		t.Errorf("inode of a/. = %d, of a %d", got, here.Ino)
	}
	if got := lstat(t, dir+"/a/..").Ino; got != above.Ino {
		t.Errorf("inode of a/.. = %d, of the directory above %d", got, above.Ino)
	}
}

// nameComesAndGoes asks for a name in every state that it can be in.
func nameComesAndGoes(t *testing.T, dir string) {
	name := dir + "/name"
	for i := range 20 {
		wantAbsent(t, name)
		check(t, openErr(name, unix.O_RDONLY), unix.ENOENT, "open before it is there")
		if i%2 == 0 {
			makeFile(t, name, fmt.Sprint(i))
		} else {
			makeFile(t, dir+"/other", fmt.Sprint(i))
			check(t, unix.Rename(dir+"/other", name), nil, "rename(other, name)")
		}
		wantContent(t, name, fmt.Sprint(i))
		if i%3 == 0 {
			check(t, unix.Rename(name, dir+"/gone"), nil, "rename(name, gone)")
			continue
		}
		check(t, unix.Unlink(name), nil, "unlink(name)")
	}
}
