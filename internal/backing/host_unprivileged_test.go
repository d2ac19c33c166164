package backing_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the user that the suite is run as once more when root runs it.
const nobody = 65534

// TestHostUnprivileged runs the tests of the host tree again without root's powers.
func TestHostUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("the process is unprivileged: the other tests are what this one would start")
		return
	}
	temp := tempDir(t, os.TempDir())
	if err := os.Chown(temp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^(TestHost|TestHostWithoutOpenat2|TestUnprivileged)$")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the suite as uid %d: %v\n%s", nobody, err, out)
	}
}

// TestUnprivileged asks for what only root may do. As root it has nothing to ask.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("the process is root: TestHostUnprivileged runs this as another user")
		return
	}
	dir := tempDir(t, os.TempDir())
	root := openRoot(t, dir)
	for name, mode := range map[string]uint32{"walk only": 0o111, "list only": 0o444, "closed": 0} {
		want(t, root.MkdirAt(name, 0o755), nil, "MkdirAt(%q)", name)
		d, err := root.DirAt(name)
		want(t, err, nil, "DirAt(%q)", name)
		defer d.Close()
		f, err := d.CreateAt("file", unix.O_RDWR, 0o644)
		want(t, err, nil, "CreateAt in %q", name)
		f.Close()
		want(t, d.Chmod(mode), nil, "Chmod(%#o)", mode)
		defer d.Chmod(0o755)
	}
	for _, c := range []struct {
		name       string
		walk, list error
	}{
		{name: "walk only", walk: nil, list: unix.EACCES},
		{name: "list only", walk: unix.EACCES, list: nil},
		{name: "closed", walk: unix.EACCES, list: unix.EACCES},
	} {
		d, err := root.DirAt(c.name)
		want(t, err, nil, "DirAt(%q)", c.name)
		defer d.Close()
		_, err = d.StatAt("file")
		want(t, err, c.walk, "StatAt in %q", c.name)
		_, err = d.ReadDir()
		want(t, err, c.list, "ReadDir of %q", c.name)
		want(t, d.Sync(), c.list, "Sync of %q", c.name)
	}
	f, err := root.CreateAt("mine", unix.O_RDWR, 0)
	want(t, err, nil, "CreateAt(mine)")
	defer f.Close()
	_, err = root.OpenAt("mine", unix.O_RDONLY)
	want(t, err, unix.EACCES, "OpenAt of a file of mode 0")
	o, err := root.ObjectAt("mine")
	want(t, err, nil, "ObjectAt of a file of mode 0")
	defer o.Close()
	want(t, o.Truncate(0), unix.EACCES, "Truncate of a file of mode 0")
	want(t, o.Chown(0, -1), unix.EPERM, "Chown to root")

	etc := openRoot(t, "/etc")
	passwd, err := etc.OpenAt("passwd", unix.O_RDONLY)
	want(t, err, nil, "OpenAt of a file of root's, which must do without O_NOATIME")
	defer passwd.Close()
	want(t, passwd.Chmod(0o666), unix.EPERM, "Chmod of a file of root's")
	_, err = etc.OpenAt("passwd", unix.O_RDWR)
	want(t, err, unix.EACCES, "OpenAt of a file of root's for writing")
}
