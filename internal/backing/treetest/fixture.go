package treetest

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// check ends the test unless a call gave the error that was wanted, which may
// be nil. Errors are compared as they are: wrapping one is a fault.
func check(t *testing.T, got, want error, call string, args ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", fmt.Sprintf(call, args...), got, want)
	}
}

// oneOf ends the test unless got is one of want.
func oneOf(t *testing.T, got error, want []error, call string) {
	t.Helper()
	if !slices.Contains(want, got) {
		t.Fatalf("%s = %v, want one of %v", call, got, want)
	}
}

// closeLater closes an object at the end of the test.
func closeLater[T interface{ Close() error }](t *testing.T, o T) T {
	t.Cleanup(func() { o.Close() })
	return o
}

func rootOf(t *testing.T, tree backing.Tree) backing.Dir {
	t.Helper()
	d, err := tree.Dir("")
	check(t, err, nil, "Dir(%q)", "")
	return closeLater(t, d)
}

func openDir(t *testing.T, d backing.Dir, name string) backing.Dir {
	t.Helper()
	child, err := d.DirAt(name)
	check(t, err, nil, "DirAt(%q)", name)
	return closeLater(t, child)
}

func makeDir(t *testing.T, d backing.Dir, name string) backing.Dir {
	t.Helper()
	check(t, d.MkdirAt(name, 0o755), nil, "MkdirAt(%q)", name)
	return openDir(t, d, name)
}

func makeLink(t *testing.T, d backing.Dir, target, name string) {
	t.Helper()
	check(t, d.SymlinkAt(target, name), nil, "SymlinkAt(%q, %q)", target, name)
}

func makeNode(t *testing.T, d backing.Dir, name string, mode uint32) {
	t.Helper()
	check(t, d.MknodAt(name, mode), nil, "MknodAt(%q, %#o)", name, mode)
}

// makeFile makes a file with that content and leaves it open for both.
func makeFile(t *testing.T, d backing.Dir, name, content string) backing.File {
	t.Helper()
	f, err := d.CreateAt(name, unix.O_RDWR, 0o644)
	check(t, err, nil, "CreateAt(%q)", name)
	closeLater(t, f)
	writeAt(t, f, content, 0)
	return f
}

func openFile(t *testing.T, d backing.Dir, name string, flags int) backing.File {
	t.Helper()
	f, err := d.OpenAt(name, flags)
	check(t, err, nil, "OpenAt(%q, %#x)", name, flags)
	return closeLater(t, f)
}

func openObject(t *testing.T, d backing.Dir, name string) backing.Object {
	t.Helper()
	o, err := d.ObjectAt(name)
	check(t, err, nil, "ObjectAt(%q)", name)
	return closeLater(t, o)
}

func writeAt(t *testing.T, f backing.File, content string, off int64) {
	t.Helper()
	n, err := f.WriteAt([]byte(content), off)
	check(t, err, nil, "WriteAt(%q, %d)", content, off)
	if n != len(content) {
		t.Fatalf("WriteAt(%q, %d) = %d", content, off, n)
	}
}

// content returns the first megabyte of a file.
func content(t *testing.T, f backing.File) string {
	t.Helper()
	buf := make([]byte, 1<<20)
	n, err := f.ReadAt(buf, 0)
	check(t, err, nil, "ReadAt(0)")
	return string(buf[:n])
}

func wantContent(t *testing.T, f backing.File, want string) {
	t.Helper()
	if got := content(t, f); got != want {
		t.Fatalf("content = %.200q, want %.200q", got, want)
	}
}

// describe returns the Stat of an open object.
func describe(t *testing.T, o backing.Object) backing.Stat {
	t.Helper()
	st, err := o.Stat()
	check(t, err, nil, "Stat()")
	return st
}

// describeAt returns the Stat of a name.
func describeAt(t *testing.T, d backing.Dir, name string) backing.Stat {
	t.Helper()
	st, err := d.StatAt(name)
	check(t, err, nil, "StatAt(%q)", name)
	return st
}

// wantAbsent ends the test when name is there.
func wantAbsent(t *testing.T, d backing.Dir, name string) {
	t.Helper()
	_, err := d.StatAt(name)
	check(t, err, unix.ENOENT, "StatAt(%q)", name)
}

func wantMode(t *testing.T, st backing.Stat, want uint32) {
	t.Helper()
	if st.Mode != want {
		t.Fatalf("mode = %#o, want %#o", st.Mode, want)
	}
}
