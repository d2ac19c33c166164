package posixtest

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// entry is one entry of a listing.
type entry struct {
	name string
	ino  uint64
	next int64 // the offset of the one after it
	kind byte
}

// readEntries returns one batch of entries; none at the end.
func readEntries(t *testing.T, fd, size int) []entry {
	t.Helper()
	buf := make([]byte, size)
	n, err := unix.Getdents(fd, buf)
	check(t, err, nil, "getdents")
	return parseEntries(buf[:n])
}

// readNames returns the names from the offset of fd on, without "." and "..".
func readNames(t *testing.T, fd int) []string {
	t.Helper()
	var names []string
	for {
		batch := readEntries(t, fd, 8192)
		if len(batch) == 0 {
			return names
		}
		for _, e := range batch {
			if e.name != "." && e.name != ".." {
				names = append(names, e.name)
			}
		}
	}
}

// listTypes compares each entry with what lstat says.
func listTypes(t *testing.T, dir string) {
	makeFile(t, dir+"/file", "")
	makeDir(t, dir+"/sub")
	makeLink(t, "file", dir+"/link")
	check(t, unix.Link(dir+"/file", dir+"/twin"), nil, "link")
	check(t, unix.Mkfifo(dir+"/fifo", 0o600), nil, "mkfifo")
	check(t, unix.Mknod(dir+"/socket", unix.S_IFSOCK|0o600, 0), nil, "mknod(S_IFSOCK)")
	seen := make(map[string]bool)
	for _, e := range readEntries(t, open(t, dir, unix.O_RDONLY), 8192) {
		st := lstat(t, dir+"/"+e.name)
		if e.ino != st.Ino && e.name != ".." {
			t.Errorf("%s: d_ino %d, st_ino %d", e.name, e.ino, st.Ino)
		}
		if want := byte(st.Mode >> 12); e.kind != want && e.kind != unix.DT_UNKNOWN {
			t.Errorf("%s: d_type %d, want %d", e.name, e.kind, want)
		}
		seen[e.name] = true
	}
	if len(seen) != 8 || !seen["."] || !seen[".."] {
		t.Errorf("the listing holds %v", seen)
	}
}

func listErrors(t *testing.T, dir string) {
	fd := makeFile(t, dir+"/a-name-that-needs-some-room", "")
	_, err := unix.Getdents(fd, make([]byte, 1000))
	check(t, err, unix.ENOTDIR, "getdents(file)")
	d := open(t, dir, unix.O_RDONLY)
	_, err = unix.Getdents(d, make([]byte, 5))
	check(t, err, unix.EINVAL, "getdents into 5 bytes")
	_, err = unix.Getdents(open(t, dir, unix.O_PATH), make([]byte, 1000))
	check(t, err, unix.EBADF, "getdents(O_PATH)")
	makeDir(t, dir+"/empty")
	wantNames(t, dir+"/empty")
}

// listRewind reads a listing again from its start: it shows what is there now.
func listRewind(t *testing.T, dir string) {
	fd := open(t, dir, unix.O_RDONLY)
	for i := range 5 {
		makeFile(t, fmt.Sprintf("%s/%d", dir, i), "")
		_, err := unix.Seek(fd, 0, unix.SEEK_SET)
		check(t, err, nil, "lseek(0)")
		if got := readNames(t, fd); len(got) != i+1 {
			t.Errorf("after rewind: %q, want %d names", got, i+1)
		}
		if got := readNames(t, fd); len(got) != 0 {
			t.Errorf("behind the end: %q", got)
		}
	}
	check(t, unix.Unlink(dir+"/0"), nil, "unlink")
	_, err := unix.Seek(fd, 0, unix.SEEK_SET)
	check(t, err, nil, "lseek(0)")
	if got := readNames(t, fd); len(got) != 4 || slices.Contains(got, "0") {
		t.Errorf("after unlink and rewind: %q", got)
	}
}

