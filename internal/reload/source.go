package reload

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// settleTime is how old the newest stamp must be before an equal stamp proves
// equal contents: two writes within one tick of the file system's clock leave
// the same one.
const settleTime = 50 * time.Millisecond

// source is what stood at a path at one moment.
type source struct {
	there  bool
	stamp  string            // sizes and times of the files, and the links on the way
	newest time.Time         // the latest of those times
	taken  time.Time         // when the stamp was
	sum    [sha256.Size]byte // of the contents; zero where nothing is there
}

// inspect looks at path. It reads the contents unless the stamp shows that they
// are what old has, and again while that changes under it: a sum of new contents
// under an old stamp would make the change invisible for good.
func inspect(path string, old source) source {
	s, files := stampOf(path)
	if !s.there {
		return s
	}
	if old.there && s.stamp == old.stamp && old.newest.Before(old.taken.Add(-settleTime)) {
		s.sum = old.sum
		return s
	}
	for range unsettledReads {
		h := sha256.New()
		for _, f := range files {
			digest(h, f)
		}
		sum := [sha256.Size]byte(h.Sum(nil))
		again, now := stampOf(path)
		if again.stamp == s.stamp {
			s.sum = sum
			return s
		}
		if s, files = again, now; !s.there {
			return s
		}
	}
	s.stamp += "unsettled" // like no stamp that comes later: the next look reads again
	return s
}

// unsettledReads is how often contents that change while they are read are read
// again before they are left to the next look.
const unsettledReads = 5

// stampOf looks at path without its contents, and returns the files that hold
// them.
func stampOf(path string) (s source, files []string) {
	s.taken = time.Now()
	_, links := walk(path)
	for _, l := range links {
		s.note(l)
	}
	st, err := os.Stat(path)
	if err != nil {
		s.stamp += err.Error()
		return s, nil
	}
	s.there = true
	s.note(st)
	files = []string{path}
	if st.IsDir() {
		files = yamlFiles(path)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			s.stamp += f
			s.note(st)
		}
	}
	return s, files
}

// note adds st to the stamp.
func (s *source) note(st os.FileInfo) {
	sys := st.Sys().(*syscall.Stat_t)
	changed := time.Unix(sys.Ctim.Unix())
	if changed.After(s.newest) {
		s.newest = changed
	}
	s.stamp += fmt.Sprintf(" %d:%d %o %d %d %d\n", sys.Dev, sys.Ino, sys.Mode, sys.Size, sys.Mtim.Nano(), sys.Ctim.Nano())
}

// yamlFiles returns the policy files directly in dir, sorted.
func yamlFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// digested is how much of a file counts, in bytes: no profile and no policy is as
// large, so that a larger one is not loaded whatever follows.
const digested = 16<<20 + 1

// digest adds the name and the contents of a regular file to h; of what cannot
// be read, the reason.
func digest(h hash.Hash, file string) {
	fmt.Fprintf(h, "%q ", file)
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // no wait for the writer of a FIFO
	if err != nil {
		fmt.Fprintf(h, "%q ", err)
		return
	}
	defer f.Close()
	content := sha256.New()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		fmt.Fprint(h, "not a regular file ")
	} else if _, err := io.Copy(content, io.LimitReader(f, digested)); err != nil {
		fmt.Fprintf(h, "%q ", err)
	}
	h.Write(content.Sum(nil))
}
