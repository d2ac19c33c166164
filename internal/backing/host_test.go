package backing_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/backing/treetest"
)

func TestMain(m *testing.M) {
	unix.Umask(0)
	os.Exit(m.Run())
}

// nobody is the user that the suite is run as once more when root runs it.
const nobody = 65534

// TestHost runs the suite over each way of walking and each file system that
// every Linux has.
func TestHost(t *testing.T) {
	for system, dir := range map[string]string{"disk": os.TempDir(), "tmpfs": "/dev/shm"} {
		for walk, open := range map[string]func(string) (backing.Tree, error){
			"openat2": backing.Open, "step by step": backing.OpenWithoutOpenat2,
		} {
			for name, test := range treetest.All {
				t.Run(fmt.Sprintf("%s/%s/%s", system, walk, name), func(t *testing.T) {
					test(t, openTree(t, open, tempDir(t, dir)))
				})
			}
		}
	}
}

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
	cmd := exec.Command("/proc/self/exe", "-test.run=^(TestHost|TestUnprivileged)$")
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

// TestExchangedParent has the host exchange a directory and a link to the
// outside in one step, so that there always is something to walk through.
func TestExchangedParent(t *testing.T) {
	dir, outside := tempDir(t, os.TempDir()), tempDir(t, os.TempDir())
	for _, d := range []string{dir + "/dir/sub", outside + "/sub"} {
		want(t, os.MkdirAll(d, 0o755), nil, "MkdirAll(%q)", d)
	}
	want(t, os.WriteFile(dir+"/dir/sub/inside", nil, 0o600), nil, "WriteFile(inside)")
	want(t, os.Symlink(outside, dir+"/link"), nil, "Symlink")

	for _, open := range []func(string) (backing.Tree, error){backing.Open, backing.OpenWithoutOpenat2} {
		tree := openTree(t, open, dir)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 20_000 {
				unix.Renameat2(unix.AT_FDCWD, dir+"/dir", unix.AT_FDCWD, dir+"/link", unix.RENAME_EXCHANGE)
			}
		}()
		var inside, refused int
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			d, err := tree.Dir("dir/sub")
			if err != nil {
				want(t, err, unix.ELOOP, "Dir(dir/sub)")
				refused++
				continue
			}
			_, err = d.StatAt("inside")
			want(t, err, nil, "StatAt(inside)")
			d.Close()
			inside++
		}
		if inside == 0 || refused == 0 {
			t.Errorf("inside %d times, refused %d times: nothing raced", inside, refused)
		}
	}
}

// TestAppendBesideHost appends through a File and through the host's own
// O_APPEND, also the way for kernels without RWF_APPEND.
func TestAppendBesideHost(t *testing.T) {
	const lines = 1000
	dir := tempDir(t, os.TempDir())
	f, err := openRoot(t, dir).CreateAt("log", unix.O_RDWR, 0o600)
	want(t, err, nil, "CreateAt(log)")
	defer f.Close()
	host, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_APPEND, 0)
	want(t, err, nil, "OpenFile(log)")
	defer host.Close()
	var group sync.WaitGroup
	for _, write := range []func([]byte) (int, error){
		f.Append, host.Write, func(p []byte) (int, error) { return backing.AppendReopened(f, p) },
	} {
		group.Go(func() {
			for range lines {
				if _, err := write([]byte("line\n")); err != nil {
					t.Errorf("append = %v", err)
				}
			}
		})
	}
	group.Wait()
	all, err := os.ReadFile(filepath.Join(dir, "log"))
	want(t, err, nil, "ReadFile(log)")
	if got := string(all); got != strings.Repeat("line\n", 3*lines) {
		t.Errorf("the log has %d bytes, want %d whole lines of 5", len(got), 3*lines)
	}
}

// TestAppendOnlyFile opens what chattr +a made.
func TestAppendOnlyFile(t *testing.T) {
	dir := tempDir(t, os.TempDir())
	root := openRoot(t, dir)
	chattr, err := os.Create(filepath.Join(dir, "log"))
	want(t, err, nil, "Create(log)")
	defer chattr.Close()
	const appendOnly = 0x20 // FS_APPEND_FL
	err = unix.IoctlSetPointerInt(int(chattr.Fd()), unix.FS_IOC_SETFLAGS, appendOnly)
	if err == unix.EPERM || err == unix.ENOTTY || err == unix.EOPNOTSUPP {
		t.Skipf("no file can be made append-only here: %v", err)
	}
	want(t, err, nil, "FS_IOC_SETFLAGS")
	defer unix.IoctlSetPointerInt(int(chattr.Fd()), unix.FS_IOC_SETFLAGS, 0)
	_, err = root.OpenAt("log", unix.O_WRONLY)
	want(t, err, unix.EPERM, "OpenAt(O_WRONLY)")
	f, err := root.OpenAt("log", unix.O_WRONLY|unix.O_APPEND)
	want(t, err, nil, "OpenAt(O_WRONLY|O_APPEND)")
	defer f.Close()
	_, err = f.Append([]byte("x"))
	want(t, err, nil, "Append")
}

