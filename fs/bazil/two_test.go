package bazil

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/policy"
)

// Two views of one process show the same directory under policies of their own.
// S1-09, X-05.

// twoViews mounts one directory, which holds "open" and "guarded", twice.
func twoViews(t *testing.T, rulesOfA, rulesOfB []string) (a, b *view) {
	t.Helper()
	source := tempDir(t)
	makeFile(t, source+"/open", "text")
	makeFile(t, source+"/guarded", "secret")
	return mountOf(t, source, parsePolicy(t, rulesOfA)), mountOf(t, source, parsePolicy(t, rulesOfB))
}

var allRule = []string{"all allow * /**"}

// openAt opens a file of a view until the test ends.
func openAt(t *testing.T, w *view, name string) int {
	t.Helper()
	fd, err := unix.Open(w.at+"/"+name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	check(t, err, nil, "open("+name+")")
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// pread reads the start of a file.
func pread(fd int) (string, error) {
	buf := make([]byte, 100)
	n, err := unix.Pread(fd, buf, 0)
	return string(buf[:max(n, 0)]), err
}

func wantText(t *testing.T, fd int, want, whose string) {
	t.Helper()
	if got, err := pread(fd); got != want || err != nil {
		t.Errorf("pread by %s = %q, %v, want %q", whose, got, err, want)
	}
}

// TestTwoViewsDecideApart asks each for what only the other allows: nothing of
// a refusal is seen in the records or the counters of the other.
func TestTwoViewsDecideApart(t *testing.T) {
	a, b := twoViews(t, []string{"no-utimes deny utimes /guarded", allRule[0]}, []string{"no-chmod deny chmod /**", allRule[0]})
	check(t, unix.Chmod(a.at+"/guarded", 0o600), nil, "chmod by a")
	check(t, unix.Chmod(b.at+"/guarded", 0o644), unix.EACCES, "chmod by b")
	check(t, unix.Utimes(a.at+"/guarded", nil), unix.EACCES, "utimes by a")
	check(t, unix.Utimes(b.at+"/guarded", nil), nil, "utimes by b")
	for _, c := range []struct {
		w             *view
		rule, refused string
	}{{a, "no-utimes", "deny / utimes"}, {b, "no-chmod", "deny / chmod"}} {
		if got := c.w.records.since(0); len(got) != 1 || got[0].Verdict.Rule.Name != c.rule {
			t.Errorf("recorded %v, want one refusal by %s", got, c.rule)
		}
		if got, want := c.w.refusals(), (map[string]float64{c.refused: 1}); !maps.Equal(got, want) {
			t.Errorf("the counters show %v, want %v", got, want)
		}
	}
}

// TestTwoViewsNumberAlike compares the inode numbers of one file: hard links
// that are found in two views are found to be one file, and the views are two
// file systems.
func TestTwoViewsNumberAlike(t *testing.T) {
	a, b := twoViews(t, allRule, allRule)
	check(t, unix.Link(a.at+"/open", a.at+"/link"), nil, "link by a")
	one, two := lstat(t, a.at+"/link"), lstat(t, b.at+"/link")
	if one.Ino != two.Ino || one.Nlink != 2 || two.Nlink != 2 {
		t.Errorf("a shows inode %d with %d links, b %d with %d, want one inode with 2", one.Ino, one.Nlink, two.Ino, two.Nlink)
	}
	if one.Dev == two.Dev {
		t.Errorf("both views are device %d", one.Dev)
	}
}

// TestTwoViewsReloadApart takes the right to read from a alone, while both have
// the file open and its pages in the cache.
func TestTwoViewsReloadApart(t *testing.T) {
	a, b := twoViews(t, allRule, allRule)
	inA, inB := openAt(t, a, "open"), openAt(t, b, "open")
	wantText(t, inA, "text", "a")
	wantText(t, inB, "text", "b")
	generation := b.server.Generation()
	reads := func() float64 { return b.counters("sandboxfs_requests_total")["read"] }
	eventually(t, "the read of b is counted", func() bool { return reads() == 1 })
	check(t, a.server.Swap(rootView(t, a.backing, parsePolicy(t, []string{"no-read deny read /open", "all allow * /**"}))), nil, "reload of a")
	eventually(t, "a refuses", func() bool { _, err := pread(inA); return err == unix.EACCES })
	wantText(t, inB, "text", "b")
	if got := b.server.Generation(); got != generation {
		t.Errorf("b is at generation %d after a reload of a, want %d", got, generation)
	}
	var st unix.Statfs_t
	check(t, unix.Statfs(b.at, &st), nil, "statfs of b") // comes after what is counted
	if got := reads(); got != 1 {
		t.Errorf("b was asked %v times to read, want once: its pages were dropped", got)
	}
	if got := b.records.count(); got != 0 {
		t.Errorf("b recorded %v", b.records.since(0))
	}
}

// TestTwoViewsSeeEachOther changes a file and the names beside it by a. What b
// has open and remembers follows, as it does when the host changes them.
func TestTwoViewsSeeEachOther(t *testing.T) {
	a, b := twoViews(t, allRule, allRule)
	inA, inB := openAt(t, a, "open"), openAt(t, b, "open")
	wantText(t, inB, "text", "b")
	check(t, unix.Lstat(b.at+"/new", new(unix.Stat_t)), unix.ENOENT, "lstat(new) by b")
	_, err := unix.Pwrite(inA, []byte("TEXT"), 0)
	check(t, err, nil, "pwrite by a")
	check(t, unix.Rename(a.at+"/guarded", a.at+"/new"), nil, "rename by a")
	eventually(t, "b reads what a wrote", func() bool { got, _ := pread(inB); return got == "TEXT" })
	eventually(t, "b finds the new name", func() bool { return unix.Lstat(b.at+"/new", new(unix.Stat_t)) == nil })
	eventually(t, "b misses the old name", func() bool { return unix.Lstat(b.at+"/guarded", new(unix.Stat_t)) == unix.ENOENT })
}

// TestTwoViewsLock takes locks by a and asks for them by b: flock(2) reaches the
// backing and so the other view, record locks hold within a view.
func TestTwoViewsLock(t *testing.T) {
	a, b := twoViews(t, allRule, allRule)
	inA, inB := openAt(t, a, "open"), openAt(t, b, "open")
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	check(t, unix.FcntlFlock(uintptr(inA), unix.F_OFD_SETLK, &whole), nil, "record lock by a")
	check(t, unix.FcntlFlock(uintptr(inB), unix.F_OFD_SETLK, &whole), nil, "record lock by b")
	check(t, unix.Flock(inA, unix.LOCK_EX), nil, "flock by a")
	check(t, unix.Flock(inB, unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK, "flock by b")
	had := make(chan error, 1)
	go func() {
		err := unix.Flock(inB, unix.LOCK_EX)
		for err == unix.EINTR { // the Go runtime sends itself signals
			err = unix.Flock(inB, unix.LOCK_EX)
		}
		had <- err
	}()
	asked := func() bool { return b.counters("sandboxfs_decisions_total")["allow / lock"] >= 2 }
	eventually(t, "b waits", asked)
	check(t, unix.Flock(inA, unix.LOCK_UN), nil, "flock(LOCK_UN) by a")
	check(t, <-had, nil, "flock by b")
	check(t, unix.Flock(inA, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK, "flock by a while b has it")
}

// TestTwoViewsEndApart unmounts a while files are open in both. Those of b go on
// in every way, and so do those of a until they are closed.
func TestTwoViewsEndApart(t *testing.T) {
	for _, lazy := range []bool{false, true} {
		t.Run(fmt.Sprintf("lazy=%v", lazy), func(t *testing.T) {
			a, b := twoViews(t, allRule, allRule)
			inB := openAt(t, b, "open")
			wantText(t, inB, "text", "b")
			inA, err := unix.Open(a.at+"/guarded", unix.O_RDWR|unix.O_CLOEXEC, 0)
			check(t, err, nil, "open by a")
			if lazy {
				check(t, a.mount.Unmount(true), nil, "lazy unmount of a")
				a.detached = true
				wantText(t, inA, "secret", "a, which is detached")
			}
			check(t, unix.Close(inA), nil, "close by a")
			a.end()
			wantText(t, inB, "text", "b")
			_, err = unix.Pwrite(inB, []byte("more"), 4)
			check(t, err, nil, "pwrite by b")
			check(t, unix.Flock(inB, unix.LOCK_EX|unix.LOCK_NB), nil, "flock by b")
			check(t, unix.Lstat(a.at+"/open", new(unix.Stat_t)), unix.ENOENT, "lstat below the mountpoint of a")
			check(t, b.server.Swap(rootView(t, b.backing, policy.Builtin("none"))), nil, "reload of b")
			eventually(t, "b refuses", func() bool { _, err := pread(inB); return err == unix.EACCES })
		})
	}
}

// TestMountWhileAnotherEnds mounts one view after the other, while those before
// are ended. A mount finds its own descriptor among those that open and close.
func TestMountWhileAnotherEnds(t *testing.T) {
	stays := mount(t, allowAll())
	makeFile(t, stays.at+"/file", "text")
	fd := openAt(t, stays, "file")
	mounted := make(chan *view, 2)
	var ending sync.WaitGroup
	for range 2 {
		ending.Go(func() {
			for w := range mounted {
				w.end()
			}
		})
	}
	defer ending.Wait()
	defer close(mounted)
	for range 30 {
		w := mount(t, allowAll())
		check(t, unix.Mkdir(w.at+"/dir", 0o755), nil, "mkdir")
		lstat(t, w.backing+"/dir")
		mounted <- w
	}
	wantText(t, fd, "text", "the view that stays")
}
