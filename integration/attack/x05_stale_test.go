package attack

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapped reads a byte of a mapping; EACCES for SIGBUS.
func mapped(b []byte) func() error {
	return func() (err error) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if recover() != nil {
				err = unix.EACCES
			}
		}()
		_ = *(*byte)(unsafe.Pointer(&b[0]))
		if b[0] == 0 {
			return errors.New("an empty page")
		}
		return nil
	}
}

// within calls do until it fails, for as long as a reload may take.
func within(do func() error) func() error {
	return func() error {
		for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			if err := do(); err != nil || time.Now().After(deadline) {
				return err
			}
		}
	}
}

var _ = register("TestX05_WhatWasHeld", func(_ string, before func()) []attempt {
	fd, err := unix.Open("f", unix.O_RDWR, 0)
	dir, err2 := unix.Open("d", unix.O_RDONLY, 0)
	held, err3 := unix.Open("f", unix.O_PATH, 0)
	page, err4 := unix.Mmap(fd, 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err := errors.Join(err, err2, err3, err4, mapped(page)(), list("d")(), stat("d/f")()); err != nil {
		panic(err)
	}
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		panic(err)
	}
	before()
	buf := make([]byte, 4)
	return []attempt{
		{"pread of an open descriptor", "EACCES", within(func() error { _, err := unix.Pread(fd, buf, 0); return err })},
		{"pwrite to an open descriptor", "EACCES", func() error { _, err := unix.Pwrite(fd, buf, 0); return err }},
		{"splice from an open descriptor", "EACCES", func() error { _, err := unix.Splice(fd, new(int64), p[1], nil, 4, 0); return err }},
		{"sendfile from an open descriptor", "EACCES", func() error { _, err := unix.Sendfile(p[1], fd, new(int64), 4); return err }},
		{"ftruncate of an open descriptor", "EACCES", func() error { return unix.Ftruncate(fd, 0) }},
		{"fallocate of an open descriptor", "EACCES", func() error { return unix.Fallocate(fd, 0, 0, 10) }},
		{"fchmod of an open descriptor", "EACCES|EPERM", func() error { return unix.Fchmod(fd, 0o600) }},
		{"fstat of an open descriptor", "EACCES", func() error { return unix.Fstat(fd, new(unix.Stat_t)) }},
		{"a mapped page", "EACCES", within(mapped(page))},
		{"open by O_PATH", "EACCES", open("/proc/self/fd/"+fmt.Sprint(held), unix.O_RDONLY)},
		{"open by the descriptor", "EACCES", open("/proc/self/fd/"+fmt.Sprint(fd), unix.O_RDWR)},
		{"stat of a cached name", "EACCES", within(stat("d/f"))},
		{"openat of a held directory", "EACCES", func() error { _, err := unix.Openat(dir, "f", 0, 0); return err }},
		{"getdents of a held directory", "EACCES", func() error { _, err := unix.Getdents(dir, make([]byte, 4096)); return err }},
	}
})

// TestX05_WhatWasHeld keeps descriptors, mappings, names and attributes over a
// change of the policy.
func TestX05_WhatWasHeld(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "text")
	w.write("root/d/f", "text")
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	attack(t, w, v,
		func() { w.policy("agent", rule("gone", "deny", `"*"`, "/f", "/d/**"), allowAll) },
		func() {
			w.policy("agent", allowAll)
			eventually(t, "access is given back", read(v.Path+"/d/f"))
		})
}

// TestX05_OldListing reads on in a directory from which names are hidden by now.
func TestX05_OldListing(t *testing.T) {
	w := newWorld(t)
	for i := range 500 {
		w.write(fmt.Sprintf("root/d/hidden-%d", i), "")
	}
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	dir, err := unix.Open(v.Path+"/d", unix.O_RDONLY, 0)
	must(t, err)
	defer unix.Close(dir)
	buf := make([]byte, 1024)
	if _, err := unix.Getdents(dir, buf); err != nil {
		t.Fatal(err)
	}
	w.policy("agent", rule("hide", "hide", `"*"`, "/d/hidden-*"), allowAll)
	eventually(t, "the names are hidden", func() error {
		if entries, err := os.ReadDir(v.Path + "/d"); err != nil || len(entries) > 0 {
			return fmt.Errorf("%d entries, %v", len(entries), err)
		}
		return nil
	})
	if n, _ := unix.Getdents(dir, buf); n > 0 {
		t.Errorf("getdents of a descriptor from before the reload = %d bytes, want the names hidden", n)
	}
}

// TestX05_NoDescriptorsLeft opens files until the daemon has no descriptors: a
// policy that is changed now must come into force all the same.
func TestX05_NoDescriptorsLeft(t *testing.T) {
	w := newWorld(t)
	w.write("root/secret", "x")
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{nofile: 300})
	var held []int
	for i := range 1000 {
		fd, err := unix.Open(fmt.Sprintf("%s/%d", v.Path, i), unix.O_CREAT|unix.O_RDWR, 0o666)
		if err != nil {
			break
		}
		held = append(held, fd)
	}
	w.policy("agent", rule("secret", "deny", `"*"`, "/secret"), allowAll)
	err := within(stat(v.Path + "/secret"))()
	for _, fd := range held {
		unix.Close(fd)
	}
	if errnoName(err) != "EACCES" {
		t.Errorf("stat(/secret), denied while %d files were open = %s, want EACCES", len(held), errnoName(err))
	}
}