// TestOlderKernels runs the calls that are made where newer ones are missing.
func TestOlderKernels(t *testing.T) {
	root := openRoot(t, tempDir(t, os.TempDir()))
	want(t, root.MknodAt("file", 0o644), nil, "MknodAt(file)")
	want(t, root.SymlinkAt("file", "link"), nil, "SymlinkAt(link)")
	old := unix.Timespec{Sec: 1000, Nsec: 7}
	for name, chmod := range map[string]error{"file": nil, "link": unix.EOPNOTSUPP} {
		o, err := root.ObjectAt(name)
		want(t, err, nil, "ObjectAt(%q)", name)
		defer o.Close()
		want(t, backing.ChmodProc(o, 0o7600), chmod, "Chmod of %q", name)
		want(t, backing.UtimesProc(o, old, old), nil, "Utimes of %q", name)
		old.Sec++
	}
	link, _ := root.StatAt("link")
	file, _ := root.StatAt("file")
	if file.Mode != unix.S_IFREG|0o7600 || file.Mtime == link.Mtime || max(file.Mtime.Sec, link.Mtime.Sec) != 1001 {
		t.Errorf("the file is %+v, the link %+v", file, link)
	}
}

// TestReadLeavesAtime holds for files of the daemon's own user.
func TestReadLeavesAtime(t *testing.T) {
	root := openRoot(t, tempDir(t, os.TempDir()))
	f, err := root.CreateAt("file", unix.O_RDWR, 0o600)
	want(t, err, nil, "CreateAt(file)")
	defer f.Close()
	_, err = f.WriteAt([]byte("text"), 0)
	want(t, err, nil, "WriteAt")
	old := unix.Timespec{Sec: 1000}
	want(t, f.Utimes(old, unix.Timespec{Sec: 2000}), nil, "Utimes")
	r, err := root.OpenAt("file", unix.O_RDONLY)
	want(t, err, nil, "OpenAt(file)")
	defer r.Close()
	_, err = r.ReadAt(make([]byte, 4), 0)
	want(t, err, nil, "ReadAt")
	if st, _ := r.Stat(); st.Atime != old {
		t.Errorf("atime = %v after reading, want %v", st.Atime, old)
	}
}

// TestCloseOnExec asserts that no child inherits a descriptor.
func TestCloseOnExec(t *testing.T) {
	dir := tempDir(t, os.TempDir())
	for _, open := range []func(string) (backing.Tree, error){backing.Open, backing.OpenWithoutOpenat2} {
		tree := openTree(t, open, dir)
		root, err := tree.Dir("")
		want(t, err, nil, "Dir()")
		defer root.Close()
		if err := root.MkdirAt("d", 0o700); err != nil && err != unix.EEXIST {
			t.Fatalf("MkdirAt(d) = %v", err)
		}
		d, _ := tree.Dir("d")
		defer d.Close()
		f, _ := root.CreateAt(fmt.Sprintf("%p", tree), unix.O_RDWR, 0o600)
		defer f.Close()
		again, _ := root.OpenAt(fmt.Sprintf("%p", tree), unix.O_RDWR)
		defer again.Close()
		o, _ := root.ObjectAt("d")
		defer o.Close()
	}
	fds, err := os.ReadDir("/proc/self/fd")
	want(t, err, nil, "ReadDir(/proc/self/fd)")
	checked := 0
	for _, e := range fds {
		var fd int
		fmt.Sscan(e.Name(), &fd)
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if !strings.HasPrefix(to, dir) {
			continue
		}
		checked++
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d of %s is inherited", fd, to)
		}
	}
	if checked != 12 {
		t.Errorf("%d descriptors below %s, want 12", checked, dir)
	}
}

func TestStatAtAllocatesNothing(t *testing.T) {
	root := openRoot(t, tempDir(t, os.TempDir()))
	want(t, root.MknodAt("file", 0o600), nil, "MknodAt(file)")
	if n := testing.AllocsPerRun(100, func() { root.StatAt("file") }); n != 0 {
		t.Errorf("StatAt allocates %v times, want 0", n)
	}
}

// want ends the test unless a call gave the error that was wanted.
func want(t *testing.T, got, want error, call string, args ...any) {
	t.Helper()
	if got != want {
		t.Fatalf("%s = %v, want %v", fmt.Sprintf(call, args...), got, want)
	}
}

// tempDir makes a directory in parent for the time of the test.
func tempDir(t *testing.T, parent string) string {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "backing-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func openTree(t *testing.T, open func(string) (backing.Tree, error), dir string) backing.Tree {
	t.Helper()
	tree, err := open(dir)
	want(t, err, nil, "Open(%q)", dir)
	t.Cleanup(func() { tree.Close() })
	return tree
}

// openRoot opens dir and its root directory.
func openRoot(t *testing.T, dir string) backing.Dir {
	t.Helper()
	root, err := openTree(t, backing.Open, dir).Dir("")
	want(t, err, nil, "Dir()")
	t.Cleanup(func() { root.Close() })
	return root
}
