package fs

import (
	"crypto/rand"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
)

// freshPrefix begins the name under which a fresh file is written before it is
// renamed to its place. No view shows such a name, so that nobody opens it.
const freshPrefix = ".sandboxfs-git-"

// isFresh reports whether a name is one that views keep to themselves.
func isFresh(name string) bool { return strings.HasPrefix(name, freshPrefix) }

// readGit reads a regular file whole, up to what is judged at most. EFBIG for a
// larger one, ENXIO for what is no regular file.
func readGit(d backing.Dir, name string) (backing.Stat, []byte, syscall.Errno) {
	f, err := d.OpenAt(name, unix.O_RDONLY)
	if err != nil {
		return backing.Stat{}, nil, errnoOf(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return st, nil, errnoOf(err)
	}
	text, errno := readWhole(f)
	return st, text, errno
}

func readWhole(f backing.File) ([]byte, syscall.Errno) {
	var text []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := f.ReadAt(buf, int64(len(text)))
		if err != nil {
			return nil, errnoOf(err)
		}
		text = append(text, buf[:n]...)
		if len(text) > gitguard.MaxSize {
			return nil, syscall.EFBIG
		}
		if n == 0 {
			return text, 0
		}
	}
}

// replaceFresh makes a file that nobody has open, with that text, owner and
// mode, take the place of name in d. It returns what remains of old, the node
// known there, for replacedFresh.
func (s *Server) replaceFresh(d backing.Dir, name string, st *backing.Stat, text []byte, old *node) (remains, syscall.Errno) {
	fresh := freshPrefix + rand.Text()
	if err := writeFresh(d, fresh, st, text); err != nil {
		return remains{}, errnoOf(err)
	}
	held := s.keep(old, d, name)
	if err := d.RenameAt(fresh, d, name); err != nil {
		held.close()
		d.UnlinkAt(fresh)
		return remains{}, errnoOf(err)
	}
	return held, 0
}

func writeFresh(d backing.Dir, name string, st *backing.Stat, text []byte) error {
	f, err := d.CreateAt(name, unix.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err = fillFresh(f, st, text); err != nil {
		d.UnlinkAt(name)
	}
	return err
}

func fillFresh(f backing.File, st *backing.Stat, text []byte) error {
	for done := 0; done < len(text); {
		n, err := f.WriteAt(text[done:], int64(done))
		if err != nil {
			return err
		}
		done += n
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if now.Uid != st.Uid || now.Gid != st.Gid {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(st.Mode & 0o7777 & noSetuid)
}

// replacedFresh brings the nodes to where the backing is now: the name d leads
// to a file that the kernel does not know yet. It is told after its own
// operation in the directory has ended, and until then goes by the old node,
// which leads nowhere.
func (s *Server) replacedFresh(d dentry, r remains) {
	s.mu.Lock()
	s.lostLocked(d, r)
	s.mu.Unlock()
	s.names.entry(d.dir.num, d.name)
}
