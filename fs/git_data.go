package fs

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/gitguard"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// gitFile is what a file is to git by one of its names.
type gitFile struct {
	kind gitguard.Name // that of the directory, where that is a closed one
	path vpath.Path
	dir  vpath.Path // that holds it
	copy bool       // a config.worktree that git makes by copying
}

// pointed is what a pointer in a directory held; from another one a relative
// target leads elsewhere.
type pointed struct {
	dir  vpath.Path
	text []byte
}

// gitFile returns what n is to git by the first of its names that git would
// read; false where there is none, and for every file without an odd name at
// the price of one load.
func (s *Server) gitFile(n *node) (gitFile, bool) {
	if !n.git.Load() {
		return gitFile{}, false
	}
	s.mu.RLock()
	names := append([]dentry(nil), n.names...)
	s.mu.RUnlock()
	for _, at := range names {
		f := gitFile{kind: gitguard.NameOf(at.name), dir: s.pathOf(at.dir)}
		f.path = f.dir.Join(at.name)
		if !s.gitOn(f.path) {
			continue
		}
		if closed := s.closes(at.dir, at.name); closed.Closed() {
			f.kind = closed
			return f, true
		}
		if f.kind == gitguard.Gitfile {
			return f, true
		}
		if !f.kind.Guarded() {
			continue
		}
		d, _, errno := s.holderOf(at)
		if errno == syscall.ESTALE {
			continue // the name is gone
		}
		if errno != 0 {
			return f, true
		}
		guarded := isGitDir(d, f.dir)
		f.copy = f.kind == gitguard.ConfigWorktree && isWorktree(d)
		d.release()
		if guarded {
			return f, true
		}
	}
	return gitFile{}, false
}

// guardOpen decides an open for writing.
func (s *Server) guardOpen(c *Caller, n *node, flags uint32) syscall.Errno {
	if !writes(flags) {
		return 0
	}
	f, ok := s.gitFile(n)
	if !ok || f.kind.Pointer() {
		return 0
	}
	return s.refuseData(c, f, policy.Write)
}

// refuseData settles a change of what git reads.
func (s *Server) refuseData(c *Caller, f gitFile, op policy.Op) syscall.Errno {
	message := configMessage
	switch {
	case f.kind.Closed():
		message = messages[f.kind]
	case f.kind.Pointer():
		message = "a pointer of git is written whole and at once, into an empty file"
	}
	return s.refuseGit(c, access{op: op, path: f.path}, "%s", message)
}

// guardWrite decides a write through h. Only a whole text into an empty file
// passes, and only where that is how git makes it: a pointer, or the copy of a
// config.worktree. Names and files are held still until release is called; it is
// nil for a file that means nothing to git.
func (s *Server) guardWrite(c *Caller, h *handle, p []byte, off int64, in WriteIn) (release func(), errno syscall.Errno) {
	if !h.node.git.Load() {
		return nil, 0
	}
	s.moves.Lock()
	f, ok := s.gitFile(h.node)
	if ok {
		errno = s.guardText(c, f, h, p, off)
	}
	if errno != 0 {
		s.moves.Unlock()
		if in.FromCache {
			s.notify.data(h.node.num) // the kernel shows what has not been written
		}
		return nil, errno
	}
	return s.moves.Unlock, 0
}

// guardText decides a write of p at off through h.
func (s *Server) guardText(c *Caller, f gitFile, h *handle, p []byte, off int64) syscall.Errno {
	if !f.kind.Pointer() && !f.copy || h.file == nil {
		return s.refuseData(c, f, policy.Write)
	}
	st, err := h.file.Stat()
	if err != nil {
		return errnoOf(err)
	}
	if st.Size != 0 || off != 0 || st.Nlink > 1 {
		return s.refuseData(c, f, policy.Write)
	}
	var present []byte
	if was := h.node.pointed.Load(); was != nil && was.dir == f.dir {
		present = was.text
	}
	if r := s.judge(f.kind, f.dir, present, p); r != nil {
		return s.refuseGit(c, access{op: policy.Write, path: f.path}, "%s:%v", f.path, r)
	}
	return 0
}

// guardSetattr decides a change of attributes. Names are held still.
func (s *Server) guardSetattr(c *Caller, n *node, in *SetattrIn) syscall.Errno {
	if in.Mode != nil {
		if errno := s.guardChange(c, n, policy.Chmod); errno != 0 {
			return errno
		}
	}
	if in.Size != nil {
		return s.guardTruncate(c, n, *in.Size)
	}
	return 0
}

// guardTruncate decides a change of n's size. Names are held still. A pointer is
// emptied before it is written anew; what it held is remembered, since it may be
// written again.
func (s *Server) guardTruncate(c *Caller, n *node, size uint64) syscall.Errno {
	f, ok := s.gitFile(n)
	if !ok {
		return 0
	}
	if !f.kind.Pointer() || size != 0 {
		return s.refuseData(c, f, policy.Truncate)
	}
	return s.withObject(n, func(obj backing.Object) error {
		st, err := obj.Stat()
		if err != nil || st.Size == 0 {
			return err
		}
		file, err := obj.Reopen(unix.O_RDONLY)
		if err != nil {
			return err
		}
		defer file.Close()
		text := make([]byte, gitguard.MaxPointer)
		got, err := file.ReadAt(text, 0)
		if err == nil {
			text = text[:got]
			n.pointed.Store(&pointed{f.dir, text})
		}
		return err
	})
}

// guardChange decides op on a file, which changes it in another way. All may be
// done to the attributes of a configuration: git tries them out.
func (s *Server) guardChange(c *Caller, n *node, op policy.Op) syscall.Errno {
	f, ok := s.gitFile(n)
	if !ok || op == policy.Chmod && !f.kind.Closed() {
		return 0
	}
	return s.refuseData(c, f, op)
}
