package mountinfo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /mnt/a\040b rw,nosuid,nodev - fuse.sandboxfs sandboxfs rw,user_id=1000,group_id=7
41 22 0:36 / /mnt/twice rw - tmpfs tmpfs rw
42 22 0:37 /a\040b /mnt/twice rw master:3 propagate_from:2 - fuse.sandboxfs /home/u/my\134p rw
`

func TestParse(t *testing.T) {
	table, err := Parse(strings.NewReader(sample))
	if err != nil || len(table) != 4 {
		t.Fatalf("Parse = %d mounts, %v, want 4, nil", len(table), err)
	}
	tests := []struct {
		point string
		found bool
		want  Mount
	}{
		{"/", true, Mount{22, "/", "/", true, true, "ext4", "/dev/sda1", 0, 0}},
		{"/mnt/a b", true, Mount{40, "/", "/mnt/a b", false, false, FSType, "sandboxfs", 1000, 7}},
		{"/mnt/twice", true, Mount{42, "/a b", "/mnt/twice", true, false, FSType, `/home/u/my\p`, 0, 0}},
		{"/mnt", false, Mount{}},
	}
	for _, tt := range tests {
		if got, found := table.At(tt.point); got != tt.want || found != tt.found {
			t.Errorf("At(%q) = %+v, %v, want %+v, %v", tt.point, got, found, tt.want, tt.found)
		}
	}
	for name, id := range map[string]int{"/mnt": 22, "/mnt/twice": 42, "/mnt/twice/in": 42, "/mnt/twicex": 22, "/mnt/a b/c": 40} {
		if got := table.On(name); got.ID != id {
			t.Errorf("On(%q) = mount %d, want %d", name, got.ID, id)
		}
	}
	if !table.Has(41) || table.Has(43) {
		t.Errorf("Has(41), Has(43) = %v, %v, want true, false", table.Has(41), table.Has(43))
	}
}

func TestParseBroken(t *testing.T) {
	for _, line := range []string{"22 1 8:1 / /", "x 1 8:1 / / rw - ext4 a rw", "22 1 8:1 / / rw - ext4"} {
		if _, err := Parse(strings.NewReader(line)); err == nil {
			t.Errorf("Parse(%q): no error", line)
		}
	}
}

func TestReadOwn(t *testing.T) {
	table, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := table.At("/"); !ok {
		t.Errorf("Read: no mount on /")
	}
}

func TestLocate(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, dir+"/real/sub")
	link(t, "real", dir+"/link")
	link(t, dir+"/real/sub", dir+"/abs")
	link(t, "loop", dir+"/loop")
	dead := Table{{ID: 1, Point: dir + "/real/dead", Type: FSType}} // nothing of that name exists
	t.Chdir(dir + "/real")

	tests := []struct {
		name, want string
		err        error
	}{
		{dir + "/real", dir + "/real", nil},
		{dir + "/real/", dir + "/real", nil},
		{dir + "//link/./sub/..", dir + "/real", nil},
		{dir + "/abs", dir + "/real/sub", nil},
		{dir + "/link/dead", dir + "/real/dead", nil},
		{"dead/", dir + "/real/dead", nil},
		{"../link/sub", dir + "/real/sub", nil},
		{dir + "/absent", "", fs.ErrNotExist},
		{"/", "/", nil},
	}
	for _, tt := range tests {
		if got, _, err := Locate(tt.name, dead); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("Locate(%q) = %q, %v, want %q, %v", tt.name, got, err, tt.want, tt.err)
		}
	}
	if got, _, err := Locate(dir+"/loop", nil); err == nil {
		t.Errorf("Locate of a loop = %q, want an error", got)
	}
	_, links, err := Locate(dir+"/link/../abs", nil)
	if want := []string{dir + "/link", dir + "/abs"}; !slices.Equal(links, want) {
		t.Errorf("Locate: links %q, %v, want %q", links, err, want)
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	calls := make(chan struct{}, 1)
	ended := make(chan error)
	go func() { ended <- Watch(ctx, func() { calls <- struct{}{} }) }()
	<-calls // it listens
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Watch = %v, want nil once it is told to stop", err)
	}
}
