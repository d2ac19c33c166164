package integration

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// loopFS makes a file system in a file and mounts it at name, until the test
// ends.
func (w *world) loopFS(fstype, name string) string {
	w.t.Helper()
	needRoot(w.t)
	if _, err := exec.LookPath("mkfs." + fstype); err != nil {
		w.t.Skip("mkfs." + fstype + " is not installed")
	}
	dir, image := w.mkdir(name), w.path(name+".img")
	must(w.t, os.WriteFile(image, nil, 0o600))
	must(w.t, os.Truncate(image, 200<<20))
	command{}.run(w.t, "mkfs."+fstype, "-q", image)
	command{}.run(w.t, "mount", "-o", "loop", image, dir)
	w.t.Cleanup(func() { command{}.run(w.t, "umount", dir) })
	return dir
}

// tmpfs mounts a tmpfs at name, until the test ends.
func (w *world) tmpfs(name string) string {
	w.t.Helper()
	needRoot(w.t)
	dir := w.mkdir(name)
	must(w.t, unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"))
	w.t.Cleanup(func() { must(w.t, unix.Unmount(dir, 0)) })
	return dir
}

// grove makes a tree with files, directories, and a true hard link.
func grove(t *testing.T, dir string) {
	t.Helper()
	for i := range 12 {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i), "sub")
		must(t, os.MkdirAll(sub, 0o755))
		for j := range 10 {
			must(t, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%02d", j)), []byte(fmt.Sprint(dir, i, j)), 0o644))
		}
	}
	must(t, os.Link(dir+"/d00/sub/f00", dir+"/twin"))
	must(t, os.Symlink("d01/sub", dir+"/short"))
}

// threeFileSystems mounts a view over ext4 (or what holds the tests), tmpfs
// and btrfs with a subvolume, which has inode numbers of its own.
func threeFileSystems(t *testing.T) (*world, *mount) {
	w := newWorld(t)
	parts := []string{w.path("root"), w.tmpfs("tmpfs"), w.loopFS("btrfs", "btrfs")}
	command{}.run(t, "btrfs", "subvolume", "create", w.path("btrfs/volume"))
	for _, dir := range append(parts, w.path("btrfs/volume")) {
		grove(t, dir)
	}
	profile := w.profile(`
root: ./root
mounts: [{source: ./tmpfs, target: /tmpfs}, {source: ./btrfs, target: /deep/er/btrfs}]
guards: []
`)
	return w, w.mount(profile)
}

// TestInodeNumbers has every file of a view over several file systems have a
// number of its own, which listings agree with and a remount keeps.
func TestInodeNumbers(t *testing.T) {
	w, m := threeFileSystems(t)
	first := inodes(t, m.Path)
	paths := map[uint64]string{}
	for path, ino := range first {
		other, taken := paths[ino]
		paths[ino] = path
		if taken && !(strings.HasSuffix(path, "twin") || strings.HasSuffix(other, "twin")) {
			t.Errorf("%s and %s share inode %d", path, other, ino)
		}
		if taken && filepath.Dir(path) == filepath.Dir(other) {
			t.Errorf("%s and %s share inode %d", path, other, ino)
		}
	}
	if len(first)-len(paths) != 4 {
		t.Errorf("%d names share an inode with another, want the 4 true hard links", len(first)-len(paths))
	}
	m.stop()
	second := inodes(t, w.mount(w.path("profile.yaml")).Path)
	for path, ino := range first {
		if second[path] != ino {
			t.Errorf("inode of %s = %d after a remount, was %d", path, second[path], ino)
		}
	}
}

// inodes returns the number of every file below dir, and checks that lstat and
// the listing of its directory tell the same.
func inodes(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	found := map[string]uint64{}
	listed := map[string]map[string]uint64{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		found[strings.TrimPrefix(path, dir)] = st.Ino
		if e.IsDir() {
			listed[path] = dirents(t, path)
		}
		if path == dir {
			return nil
		}
		// A subvolume is another device inside its mount: there getdents64(2)
		// tells the number of the place, as it does natively.
		if d := listed[filepath.Dir(path)][filepath.Base(path)]; d != st.Ino && e.Name() != "volume" {
			t.Errorf("%s: d_ino = %d, st_ino = %d", path, d, st.Ino)
		}
		return nil
	})
	must(t, err)
	return found
}

// dirents returns the d_ino of every name in a directory.
func dirents(t *testing.T, dir string) map[string]uint64 {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	defer unix.Close(fd)
	found := map[string]uint64{}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		must(t, err)
		if n == 0 {
			return found
		}
		for rest := buf[:n]; len(rest) > 0; {
			size := binary.NativeEndian.Uint16(rest[16:])
			name, _, _ := strings.Cut(string(rest[19:size]), "\x00")
			if _, twice := found[name]; twice {
				t.Errorf("%s lists %q twice", dir, name)
			}
			found[name] = binary.NativeEndian.Uint64(rest)
			rest = rest[size:]
		}
	}
}

// TestCopyOfSeveralFileSystems has tar, rsync -H, cp -a and find copy and walk
// such a view without a false hard link or a loop.
func TestCopyOfSeveralFileSystems(t *testing.T) {
	w, m := threeFileSystems(t)
	for part, dir := range map[string]string{"/tmpfs": "tmpfs", "/deep/er/btrfs": "btrfs", "/d00": "root/d00"} {
		wantSame(t, "view of "+dir, snapshot(t, m.Path+part, everything), snapshot(t, w.path(dir), everything))
	}
	want := snapshot(t, m.Path, owners|links)
	for tool, script := range map[string]string{
		"tar":   `tar -C "$1" -cf - . | tar -C "$2" -xf -`,
		"rsync": `rsync -aH "$1/" "$2/"`,
		"cp":    `cp -a "$1/." "$2/"`,
	} {
		out := w.mkdir("out-" + tool)
		if _, errs, code := (command{}).try("sh", "-c", "umask 0; "+script, "sh", m.Path, out); code != 0 || errs != "" {
			t.Errorf("%s of the view = exit %d %s", tool, code, errs)
		}
		got := snapshot(t, out, owners|links)
		delete(got, ".")
		root := want["."]
		delete(want, ".")
		wantSame(t, "copy by "+tool, got, want)
		want["."] = root
	}
	found := command{}.run(t, "find", m.Path, "-xdev")
	if got := strings.Count(found, "\n"); got != len(want) {
		t.Errorf("find -xdev prints %d names, want %d", got, len(want))
	}
	if _, errs, code := (command{}).try("find", m.Path, "-follow"); code != 0 || errs != "" {
		t.Errorf("find -follow = exit %d %s", code, errs)
	}
}