// seekDirectory goes back to each offset that a listing gave.
func seekDirectory(t *testing.T, dir string) {
	for i := range 30 {
		makeFile(t, fmt.Sprintf("%s/%d", dir, i), "")
	}
	fd := open(t, dir, unix.O_RDONLY)
	var all []entry
	for batch := readEntries(t, fd, 200); len(batch) > 0; batch = readEntries(t, fd, 200) {
		all = append(all, batch...)
	}
	if len(all) != 32 {
		t.Fatalf("%d entries in small batches, want 32", len(all))
	}
	for i := len(all) - 2; i >= 0; i-- {
		_, err := unix.Seek(fd, all[i].next, unix.SEEK_SET)
		check(t, err, nil, "lseek(%d)", all[i].next)
		if got := readEntries(t, fd, 100); len(got) == 0 || got[0].name != all[i+1].name {
			t.Fatalf("behind %q: %v, want %q", all[i].name, got, all[i+1].name)
		}
	}
}

// listWhileChanging reads in small batches while names come and go: each name
// that is there all the time is seen once.
func listWhileChanging(t *testing.T, dir string) {
	const kept = 100
	for i := range kept {
		makeFile(t, fmt.Sprintf("%s/kept-%d", dir, i), "")
		makeFile(t, fmt.Sprintf("%s/goes-%d", dir, i), "")
	}
	fd := open(t, dir, unix.O_RDONLY)
	seen := make(map[string]int)
	for i := 0; ; i++ {
		batch := readEntries(t, fd, 300)
		if len(batch) == 0 {
			break
		}
		for _, e := range batch {
			seen[e.name]++
		}
		makeFile(t, fmt.Sprintf("%s/comes-%d", dir, i), "")
		check(t, unix.Unlink(fmt.Sprintf("%s/goes-%d", dir, i)), nil, "unlink") // there are fewer batches
	}
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s was seen %d times", name, n)
		}
	}
	for i := range kept {
		if name := fmt.Sprintf("kept-%d", i); seen[name] == 0 {
			t.Errorf("%s was not seen", name)
		}
	}
}

// listAndRemove removes each name as it is listed, as rm -r does.
func listAndRemove(t *testing.T, dir string) {
	for i := range 150 {
		makeFile(t, fmt.Sprintf("%s/%d", dir, i), "")
	}
	fd := open(t, dir, unix.O_RDONLY)
	for batch := readEntries(t, fd, 500); len(batch) > 0; batch = readEntries(t, fd, 500) {
		for _, e := range batch {
			if e.name != "." && e.name != ".." {
				check(t, unix.Unlink(dir+"/"+e.name), nil, "unlink(%s)", e.name)
			}
		}
	}
	wantNames(t, dir)
}

func manyNames(t *testing.T, dir string) {
	const many = 5000
	var want []string
	for i := range many {
		name := fmt.Sprintf("%05d", i)
		check(t, unix.Mknod(dir+"/"+name, unix.S_IFREG|0o644, 0), nil, "mknod(%s)", name)
		want = append(want, name)
	}
	wantNames(t, dir, want...)
	for i, name := range want {
		if i%100 != 0 {
			check(t, unix.Unlink(dir+"/"+name), nil, "unlink(%s)", name)
		}
	}
	if got := list(t, dir); len(got) != many/100 || got[1] != "00100" {
		t.Errorf("%d names are left, want %d: %q", len(got), many/100, got)
	}
}

// listingKeepsUp looks at a directory after each change of it.
func listingKeepsUp(t *testing.T, dir string) {
	makeFile(t, dir+"/a", "")
	wantNames(t, dir, "a")
	makeDir(t, dir+"/b")
	wantNames(t, dir, "a", "b")
	check(t, unix.Rename(dir+"/a", dir+"/b/c"), nil, "rename(a, b/c)")
	wantNames(t, dir, "b")
	wantNames(t, dir+"/b", "c")
	makeLink(t, "b", dir+"/link")
	wantNames(t, dir+"/link", "c")
	check(t, unix.Link(dir+"/b/c", dir+"/d"), nil, "link(b/c, d)")
	wantNames(t, dir, "b", "d", "link")
	check(t, unix.Unlink(dir+"/b/c"), nil, "unlink(b/c)")
	wantNames(t, dir+"/b")
	check(t, unix.Rmdir(dir+"/b"), nil, "rmdir(b)")
	wantNames(t, dir, "d", "link")
}
