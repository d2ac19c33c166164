package treetest

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// needXattr skips the test on a file system that keeps no user attributes.
func needXattr(t *testing.T, o backing.Object) {
	t.Helper()
	if o.Setxattr("user.probe", nil, 0) == unix.EOPNOTSUPP {
		t.Skip("the file system keeps no user.* attributes")
	}
	check(t, o.Removexattr("user.probe"), nil, "Removexattr(user.probe)")
}

func xattr(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "")
	d := makeDir(t, root, "dir")
	needXattr(t, f)
	for kind, o := range map[string]backing.Object{
		"file": f, "dir": d, "object": openObject(t, root, "file"), "dir object": openObject(t, root, "dir"),
	} {
		value := "\x00any\xffbytes"
		check(t, o.Setxattr("user.one", []byte(value), 0), nil, "%s: Setxattr(user.one)", kind)
		check(t, o.Setxattr("user.empty", nil, unix.XATTR_CREATE), nil, "%s: Setxattr(user.empty)", kind)
		wantXattr(t, o, "user.one", value)
		wantXattr(t, o, "user.empty", "")
		check(t, o.Setxattr("user.one", []byte("2"), unix.XATTR_REPLACE), nil, "%s: Setxattr(REPLACE)", kind)
		wantXattr(t, o, "user.one", "2")
		for _, name := range []string{"user.one", "user.empty"} {
			if names := xattrNames(t, o); !slices.Contains(names, name) {
				t.Errorf("%s: Listxattr = %q, want %s in it", kind, names, name)
			}
			check(t, o.Removexattr(name), nil, "%s: Removexattr(%s)", kind, name)
			if names := xattrNames(t, o); slices.Contains(names, name) {
				t.Errorf("%s: Listxattr = %q after Removexattr(%s)", kind, names, name)
			}
		}
	}
}

func xattrErrors(t *testing.T, tree backing.Tree) {
	o := makeFile(t, rootOf(t, tree), "file", "")
	needXattr(t, o)
	small := make([]byte, 1)
	_, err := o.Getxattr("user.none", nil)
	check(t, err, unix.ENODATA, "Getxattr(user.none)")
	check(t, o.Removexattr("user.none"), unix.ENODATA, "Removexattr(user.none)")
	check(t, o.Setxattr("user.none", small, unix.XATTR_REPLACE), unix.ENODATA, "Setxattr(REPLACE)")
	check(t, o.Setxattr("user.one", []byte("value"), 0), nil, "Setxattr(user.one)")
	check(t, o.Setxattr("user.one", small, unix.XATTR_CREATE), unix.EEXIST, "Setxattr(CREATE)")
	_, err = o.Getxattr("user.one", small)
	check(t, err, unix.ERANGE, "Getxattr into 1 byte")
	_, err = o.Listxattr(small)
	check(t, err, unix.ERANGE, "Listxattr into 1 byte")
	check(t, o.Setxattr("nonsense", small, 0), unix.EOPNOTSUPP, "Setxattr(nonsense)")
	check(t, o.Setxattr("", small, 0), unix.ERANGE, "Setxattr of no name")
	check(t, o.Setxattr("user."+strings.Repeat("n", 251), small, 0), unix.ERANGE, "Setxattr, 256 byte name")
	check(t, o.Setxattr("user.big", make([]byte, 64<<10+1), 0), unix.E2BIG, "Setxattr, 64 KiB and 1")
	wantXattr(t, o, "user.one", "value")
}

// xattrOfLink asserts that the attributes of a link are its own.
func xattrOfLink(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	f := makeFile(t, root, "file", "")
	makeLink(t, root, "file", "link")
	needXattr(t, f)
	link := openObject(t, root, "link")
	check(t, f.Setxattr("user.one", []byte("file's"), 0), nil, "Setxattr(user.one)")
	_, err := link.Getxattr("user.one", nil)
	check(t, err, unix.ENODATA, "link: Getxattr(user.one)")
	check(t, link.Setxattr("user.two", nil, 0), unix.EPERM, "link: Setxattr(user.two)")
	if names := xattrNames(t, link); slices.Contains(names, "user.one") {
		t.Errorf("link: Listxattr = %q, which are the file's", names)
	}
	if st := describe(t, f); st.Uid != 0 {
		return // trusted attributes are root's
	}
	check(t, link.Setxattr("trusted.link", []byte("link's"), 0), nil, "link: Setxattr(trusted.link)")
	wantXattr(t, link, "trusted.link", "link's")
	if names := xattrNames(t, f); slices.Contains(names, "trusted.link") {
		t.Errorf("file: Listxattr = %q, with the link's", names)
	}
	check(t, link.Removexattr("trusted.link"), nil, "link: Removexattr(trusted.link)")
}

func wantXattr(t *testing.T, o backing.Object, name, want string) {
	t.Helper()
	size, err := o.Getxattr(name, nil)
	check(t, err, nil, "Getxattr(%s, nil)", name)
	if size != len(want) {
		t.Fatalf("Getxattr(%s, nil) = %d, want %d", name, size, len(want))
	}
	buf := make([]byte, 100)
	n, err := o.Getxattr(name, buf)
	check(t, err, nil, "Getxattr(%s)", name)
	if string(buf[:n]) != want {
		t.Fatalf("Getxattr(%s) = %q, want %q", name, buf[:n], want)
	}
}

func xattrNames(t *testing.T, o backing.Object) []string {
	t.Helper()
	size, err := o.Listxattr(nil)
	check(t, err, nil, "Listxattr(nil)")
	buf := make([]byte, size+1)
	n, err := o.Listxattr(buf)
	check(t, err, nil, "Listxattr")
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
}
