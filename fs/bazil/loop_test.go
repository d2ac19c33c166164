package bazil

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// slowTree is a tree in which operations on the name "slow" wait until they are
// let go.
func slowTree(t *testing.T) (tree *backing.Memory, waiting *atomic.Int32, letGo func()) {
	t.Helper()
	gate := make(chan struct{})
	waiting = new(atomic.Int32)
	tree = backing.NewMemory()
	tree.Fail = func(op, name string) error {
		if name == "slow" {
			waiting.Add(1)
			<-gate
		}
		return nil
	}
	letGo = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo)
	return tree, waiting, letGo
}

// TestSlowHandlers holds several requests up in the backing, where no handler
// has said that it may take long: the watchdog lets others read.
func TestSlowHandlers(t *testing.T) {
	tree, waiting, letGo := slowTree(t)
	w := mountView(t, "/memory", rootView(t, "/memory", allowAll()), tree)
	const slow = 8
	ended := make(chan error, slow)
	for i := range slow {
		dir := fmt.Sprintf("%s/%d", w.at, i) // the kernel asks once at a time in each directory
		check(t, unix.Mkdir(dir, 0o755), nil, "mkdir")
		go func() { ended <- unix.Lstat(dir+"/slow", new(unix.Stat_t)) }()
		eventually(t, "the slow request has come", func() bool { return int(waiting.Load()) == i+1 })
		start := time.Now()
		for j := range 20 {
			makeFile(t, fmt.Sprintf("%s/%d-%d", w.at, i, j), "text")
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("20 files beside %d slow requests took %v", i+1, took)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("a slow request ended by itself: %v", err)
	default:
	}
	letGo()
	for range slow {
		check(t, <-ended, unix.ENOENT, "lstat(slow)")
	}
}

// TestSlowAndQuick mixes handlers that take a few times the watchdog's patience
// with others, from many threads: each answer goes to who asked.
func TestSlowAndQuick(t *testing.T) {
	tree := backing.NewMemory()
	var n atomic.Uint32
	tree.Fail = func(op, name string) error {
		if n.Add(1)%16 == 0 {
			time.Sleep(3 * watchTick)
		}
		return nil
	}
	w := mountView(t, "/memory", rootView(t, "/memory", allowAll()), tree)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for j := range 15 {
				work(t, fmt.Sprintf("%s/%d-%d", w.at, i, j))
			}
		})
	}
	wg.Wait()
}

// work makes a file, reads it back and removes it.
func work(t *testing.T, path string) {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Errorf("open(%s) = %v", path, err)
		return
	}
	buf := make([]byte, 200)
	_, werr := unix.Pwrite(fd, []byte(path), 0)
	n, rerr := unix.Pread(fd, buf, 0)
	if werr != nil || rerr != nil || string(buf[:n]) != path {
		t.Errorf("%s: %v, %v, content %q", path, werr, rerr, buf[:n])
	}
	if err := unix.Close(fd); err != nil {
		t.Errorf("close(%s) = %v", path, err)
	}
	if err := unix.Unlink(path); err != nil {
		t.Errorf("unlink(%s) = %v", path, err)
	}
}

// TestInterruptedLock sends signals to a thread that waits for a lock. The
// kernel interrupts the request each time, and asks again, because the Go
// runtime wants its system calls restarted.
func TestInterruptedLock(t *testing.T) {
	w := mount(t, allowAll())
	makeFile(t, w.at+"/file", "")
	holder, err := unix.Open(w.at+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open")
	defer unix.Close(holder)
	check(t, unix.Flock(holder, unix.LOCK_EX), nil, "flock")
	tid, ended := lockFile(w.at + "/file")
	eventually(t, "the lock is interrupted and asked for again", func() bool {
		unix.Tgkill(unix.Getpid(), tid, unix.SIGURG)
		requests := w.counters("sandboxfs_requests_total")
		return requests["interrupt"] >= 3 && requests["setlk"] >= 4
	})
	select {
	case err := <-ended:
		t.Fatalf("flock = %v while the lock is held", err)
	default:
	}
	check(t, unix.Flock(holder, unix.LOCK_UN), nil, "flock(LOCK_UN)")
	check(t, <-ended, nil, "flock")
	check(t, unix.Flock(holder, unix.LOCK_EX), nil, "flock after the other has closed its descriptor")
}

// TestUnmountEndsWaiting unmounts while a thread waits for a lock that nobody
// gives back.
func TestUnmountEndsWaiting(t *testing.T) {
	w := mount(t, allowAll())
	makeFile(t, w.at+"/file", "")
	fds := make([]int, 2)
	for i := range fds {
		fd, err := unix.Open(w.at+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
		check(t, err, nil, "open")
		fds[i] = fd
	}
	check(t, unix.Flock(fds[0], unix.LOCK_EX), nil, "flock")
	ended := make(chan error, 1)
	go func() {
		err := unix.Flock(fds[1], unix.LOCK_EX)
		for err == unix.EINTR { // the Go runtime sends itself signals
			err = unix.Flock(fds[1], unix.LOCK_EX)
		}
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond)
	if err := Unmount(w.at, false); err == nil {
		t.Error("a view with open files was unmounted without asking for lazy")
	}
	check(t, unix.Close(fds[0]), nil, "close") // gives the lock back
	check(t, <-ended, nil, "flock")
	check(t, unix.Close(fds[1]), nil, "close")
}

// TestManyProcesses lets 200 processes work at once.
func TestManyProcesses(t *testing.T) {
	w := mount(t, allowAll())
	const many = 200
	script := `set -e
d=$1; mkdir $d; echo $2 >$d/a; mv $d/a $d/b; ln $d/b $d/c; read x <$d/c; test $x = $2
echo line >>$0; rm $d/b $d/c; rmdir $d`
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			cmd := exec.Command("/bin/sh", "-c", script, w.at+"/log", filepath.Join(w.at, fmt.Sprint(i)), fmt.Sprint(i))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(w.backing + "/log")
	if want := many * len("line\n"); len(got) != want || err != nil {
		t.Errorf("the log that all append to has %d bytes, %v; want %d", len(got), err, want)
	}
	if names := namesIn(t, w.backing); len(names) != 1 {
		t.Errorf("left in the backing: %q", names)
	}
	eventually(t, "nothing is open", func() bool { return w.server.OpenHandles() == 0 })
}

// lockFile locks a file in a thread of its own, and returns which that is and the
// outcome.
func lockFile(path string) (tid int, ended <-chan error) {
	thread, outcome := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
		thread <- unix.Gettid()
		if err == nil {
			err = unix.Flock(fd, unix.LOCK_SH)
			unix.Close(fd)
		}
		outcome <- err
	}()
	return <-thread, outcome
}
