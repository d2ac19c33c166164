package posixtest

import (
	"testing"

	"golang.org/x/sys/unix"
)

func chmodBits(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	for _, mode := range []uint32{0, 0o644, 0o777, 0o421, 0o111, 0o1777, 0o1644, 0o2755, 0o2644, 0o3777, 0o600} {
		check(t, unix.Chmod(dir+"/file", mode), nil, "chmod(file, %#o)", mode)
		wantMode(t, dir+"/file", unix.S_IFREG|mode)
		check(t, unix.Chmod(dir+"/dir", mode), nil, "chmod(dir, %#o)", mode)
		wantMode(t, dir+"/dir", unix.S_IFDIR|mode)
	}
	check(t, unix.Chmod(dir+"/dir", 0o755), nil, "chmod(dir)")
}

func chmodSetUID(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	for _, mode := range []uint32{0o4755, 0o6755, 0o7777} {
		check(t, unix.Chmod(dir+"/file", mode), nil, "chmod(file, %#o)", mode)
		wantMode(t, dir+"/file", unix.S_IFREG|mode)
	}
	check(t, unix.Mknod(dir+"/node", unix.S_IFREG|0o4755, 0), nil, "mknod(04755)")
	wantMode(t, dir+"/node", unix.S_IFREG|0o4755)
}

func chmodFollowsLink(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeLink(t, "file", dir+"/link")
	check(t, unix.Chmod(dir+"/link", 0o640), nil, "chmod(link)")
	wantMode(t, dir+"/file", unix.S_IFREG|0o640)
	wantMode(t, dir+"/link", unix.S_IFLNK|0o777)
	check(t, unix.Fchmodat(unix.AT_FDCWD, dir+"/link", 0o600, unix.AT_SYMLINK_NOFOLLOW), unix.EOPNOTSUPP, "fchmodat(link, AT_SYMLINK_NOFOLLOW)")
	check(t, unix.Fchmodat(unix.AT_FDCWD, dir+"/file", 0o600, unix.AT_SYMLINK_NOFOLLOW), nil, "fchmodat(file, AT_SYMLINK_NOFOLLOW)")
	wantMode(t, dir+"/file", unix.S_IFREG|0o600)
}

func fchmod(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/dir")
	check(t, unix.Fchmod(open(t, dir+"/file", unix.O_RDONLY), 0o604), nil, "fchmod(reader)")
	wantMode(t, dir+"/file", unix.S_IFREG|0o604)
	check(t, unix.Fchmod(open(t, dir+"/file", unix.O_WRONLY), 0o640), nil, "fchmod(writer)")
	wantMode(t, dir+"/file", unix.S_IFREG|0o640)
	check(t, unix.Fchmod(open(t, dir+"/dir", unix.O_RDONLY), 0o710), nil, "fchmod(directory)")
	wantMode(t, dir+"/dir", unix.S_IFDIR|0o710)
	check(t, unix.Fchmod(open(t, dir+"/file", unix.O_PATH), 0o600), unix.EBADF, "fchmod(O_PATH)")
}

func modeOfMade(t *testing.T, dir string) {
	for _, mode := range []uint32{0, 0o600, 0o644, 0o666, 0o755, 0o1644} {
		name := dir + "/file"
		fd, err := unix.Open(name, unix.O_CREAT|unix.O_RDWR, mode)
		check(t, err, nil, "open(O_CREAT, %#o)", mode)
		pwrite(t, fd, "x", 0) // whatever the mode is, the descriptor that made it writes
		unix.Close(fd)
		wantMode(t, name, unix.S_IFREG|mode)
		check(t, unix.Unlink(name), nil, "unlink")
		check(t, unix.Mkdir(name, mode), nil, "mkdir(%#o)", mode)
		wantMode(t, name, unix.S_IFDIR|mode)
		check(t, unix.Rmdir(name), nil, "rmdir")
		check(t, unix.Mkfifo(name, mode), nil, "mkfifo(%#o)", mode)
		wantMode(t, name, unix.S_IFIFO|mode)
		check(t, unix.Unlink(name), nil, "unlink")
	}
}

// umask holds for the whole process, so that the test puts it back at once.
func umask(t *testing.T, dir string) {
	for _, mask := range []int{0o022, 0o027, 0o077, 0o777} {
		old := unix.Umask(mask)
		fd, err := unix.Open(dir+"/file", unix.O_CREAT|unix.O_WRONLY, 0o666)
		made := []error{
			err, unix.Close(fd), unix.Mkdir(dir+"/dir", 0o777), unix.Mkfifo(dir+"/fifo", 0o666),
			unix.Mknod(dir+"/node", unix.S_IFREG|0o777, 0), unix.Chmod(dir+"/node", 0o666),
		}
		unix.Umask(old)
		for i, err := range made {
			check(t, err, nil, "call %d under umask %#o", i, mask)
		}
		m := uint32(mask)
		wantMode(t, dir+"/file", unix.S_IFREG|0o666&^m)
		wantMode(t, dir+"/dir", unix.S_IFDIR|0o777&^m)
		wantMode(t, dir+"/fifo", unix.S_IFIFO|0o666&^m)
		wantMode(t, dir+"/node", unix.S_IFREG|0o666)
		check(t, unix.Rmdir(dir+"/dir"), nil, "rmdir")
		for _, name := range []string{"/file", "/fifo", "/node"} {
			check(t, unix.Unlink(dir+name), nil, "unlink(%q)", name)
		}
	}
}

func setGroupDirectory(t *testing.T, dir string) {
	sub := makeDir(t, dir+"/sub")
	gid := uint32(unix.Getegid())
	if isRoot() {
		gid = 1234
		check(t, unix.Chown(sub, -1, int(gid)), nil, "chown(sub)")
	}
	check(t, unix.Chmod(sub, 0o2775), nil, "chmod(sub, 02775)")
	makeFile(t, sub+"/file", "")
	makeDir(t, sub+"/dir")
	makeLink(t, "x", sub+"/link")
	check(t, unix.Mkfifo(sub+"/fifo", 0o600), nil, "mkfifo")
	for _, name := range []string{"/file", "/dir", "/link", "/fifo"} {
		if st := lstat(t, sub+name); st.Gid != gid {
			t.Errorf("gid of %s in a set-gid directory of group %d = %d", name, gid, st.Gid)
		}
	}
	wantMode(t, sub+"/dir", unix.S_IFDIR|0o2755)
	wantMode(t, sub+"/file", unix.S_IFREG|0o644)
}

func writeClearsSetGID(t *testing.T, dir string) {
	kept := uint32(0o755)
	if isRoot() {
		kept = 0o2755
	}
	for name, act := range map[string]func(fd int){
		"write":     func(fd int) { pwrite(t, fd, "x", 0) },
		"ftruncate": func(fd int) { check(t, unix.Ftruncate(fd, 1), nil, "ftruncate") },
		"fallocate": func(fd int) { check(t, unix.Fallocate(fd, 0, 0, 100), nil, "fallocate") },
	} {
		fd := makeFile(t, dir+"/"+name, "text")
		check(t, unix.Fchmod(fd, 0o2755), nil, "fchmod(02755)")
		act(fd)
		if got := fstat(t, fd).Mode & 0o7777; got != kept {
			t.Errorf("mode after %s of a file of mode 02755 = %#o, want %#o", name, got, kept)
		}
	}
}
