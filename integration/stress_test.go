package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRandomFileOperations compares a file on the view with a model in memory
// through a long random run of writes, reads, truncations and fallocate, by two
// descriptors. The seed is printed when it fails.
func TestRandomFileOperations(t *testing.T) {
	w := newWorld(t)
	m := w.view(allowAll)
	steps, seed := 3000, rand.Uint64()
	if soak {
		steps = 200_000
	}
	r := rand.New(rand.NewPCG(seed, 1))
	fds := [2]int{}
	for i := range fds {
		fd, err := unix.Open(m.Path+"/f", unix.O_RDWR|unix.O_CREAT, 0o644)
		must(t, err)
		defer unix.Close(fd)
		fds[i] = fd
	}
	var model []byte
	for i := range steps {
		var err error
		if model, err = randomStep(r, fds[r.IntN(2)], model); err != nil {
			t.Fatalf("seed %d, step %d: %v", seed, i, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fds[0], &st); err != nil || st.Size != int64(len(model)) {
			t.Fatalf("seed %d, step %d: size %d, %v, want %d", seed, i, st.Size, err, len(model))
		}
	}
	for _, dir := range []string{m.Path, m.Backing} {
		if got := read(t, dir+"/f"); got != string(model) {
			t.Errorf("seed %d: content in %s differs from the model", seed, dir)
		}
	}
}

// randomStep does one operation on the file and on the model.
func randomStep(r *rand.Rand, fd int, model []byte) ([]byte, error) {
	const limit = 400_000
	off, n := r.IntN(limit), 1+r.IntN(20_000)
	grow := func(size int) {
		if size > len(model) {
			model = append(model, make([]byte, size-len(model))...)
		}
	}
	switch r.IntN(6) {
	case 0, 1:
		buf := make([]byte, n)
		for i := range buf {
			buf[i] = byte(r.Uint32())
		}
		grow(off + n)
		copy(model[off:], buf)
		done, err := unix.Pwrite(fd, buf, int64(off))
		if done != n || err != nil {
			return nil, fmt.Errorf("pwrite(%d at %d) = %d, %v", n, off, done, err)
		}
	case 2, 3:
		buf := make([]byte, n)
		done, err := unix.Pread(fd, buf, int64(off))
		want := model[min(off, len(model)):min(off+n, len(model))]
		if err != nil || string(buf[:max(done, 0)]) != string(want) {
			return nil, fmt.Errorf("pread(%d at %d) = %d bytes, %v, want %d of the model's", n, off, done, err, len(want))
		}
	case 4:
		grow(off)
		model = model[:off]
		if err := unix.Ftruncate(fd, int64(off)); err != nil {
			return nil, fmt.Errorf("ftruncate(%d) = %v", off, err)
		}
	case 5:
		grow(off + n)
		if err := unix.Fallocate(fd, 0, int64(off), int64(n)); err != nil {
			return nil, fmt.Errorf("fallocate(%d at %d) = %v", n, off, err)
		}
	}
	return model, nil
}

// TestManyAtOnce has several users of one small tree make, move, link, list and
// remove at random, with policies reloading under them. Nobody gets an error
// that such a race cannot explain, and view and backing end alike.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.mkdir(fmt.Sprintf("root/d%d", i))
	}
	m := w.view(allowAll)
	span := 4 * time.Second
	if soak {
		span = 5 * time.Minute
	}
	stop := time.Now().Add(span)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for time.Now().Before(stop) {
				if call, err := randomCall(m.Path); err != nil && !expected[errno(err)] {
					t.Errorf("%s = %v", call, err)
					return
				}
			}
		})
	}
	for i := 0; time.Now().Before(stop); i++ {
		w.policy("agent", rule("unused", "deny", "write", fmt.Sprintf("/unused%d", i)), allowAll)
		time.Sleep(300 * time.Millisecond)
	}
	all.Wait()
	wantSame(t, "view", snapshot(t, m.Path, everything), snapshot(t, m.Backing, everything))
}

// expected are the errors that one user's change gives another; EPERM is the
// link to what became a directory.
var expected = map[string]bool{"ENOENT": true, "EEXIST": true, "ENOTDIR": true, "EISDIR": true, "ENOTEMPTY": true, "EINVAL": true, "EPERM": true}

// randomCall does something with two of few names.
func randomCall(root string) (call string, err error) {
	name := func() string {
		return filepath.Join(root, fmt.Sprintf("d%d", rand.IntN(4)), fmt.Sprintf("n%d", rand.IntN(6)))
	}
	a, b := name(), name()
	switch rand.IntN(10) {
	case 0:
		return "write", os.WriteFile(a, []byte(b), 0o644)
	case 1:
		_, err = os.ReadFile(a)
		return "read", err
	case 2:
		return "rename", unix.Rename(a, b)
	case 3:
		return "link", unix.Link(a, b)
	case 4:
		return "unlink", unix.Unlink(a)
	case 5:
		return "mkdir", unix.Mkdir(a, 0o755)
	case 6:
		return "rmdir", unix.Rmdir(a)
	case 7:
		_, err = os.ReadDir(filepath.Dir(a))
		return "list", err
	case 8:
		return "stat", unix.Lstat(a, new(unix.Stat_t))
	}
	return "create below", os.WriteFile(filepath.Join(a, "below"), nil, 0o644)
}
