package backing_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/backing/treetest"
)

func TestMemory(t *testing.T) {
	for name, test := range treetest.All {
		t.Run(name, func(t *testing.T) { test(t, backing.NewMemory()) })
	}
}

func TestMemoryFail(t *testing.T) {
	m := backing.NewMemory()
	var asked []string
	m.Fail = func(op, name string) error {
		asked = append(asked, op+" "+name)
		if name == "full" {
			return unix.ENOSPC
		}
		return nil
	}
	root, err := m.Dir("")
	if err != nil {
		t.Fatalf("Dir() = %v", err)
	}
	if err := root.MkdirAt("full", 0o700); err != unix.ENOSPC {
		t.Errorf("MkdirAt(full) = %v, want ENOSPC", err)
	}
	if err := root.MkdirAt("other", 0o700); err != nil {
		t.Errorf("MkdirAt(other) = %v, want nil", err)
	}
	list, err := root.ReadDir()
	if err != nil || len(list) != 1 || list[0].Name != "other" {
		t.Errorf("ReadDir() = %v, %v, want other alone", list, err)
	}
	want := []string{"Dir ", "MkdirAt full", "MkdirAt other", "ReadDir "}
	if len(asked) != len(want) {
		t.Fatalf("Fail was asked for %q, want %q", asked, want)
	}
	for i := range want {
		if asked[i] != want[i] {
			t.Errorf("question %d = %q, want %q", i, asked[i], want[i])
		}
	}
}

func TestMemoryClock(t *testing.T) {
	m := backing.NewMemory()
	m.Now = func() time.Time { return time.Unix(77, 5) }
	root, _ := m.Dir("")
	if err := root.MkdirAt("d", 0o700); err != nil {
		t.Fatalf("MkdirAt(d) = %v", err)
	}
	want := unix.Timespec{Sec: 77, Nsec: 5}
	if st, err := root.StatAt("d"); err != nil || st.Btime != want || st.Mtime != want {
		t.Errorf("StatAt(d) = %+v, %v, want the clock's %v", st, err, want)
	}
}

func TestMemoryOpenObjects(t *testing.T) {
	m := backing.NewMemory()
	root, _ := m.Dir("")
	f, err := root.CreateAt("f", unix.O_RDWR, 0o600)
	if err != nil {
		t.Fatalf("CreateAt(f) = %v", err)
	}
	if n := m.OpenObjects(); n != 2 {
		t.Errorf("OpenObjects() = %d, want 2", n)
	}
	f.Close()
	f.Close()
	root.Close()
	if n := m.OpenObjects(); n != 0 {
		t.Errorf("OpenObjects() = %d after all was closed, want 0", n)
	}
}
