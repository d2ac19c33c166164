package profile

import (
	"os"
	"strings"
	"testing"
)

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestMountpoint(t *testing.T) {
	dir := tree(t, map[string]string{
		"proj/sub/": "", "mnt/": "", "full/x": "", "file": "", "link": "->mnt", "into": "->proj/sub", "up/src/": "", "projx/": "",
	})
	p, problems := from(dir, "root: proj\nmounts: [{source: up/src, target: /s}]\n")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	t.Chdir(dir)
	tests := []struct{ name, want, err string }{
		{"mnt", dir + "/mnt", ""},
		{dir + "/link/", dir + "/mnt", ""},
		{"projx", dir + "/projx", ""},
		{"absent", "", "does not exist; mkdir -p absent"},
		{"file", "", "is a file; it must be an empty directory"},
		{"full", "", "is not empty"},
		{"proj", "", "lies inside " + dir + "/proj, the source of /"},
		{"proj/sub", "", "lies inside " + dir + "/proj, the source of /"},
		{"into", "", "lies inside " + dir + "/proj, the source of /"},
		{"up", "", "holds " + dir + "/up/src, the source of /s"},
	}
	for _, tt := range tests {
		got, err := p.Mountpoint(tt.name)
		if got != tt.want && tt.err == "" || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Mountpoint(%q) = %q, %v, want %q, error %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestHolds(t *testing.T) {
	dir := tree(t, map[string]string{"proj/sub/": "", "projx/": ""})
	p, _ := from(dir, "root: proj\n")
	for name, want := range map[string]bool{
		"/proj": true, "/proj/sub/absent/deeper": true, "/projx/socket": false, "/": false,
	} {
		if _, got := p.Holds(dir + name); got != want {
			t.Errorf("Holds(%s) = %v, want %v", name, got, want)
		}
	}
}
