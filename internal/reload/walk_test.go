package reload

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWalk(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	try(t, err)
	try(t, os.MkdirAll(dir+"/real/deep", 0o700))
	write(t, dir+"/real/deep/f", "x")
	try(t, os.Symlink("real", dir+"/link"))
	try(t, os.Symlink("../real/deep/f", dir+"/real/up"))
	try(t, os.Symlink(dir+"/real", dir+"/abs"))
	try(t, os.Symlink("loop", dir+"/loop"))
	tests := []struct {
		path string
		want []string
	}{
		{"/real/deep/f", []string{"/real/deep"}},
		{"/real/deep", []string{"/real", "/real/deep"}},
		{"/link/deep/f", []string{"", "/real/deep"}},
		{"/abs/deep/f", []string{"", "/real/deep"}},
		{"/link/up", []string{"", "/real", "/real/deep"}},
		{"/link", []string{"", "", "/real"}},
		{"/real/no/such", []string{"/real"}},
		{"/real/deep/f/below", []string{"/real/deep"}},
	}
	for _, tt := range tests {
		want := make([]string, len(tt.want))
		for i, w := range tt.want {
			want[i] = dir + w
		}
		if got, _ := walk(dir + tt.path); !slices.Equal(got, want) {
			t.Errorf("walk(%s) = %q, want %q", tt.path, got, want)
		}
	}
	if _, links := walk(dir + "/loop"); len(links) != maxLinks {
		t.Errorf("walk(loop) followed %d links, want %d", len(links), maxLinks)
	}
	if dirs, _ := walk("/"); !slices.Equal(dirs, []string{"/"}) {
		t.Errorf("walk(/) = %q, want /", dirs)
	}
}
