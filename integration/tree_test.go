package integration

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// facet is a part of what a snapshot notes of each file, besides its type and
// its content.
type facet uint8

const (
	owners facet = 1 << iota // mode bits, uid, gid
	times                    // mtime, to the nanosecond
	links                    // which names are one file
	xattrs                   // the user's extended attributes

	everything = owners | times | links | xattrs
)

// snapshot describes every file below dir, by its relative path.
func snapshot(t *testing.T, dir string, with facet) map[string]string {
	t.Helper()
	tree := map[string]string{}
	first := map[[2]uint64]string{} // device and inode -> the first name seen
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return fmt.Errorf("lstat %s: %w", path, err)
		}
		line, err := describe(path, &st, with)
		if err != nil {
			return err
		}
		if with&links != 0 && !e.IsDir() && st.Nlink > 1 {
			id := [2]uint64{st.Dev, st.Ino}
			if first[id] == "" {
				first[id] = rel
			}
			line += fmt.Sprintf(" link %d of %s", st.Nlink, first[id])
		}
		tree[rel] = line
		return nil
	})
	if err != nil {
		t.Fatalf("snapshot %s: %v", dir, err)
	}
	return tree
}

// describe returns the line for one file, without its link count.
func describe(path string, st *unix.Stat_t, with facet) (string, error) {
	line := fmt.Sprintf("type %#o", st.Mode&unix.S_IFMT)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" size %d sha %.16x", st.Size, sha256.Sum256(text))
	case unix.S_IFLNK:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		line += fmt.Sprintf(" -> %q", target)
	}
	if with&owners != 0 {
		line += fmt.Sprintf(" mode %#o uid %d gid %d", st.Mode&0o7777, st.Uid, st.Gid)
	}
	if with&times != 0 {
		line += fmt.Sprintf(" mtime %d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
	}
	if with&xattrs != 0 && st.Mode&unix.S_IFMT != unix.S_IFLNK {
		line += userXattrs(path)
	}
	return line, nil
}

// userXattrs lists the extended attributes of the user namespace.
func userXattrs(path string) string {
	list, value := make([]byte, 4096), make([]byte, 4096)
	n, err := unix.Llistxattr(path, list)
	if err != nil {
		return " xattrs " + errno(err)
	}
	text := ""
	for _, name := range slices.Sorted(slices.Values(strings.Split(string(list[:n]), "\x00"))) {
		if !strings.HasPrefix(name, "user.") {
			continue
		}
		size, err := unix.Lgetxattr(path, name, value)
		text += fmt.Sprintf(" %s=%q %s", name, bytes.Clone(value[:max(size, 0)]), errno(err))
	}
	return text
}

// wantSame checks that two snapshots tell the same.
func wantSame(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	all := maps.Clone(want)
	maps.Copy(all, got)
	different := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if got[name] == want[name] {
			continue
		}
		if different++; different <= 10 {
			t.Errorf("%s: %q is %q, want %q", what, name, got[name], want[name])
		}
	}
	if different > 10 {
		t.Errorf("%s: %d further differences", what, different-10)
	}
}
