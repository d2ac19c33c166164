package posixtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func twoDescriptors(t *testing.T, dir string) {
	a := makeFile(t, dir+"/file", "")
	b := open(t, dir+"/file", unix.O_RDWR)
	var want string
	for i := range 30 {
		w, r := a, b
		if i%2 == 1 {
			w, r = b, a
		}
		text := strings.Repeat(string(rune('a'+i%26)), 1000+i)
		pwrite(t, w, text, int64(len(want)))
		want += text
		if got := pread(t, r, len(want)+10, 0); got != want {
			t.Fatalf("after write %d the other descriptor reads %d bytes, want %d", i, len(got), len(want))
		}
		if got := fstat(t, r).Size; got != int64(len(want)) {
			t.Fatalf("after write %d fstat by the other descriptor = %d", i, got)
		}
	}
}

func appendTwo(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	a := open(t, dir+"/file", unix.O_WRONLY|unix.O_APPEND)
	b := open(t, dir+"/file", unix.O_RDWR|unix.O_APPEND)
	var want string
	for i := range 40 {
		fd := a
		if i%3 == 0 {
			fd = b
		}
		text := fmt.Sprintf("line %d\n", i)
		write(t, fd, text)
		want += text
		if got := pread(t, b, 2000, 0); got != want {
			t.Fatalf("after %d appends the content is %q", i+1, got)
		}
	}
	wantContent(t, dir+"/file", want)
	check(t, unix.Ftruncate(a, 3), nil, "ftruncate")
	write(t, b, "end")
	wantContent(t, dir+"/file", "linend")
}

func appendParallel(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	const writers, lines = 4, 50
	var wg sync.WaitGroup
	for w := range writers {
		fd := open(t, dir+"/file", unix.O_WRONLY|unix.O_APPEND)
		wg.Go(func() {
			for i := range lines {
				if _, err := unix.Write(fd, fmt.Appendf(nil, "%d %d\n", w, i)); err != nil {
					t.Errorf("write = %v", err)
				}
			}
		})
	}
	wg.Wait()
	next := make(map[int]int)
	got := strings.Split(strings.TrimSuffix(content(t, dir+"/file"), "\n"), "\n")
	for _, line := range got {
		var w, i int
		if _, err := fmt.Sscanf(line, "%d %d", &w, &i); err != nil || next[w] != i {
			t.Fatalf("line %q where %d is due: %v", line, next[w], err)
		}
		next[w]++
	}
	if len(got) != writers*lines {
		t.Errorf("%d lines, want %d", len(got), writers*lines)
	}
}

// vectors reads and writes scattered buffers.
func vectors(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	n, err := unix.Pwritev(fd, [][]byte{[]byte("one "), nil, []byte("two "), []byte("three")}, 3)
	check(t, err, nil, "pwritev")
	a, b := make([]byte, 5), make([]byte, 100)
	m, err := unix.Preadv(fd, [][]byte{a, b}, 0)
	check(t, err, nil, "preadv")
	if got := string(a) + string(b[:m-5]); n != 13 || got != "\x00\x00\x00one two three" {
		t.Errorf("pwritev = %d, then preadv = %q", n, got)
	}
	_, err = unix.Pwritev2(fd, [][]byte{[]byte("!")}, 0, unix.RWF_APPEND)
	check(t, err, nil, "pwritev2(RWF_APPEND)")
	wantSize(t, dir+"/file", 17)
}

func largeFile(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", "")
	want := make([]byte, 3<<20+12345)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range want {
		want[i] = byte(rnd.Uint32())
	}
	for off := 0; off < len(want); {
		n := min(1+rnd.IntN(400000), len(want)-off)
		pwrite(t, fd, string(want[off:off+n]), int64(off))
		off += n
	}
	got := make([]byte, len(want)+1)
	r := open(t, dir+"/file", unix.O_RDONLY)
	total := 0
	for {
		n, err := unix.Read(r, got[total:min(len(got), total+1+rnd.IntN(300000))])
		check(t, err, nil, "read at %d", total)
		if total += n; n == 0 {
			break
		}
	}
	if !bytes.Equal(got[:total], want) {
		t.Errorf("%d bytes came back that differ from the %d written", total, len(want))
	}
}

