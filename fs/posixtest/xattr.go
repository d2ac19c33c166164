package posixtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func getxattr(t *testing.T, path, name string) string {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, err := unix.Getxattr(path, name, buf)
	check(t, err, nil, "getxattr(%q, %q)", path, name)
	return string(buf[:n])
}

// listxattr returns the names of the user's attributes, sorted.
func listxattr(t *testing.T, path string) []string {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, err := unix.Llistxattr(path, buf)
	check(t, err, nil, "llistxattr(%q)", path)
	var names []string
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		if strings.HasPrefix(name, "user.") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func xattr(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "content")
	makeDir(t, dir+"/sub")
	for _, path := range []string{dir + "/file", dir + "/sub"} {
		for name, value := range map[string]string{"user.a": "one", "user.empty": "", "user.bytes": "\x00\xff\n", "user.long": strings.Repeat("v", 1500)} {
			check(t, unix.Setxattr(path, name, []byte(value), 0), nil, "setxattr(%s)", name)
			if got := getxattr(t, path, name); got != value {
				t.Errorf("getxattr(%s) = %.30q, want %.30q", name, got, value)
			}
			n, err := unix.Getxattr(path, name, nil)
			if n != len(value) || err != nil {
				t.Errorf("getxattr(%s) of the size = %d, %v; want %d", name, n, err, len(value))
			}
		}
		check(t, unix.Setxattr(path, "user.a", []byte("another"), 0), nil, "setxattr(user.a) again")
		check(t, unix.Removexattr(path, "user.long"), nil, "removexattr")
		if got := listxattr(t, path); !slices.Equal(got, []string{"user.a", "user.bytes", "user.empty"}) {
			t.Errorf("listxattr = %q", got)
		}
		if got := getxattr(t, path, "user.a"); got != "another" {
			t.Errorf("getxattr(user.a) = %q", got)
		}
	}
	wantContent(t, dir+"/file", "content")
}

func xattrErrors(t *testing.T, dir string) {
	file := dir + "/file"
	makeFile(t, file, "")
	check(t, unix.Setxattr(file, "user.there", []byte("value"), 0), nil, "setxattr")
	check(t, unix.Setxattr(file, "user.there", nil, unix.XATTR_CREATE), unix.EEXIST, "setxattr(XATTR_CREATE) of what is there")
	check(t, unix.Setxattr(file, "user.none", nil, unix.XATTR_REPLACE), unix.ENODATA, "setxattr(XATTR_REPLACE) of what is not")
	check(t, unix.Setxattr(file, "user.new", []byte("x"), unix.XATTR_CREATE), nil, "setxattr(XATTR_CREATE)")
	check(t, unix.Setxattr(file, "user.there", []byte("other"), unix.XATTR_REPLACE), nil, "setxattr(XATTR_REPLACE)")
	check(t, unix.Removexattr(file, "user.none"), unix.ENODATA, "removexattr of what is not there")
	_, err := unix.Getxattr(file, "user.none", make([]byte, 10))
	check(t, err, unix.ENODATA, "getxattr of what is not there")
	_, err = unix.Getxattr(file, "user.there", make([]byte, 4))
	check(t, err, unix.ERANGE, "getxattr into 4 bytes")
	_, err = unix.Listxattr(file, make([]byte, 4))
	check(t, err, unix.ERANGE, "listxattr into 4 bytes")
	check(t, unix.Setxattr(file, "user.", []byte("x"), 0), unix.EINVAL, "setxattr(user.)")
	check(t, unix.Setxattr(file, "nonsense", []byte("x"), 0), unix.EOPNOTSUPP, "setxattr(nonsense)")
	check(t, unix.Setxattr(file, "user."+strings.Repeat("n", 251), nil, 0), unix.ERANGE, "setxattr with a name of 256 bytes")
	check(t, unix.Setxattr(file, "user."+strings.Repeat("n", 250), nil, 0), nil, "setxattr with a name of 255 bytes")
	if got := getxattr(t, file, "user.there"); got != "other" {
		t.Errorf("getxattr = %q", got)
	}
}

