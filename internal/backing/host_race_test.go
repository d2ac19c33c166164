package backing_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

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
				runtime.Gosched()
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
				if err != unix.ELOOP && err != unix.ENOTDIR {
					t.Fatalf("Dir(dir/sub) = %v, want ELOOP or ENOTDIR", err)
				}
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
