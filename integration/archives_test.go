package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// collection makes a tree in which every attribute that an archive keeps is
// there in several forms.
func collection(t *testing.T, dir string) {
	t.Helper()
	file := func(name string, mode os.FileMode, size int) string {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		text := strings.Repeat(fmt.Sprintf("%s %d;", name, size), size/10+1)[:size]
		must(t, os.WriteFile(path, []byte(text), 0o600))
		must(t, os.Chmod(path, mode))
		return path
	}
	for i, size := range []int{0, 1, 4095, 4096, 131072, 131073, 3 << 20} {
		path := file(fmt.Sprintf("sizes/%d", size), 0o644, size)
		must(t, unix.Setxattr(path, "user.size", fmt.Append(nil, size), 0))
		must(t, unix.Setxattr(path, "user.empty", nil, 0))
		if i%2 == 0 {
			must(t, os.Link(path, filepath.Join(dir, fmt.Sprintf("link-%d", i))))
		}
	}
	for _, mode := range []os.FileMode{0o400, 0o444, 0o600, 0o755, 0o777, 0o755 | os.ModeSetgid} { // a view carries no set-uid bit
		file(fmt.Sprintf("modes/%v", mode), mode, 10)
	}
	file("names/sp ace", 0o644, 3)
	file("names/new\nline", 0o644, 3)
	file("names/ünï", 0o644, 3)
	file("deep/"+strings.Repeat("d/", 40)+"f", 0o644, 3)
	for name, target := range map[string]string{"relative": "sizes/1", "dangling": "nowhere", "absolute": "/etc/hosts", "long": strings.Repeat("x/", 1000)} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o640))
	for name, mode := range map[string]os.FileMode{"sticky": 0o777 | os.ModeSticky, "setgid": 0o775 | os.ModeSetgid, "closed": 0o500} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		must(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	must(t, unix.Setxattr(filepath.Join(dir, "sticky"), "user.of.dir", []byte("v"), 0))
	past := 0
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		past++
		at := unix.NsecToTimespec(int64(1e18) + int64(past)*int64(time.Hour) + 123456789)
		if err != nil {
			return err
		}
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{at, at}, unix.AT_SYMLINK_NOFOLLOW)
	}))
}

// TestThereAndBack copies a tree onto the view and off again with each tool;
// what comes back, and what lies on the host, is the original bit for bit.
func TestThereAndBack(t *testing.T) {
	w := newWorld(t)
	original := w.mkdir("original")
	collection(t, original)
	want := snapshot(t, original, everything)
	m := w.view(allowAll)
	for tool, script := range map[string]string{
		"tar":   `tar --format=posix --xattrs --xattrs-include='user.*' -C "$1" -cpf - . | tar --xattrs --xattrs-include='user.*' -C "$2" -xpf -`,
		"rsync": `rsync -aHX "$1/" "$2/"`,
		"cp":    `cp -a "$1/." "$2/"`,
	} {
		t.Run(tool, func(t *testing.T) {
			there, back := filepath.Join(m.Path, tool), w.mkdir("back-"+tool)
			must(t, os.Mkdir(there, 0o755))
			command{}.run(t, "sh", "-ec", script, "sh", original, there)
			wantSame(t, tool+": on the host", snapshot(t, w.path("root/"+tool), everything), want)
			wantSame(t, tool+": on the view", snapshot(t, there, everything), want)
			command{}.run(t, "sh", "-ec", script, "sh", there, back)
			wantSame(t, tool+": back", snapshot(t, back, everything), want)
		})
	}
	if again := (command{}).run(t, "rsync", "-aHXin", "--checksum", original+"/", m.Path+"/rsync/"); again != "" {
		t.Errorf("a second rsync would still copy\n%s", again)
	}
}