// xattrLarge goes to the limits: the kernel's is 64 KiB, that of a file system
// may be lower.
func xattrLarge(t *testing.T, dir string) {
	file := dir + "/file"
	makeFile(t, file, "")
	for size := 64; size <= 1<<16; size *= 2 {
		value := strings.Repeat("v", size)
		err := unix.Setxattr(file, "user.large", []byte(value), 0)
		oneOf(t, err, []error{nil, unix.ENOSPC, unix.E2BIG}, fmt.Sprintf("setxattr of %d bytes", size))
		if err != nil && size < 2000 {
			t.Errorf("setxattr of %d bytes = %v", size, err)
		}
		if err == nil && getxattr(t, file, "user.large") != value {
			t.Errorf("a value of %d bytes came back changed", size)
		}
	}
	check(t, unix.Setxattr(file, "user.large", make([]byte, 1<<16+1), 0), unix.E2BIG, "setxattr of 65,537 bytes")
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("user.%02d", i))
		check(t, unix.Setxattr(dir, want[i], []byte("x"), 0), nil, "setxattr %d", i)
	}
	if got := listxattr(t, dir); !slices.Equal(got, want) {
		t.Errorf("listxattr = %q", got)
	}
}

func xattrDescriptor(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	fd := open(t, dir+"/file", unix.O_RDONLY)
	check(t, unix.Fsetxattr(fd, "user.a", []byte("one"), 0), nil, "fsetxattr(reader)")
	buf := make([]byte, 100)
	n, err := unix.Fgetxattr(fd, "user.a", buf)
	if err != nil || string(buf[:n]) != "one" {
		t.Errorf("fgetxattr = %q, %v", buf[:n], err)
	}
	check(t, unix.Rename(dir+"/file", dir+"/moved"), nil, "rename")
	check(t, unix.Fsetxattr(fd, "user.a", []byte("two"), unix.XATTR_REPLACE), nil, "fsetxattr after rename")
	if got := getxattr(t, dir+"/moved", "user.a"); got != "two" {
		t.Errorf("getxattr = %q", got)
	}
	n, err = unix.Flistxattr(fd, buf)
	if err != nil || !strings.Contains(string(buf[:n]), "user.a\x00") {
		t.Errorf("flistxattr = %q, %v", buf[:n], err)
	}
	check(t, unix.Fremovexattr(fd, "user.a"), nil, "fremovexattr")
	if got := listxattr(t, dir+"/moved"); len(got) != 0 {
		t.Errorf("listxattr = %q", got)
	}
}

// xattrOfLink tells a link from its target, and what may have attributes of
// users from what may not.
func xattrOfLink(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeLink(t, "file", dir+"/link")
	check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
	check(t, unix.Setxattr(dir+"/link", "user.a", []byte("one"), 0), nil, "setxattr(link)")
	if got := getxattr(t, dir+"/file", "user.a"); got != "one" {
		t.Errorf("getxattr(file) = %q", got)
	}
	for _, name := range []string{"/link", "/fifo"} {
		check(t, unix.Lsetxattr(dir+name, "user.a", []byte("x"), 0), unix.EPERM, "lsetxattr(%s)", name)
		check(t, unix.Lremovexattr(dir+name, "user.a"), unix.EPERM, "lremovexattr(%s)", name)
		_, err := unix.Lgetxattr(dir+name, "user.a", make([]byte, 9))
		check(t, err, unix.ENODATA, "lgetxattr(%s)", name)
		if got := listxattr(t, dir+name); len(got) != 0 {
			t.Errorf("listxattr(%s) = %q", name, got)
		}
	}
}

func xattrTrusted(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	check(t, unix.Setxattr(dir+"/file", "trusted.x", []byte("1"), 0), nil, "setxattr(trusted.x)")
	if got := getxattr(t, dir+"/file", "trusted.x"); got != "1" {
		t.Errorf("getxattr(trusted.x) = %q", got)
	}
}

// xattrCapability gives a file a power: an empty set, as setcap does.
func xattrCapability(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	none := "\x00\x00\x00\x02" + strings.Repeat("\x00", 16)
	check(t, unix.Setxattr(dir+"/file", "security.capability", []byte(none), 0), nil, "setxattr(security.capability)")
	if got := getxattr(t, dir+"/file", "security.capability"); got != none {
		t.Errorf("getxattr = %q", got)
	}
}

// accessList sets the access control list that chmod 0640 stands for, with one
// more user.
func accessList(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	entry := func(tag, perm byte, id string) string { return string([]byte{tag, 0, perm, 0}) + id }
	const none = "\xff\xff\xff\xff"
	list := "\x02\x00\x00\x00" + entry(1, 6, none) + entry(2, 4, "\x01\x00\x00\x00") + entry(4, 4, none) + entry(16, 4, none) + entry(32, 0, none)
	check(t, unix.Setxattr(dir+"/file", "system.posix_acl_access", []byte(list), 0), nil, "setxattr(system.posix_acl_access)")
	if got := getxattr(t, dir+"/file", "system.posix_acl_access"); got != list {
		t.Errorf("getxattr = %q", got)
	}
}