// randomWork does a few hundred changes at random and compares the file with a
// slice that was changed alike.
func randomWork(t *testing.T, dir string) {
	fds := []int{makeFile(t, dir+"/file", ""), open(t, dir+"/file", unix.O_RDWR)}
	const limit = 300000
	var want []byte
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 300 {
		fd := fds[rnd.IntN(2)]
		off, n := rnd.IntN(limit), 1+rnd.IntN(20000)
		switch rnd.IntN(4) {
		case 0:
			check(t, unix.Ftruncate(fd, int64(off)), nil, "ftruncate(%d)", off)
			want = grown(want, off)[:off:off]
		case 1, 2:
			text := bytes.Repeat([]byte{byte('a' + i%26)}, n)
			pwrite(t, fd, string(text), int64(off))
			want = grown(want, off+n)
			copy(want[off:], text)
		case 3:
			end := min(off+n, len(want))
			if got := pread(t, fd, n, int64(off)); got != string(want[min(off, end):end]) {
				t.Fatalf("step %d: pread(%d, %d) differs", i, n, off)
			}
		}
		if got := fstat(t, fds[rnd.IntN(2)]).Size; got != int64(len(want)) {
			t.Fatalf("step %d: size %d, want %d", i, got, len(want))
		}
	}
	wantContent(t, dir+"/file", string(want))
}

// grown returns b with zeros behind it, so that it has size bytes at least.
func grown(b []byte, size int) []byte { return append(b, make([]byte, max(0, size-len(b)))...) }

// direct reads and writes past the page cache, and looks at the same file
// through it. A file system may not have it (EINVAL).
func direct(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/file", strings.Repeat("x", 8192))
	d, err := unix.Open(dir+"/file", unix.O_RDWR|unix.O_DIRECT|unix.O_CLOEXEC, 0)
	if err == unix.EINVAL {
		t.Log("the file system has no O_DIRECT")
		return
	}
	check(t, err, nil, "open(O_DIRECT)")
	defer unix.Close(d)
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	check(t, err, nil, "mmap") // memory that starts at a page, as O_DIRECT wants it
	defer unix.Munmap(page)
	copy(page, bytes.Repeat([]byte("d"), 4096))
	_, err = unix.Pwrite(d, page, 4096)
	check(t, err, nil, "pwrite(O_DIRECT)")
	if got := pread(t, fd, 10, 4091); got != "xxxxxddddd" {
		t.Errorf("content by a plain descriptor = %q", got)
	}
	pwrite(t, fd, "plain", 0)
	n, err := unix.Pread(d, page, 0)
	check(t, err, nil, "pread(O_DIRECT)")
	if n != 4096 || string(page[:7]) != "plainxx" {
		t.Errorf("pread(O_DIRECT) = %d bytes, %q", n, page[:7])
	}
	if n, err = unix.Pread(d, page, 8192); n != 0 || err != nil {
		t.Errorf("pread(O_DIRECT) at the end = %d, %v", n, err)
	}
}

// parallelFiles lets several threads work on files of their own in one directory.
func parallelFiles(t *testing.T, dir string) {
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 25 {
				a, b := fmt.Sprintf("%s/%d-%d", dir, w, i), fmt.Sprintf("%s/%d-%d-moved", dir, w, i)
				fd, err := unix.Open(a, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o644)
				if err != nil {
					t.Errorf("open(%s) = %v", a, err)
					return
				}
				buf := []byte(a)
				_, werr := unix.Write(fd, buf)
				n, rerr := unix.Pread(fd, buf, 0)
				moved, gone := unix.Rename(a, b), unix.Unlink(b)
				if closed := unix.Close(fd); werr != nil || rerr != nil || moved != nil || gone != nil || closed != nil || string(buf[:n]) != a {
					t.Errorf("%s: %v %v %v %v %v, content %q", a, werr, rerr, moved, gone, closed, buf[:n])
				}
			}
		})
	}
	wg.Wait()
	wantNames(t, dir)
}
