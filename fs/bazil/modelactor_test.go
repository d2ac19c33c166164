package bazil

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// actorDir names the view on which a process of the model test acts.
const actorDir = "SANDBOXFS_TEST_ACTOR_DIR"

// slots is how many descriptors a process of the model test holds.
const slots = 3

// step is one thing that is done; which fields count depends on Do.
type step struct {
	Proc int          `json:",omitempty"`
	Do   string       //
	A    string       `json:",omitempty"` // path
	B    string       `json:",omitempty"` // second path, target of a link
	Slot int          `json:",omitempty"` // of a descriptor of the process
	Flag int          `json:",omitempty"` // of open
	Size int64        `json:",omitempty"` // or offset
	Mode uint32       `json:",omitempty"`
	Data string       `json:",omitempty"`
	Turn *modelPolicy `json:",omitempty"` // of a reload
}

// answered is what a process got for a step.
type answered struct {
	Errno unix.Errno
	Data  string
	Names []string
	Kind  byte
	Size  int64
	Mode  uint32
	Links uint64
}

// act is the process: it does what it reads, and writes what came of it.
func act(dir string) {
	unix.Umask(0)
	fds := [slots]int{-1, -1, -1}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var s step
		if err := in.Decode(&s); err == io.EOF {
			return
		} else if err != nil {
			fail(err)
		}
		var a answered
		err := a.do(dir, &s, &fds)
		if err != nil {
			var ok bool
			if a.Errno, ok = err.(unix.Errno); !ok {
				fail(err)
			}
		}
		fail(out.Encode(a))
	}
}

func (a *answered) do(dir string, s *step, fds *[slots]int) error {
	path, fd := dir+s.A, fds[s.Slot]
	switch s.Do {
	case "stat":
		var st unix.Stat_t
		err := unix.Lstat(path, &st)
		a.stat(&st)
		return err
	case "read":
		return withOpen(path, unix.O_RDONLY, func(fd int) error { return a.read(fd) })
	case "write", "append":
		flags := map[string]int{"write": unix.O_WRONLY | unix.O_TRUNC, "append": unix.O_WRONLY | unix.O_APPEND}[s.Do]
		return withOpen(path, flags, func(fd int) error { return wrote(unix.Write(fd, []byte(s.Data))) })
	case "truncate":
		return unix.Truncate(path, s.Size)
	case "mkdir":
		return unix.Mkdir(path, 0o755)
	case "rmdir":
		return unix.Rmdir(path)
	case "unlink":
		return unix.Unlink(path)
	case "rename":
		return unix.Rename(path, dir+s.B)
	case "link":
		return unix.Link(path, dir+s.B)
	case "symlink":
		return unix.Symlink(s.B, path)
	case "readlink":
		buf := make([]byte, 99)
		n, err := unix.Readlink(path, buf)
		a.Data = string(buf[:max(n, 0)])
		return err
	case "chmod":
		return unix.Chmod(path, s.Mode)
	case "setxattr":
		return unix.Setxattr(path, "user.x", []byte(s.Data), 0)
	case "getxattr":
		buf := make([]byte, 99)
		n, err := unix.Getxattr(path, "user.x", buf)
		a.Data = string(buf[:max(n, 0)])
		return err
	case "list":
		return withOpen(path, unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error { return a.list(fd) })
	case "open":
		unix.Close(fd)
		fds[s.Slot] = -1
		fd, err := unix.Open(path, s.Flag|unix.O_CLOEXEC, 0o644)
		fds[s.Slot] = fd
		return err
	case "close":
		unix.Close(fd)
		fds[s.Slot] = -1
		return nil
	case "fread":
		return a.read(fd)
	case "fwrite":
		return wrote(unix.Pwrite(fd, []byte(s.Data), s.Size))
	case "fstat":
		var st unix.Stat_t
		err := unix.Fstat(fd, &st)
		a.stat(&st)
		return err
	case "ftruncate":
		return unix.Ftruncate(fd, s.Size)
	case "fchmod":
		return unix.Fchmod(fd, s.Mode)
	}
	return fmt.Errorf("no step %q", s.Do)
}

func wrote(_ int, err error) error { return err }

func withOpen(path string, flags int, do func(fd int) error) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func (a *answered) stat(st *unix.Stat_t) {
	a.Kind = map[uint32]byte{unix.S_IFREG: 'f', unix.S_IFDIR: 'd', unix.S_IFLNK: 'l'}[st.Mode&unix.S_IFMT]
	a.Size, a.Mode, a.Links = st.Size, st.Mode&07777, uint64(st.Nlink)
}

func (a *answered) read(fd int) error {
	buf := make([]byte, 4096)
	n, err := unix.Pread(fd, buf, 0)
	a.Data = string(buf[:max(n, 0)])
	return err
}

func (a *answered) list(fd int) error {
	buf := make([]byte, 1<<16)
	n, err := unix.Getdents(fd, buf)
	if err == nil {
		_, _, a.Names = unix.ParseDirent(buf[:n], -1, nil)
		slices.Sort(a.Names)
	}
	return err
}

// actor is such a process as the test sees it.
type actor struct {
	in  *json.Encoder
	out *json.Decoder
}

func startActor(t *testing.T, dir string) *actor {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), actorDir+"="+dir, quickExit)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(t, err, nil, "pipe")
	out, err := cmd.StdoutPipe()
	check(t, err, nil, "pipe")
	check(t, cmd.Start(), nil, "start")
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("a process of the test: %v", err)
		}
	})
	return &actor{json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))}
}

func (a *actor) do(s *step) (got answered, err error) {
	if err := a.in.Encode(s); err != nil {
		return got, err
	}
	return got, a.out.Decode(&got)
}
