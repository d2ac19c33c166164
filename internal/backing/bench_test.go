package backing_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// benchDir returns a directory of the host with n files "0", "1", …
func benchDir(b *testing.B, n int) backing.Dir {
	b.Helper()
	tree, err := backing.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tree.Close() })
	d, err := tree.Dir("")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	for i := range n {
		if err := d.MknodAt(fmt.Sprint(i), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return d
}

func BenchmarkStatAt(b *testing.B) {
	d := benchDir(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.StatAt("0"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenAtClose(b *testing.B) {
	d := benchDir(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		f, err := d.OpenAt("0", unix.O_RDONLY)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

func BenchmarkReadAt(b *testing.B) {
	d := benchDir(b, 1)
	f, err := d.OpenAt("0", unix.O_RDWR)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 4096)
	f.WriteAt(buf, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.ReadAt(buf, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadDir1000(b *testing.B) {
	d := benchDir(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if list, err := d.ReadDir(); err != nil || len(list) != 1000 {
			b.Fatalf("ReadDir() = %d entries, %v", len(list), err)
		}
	}
}
