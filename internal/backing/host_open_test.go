package backing_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

func TestOpenErrors(t *testing.T) {
	dir := tempDir(t, os.TempDir())
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, errno := range map[string]error{filepath.Join(dir, "none"): unix.ENOENT, file: unix.ENOTDIR} {
		_, err := backing.Open(path)
		if !errors.Is(err, errno) || !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("Open(%q) = %v, want %v with the path", path, err, errno)
		}
	}
	for path, errno := range map[string]error{
		filepath.Join(dir, "none"): unix.ENOENT, filepath.Join(dir, "none/file"): unix.ENOENT, dir: unix.EISDIR,
		"/": unix.ENOENT,
	} {
		if _, _, err := backing.OpenFile(path); !errors.Is(err, errno) {
			t.Errorf("OpenFile(%q) = %v, want %v", path, err, errno)
		}
	}
}

func TestOpenFile(t *testing.T) {
	dir := tempDir(t, os.TempDir())
	path := filepath.Join(dir, "file")
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one")
	tree, name, err := backing.OpenFile(path)
	want(t, err, nil, "OpenFile(%q)", path)
	defer tree.Close()
	d, err := tree.Dir("")
	want(t, err, nil, "Dir()")
	defer d.Close()
	write(path+".new", "two")
	want(t, os.Rename(path+".new", path), nil, "Rename")
	f, err := d.OpenAt(name, unix.O_RDONLY)
	want(t, err, nil, "OpenAt(%q)", name)
	defer f.Close()
	buf := make([]byte, 10)
	if n, err := f.ReadAt(buf, 0); err != nil || string(buf[:n]) != "two" {
		t.Errorf("ReadAt = %q, %v, want the file that was renamed there", buf[:n], err)
	}
}

// TestSpecialSources looks at what the host itself has: other file systems
// below the root, devices, and the magic links of proc.
func TestSpecialSources(t *testing.T) {
	host, err := backing.Open("/")
	want(t, err, nil, "Open(/)")
	defer host.Close()
	dev, err := host.Dir("dev")
	want(t, err, nil, "Dir(dev), a mount below the root")
	defer dev.Close()
	for _, flags := range []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR} {
		_, err = dev.OpenAt("null", flags)
		want(t, err, unix.ENXIO, "OpenAt(/dev/null, %d)", flags)
	}
	st, err := dev.StatAt("null")
	want(t, err, nil, "StatAt(/dev/null)")
	if st.Rdev != uint32(unix.Mkdev(1, 3)) {
		t.Errorf("StatAt(/dev/null).Rdev = %#x, want 1:3", st.Rdev)
	}

	self, err := backing.Open("/proc/self")
	want(t, err, nil, "Open(/proc/self)")
	defer self.Close()
	d, err := self.Dir("")
	want(t, err, nil, "Dir()")
	defer d.Close()
	for _, rel := range []string{"root", "cwd", "root/etc"} {
		_, err = self.Dir(rel)
		want(t, err, unix.ELOOP, "Dir(/proc/self/%s)", rel)
	}
	_, err = d.DirAt("root")
	want(t, err, unix.ELOOP, "DirAt(/proc/self/root)")
	_, err = d.OpenAt("exe", unix.O_RDONLY)
	want(t, err, unix.ENXIO, "OpenAt(/proc/self/exe)")
}
