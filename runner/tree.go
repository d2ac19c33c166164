package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tree is the processes of an exec as proc shows them: the first one, its
// descendants, and what carries the mark in the same pid namespace.
type tree struct {
	proc      string
	mark      []byte
	namespace string
	pids      map[int]bool
}

// killTree kills the process root, which must carry mark in its environment,
// and all of its tree. The processes are stopped first, until there is none
// that is not, since what is stopped cannot start another.
func killTree(proc string, root int, mark string) error {
	t := &tree{proc: proc, mark: []byte(mark), pids: map[int]bool{root: true}}
	if !t.marked(root) {
		return fmt.Errorf("process %d is not that of the exec; the engine runs elsewhere", root)
	}
	var err error
	if t.namespace, err = t.readNamespace(root); err != nil {
		return err
	}
	defer t.signal(unix.SIGKILL)
	if err := unix.Kill(root, unix.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", root, err)
	}
	for {
		found, err := t.grow()
		if err != nil {
			return err
		}
		if !found {
			return nil
		}
	}
}

// grow stops the processes of the tree that are not yet in it, and reports
// whether there was one.
func (t *tree) grow() (found bool, err error) {
	names, err := filepath.Glob(t.proc + "/[0-9]*")
	if err != nil {
		return false, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil || t.pids[pid] || !t.belongs(pid) {
			continue
		}
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			if errors.Is(err, unix.ESRCH) {
				continue
			}
			return false, fmt.Errorf("stop process %d: %w", pid, err)
		}
		if !t.belongs(pid) { // it ended, and another one has its number
			unix.Kill(pid, unix.SIGCONT)
			continue
		}
		t.pids[pid], found = true, true
	}
	return found, nil
}

// belongs reports whether pid is of the same pid namespace and either a child
// of the tree or marked.
func (t *tree) belongs(pid int) bool {
	namespace, err := t.readNamespace(pid)
	if err != nil || namespace != t.namespace {
		return false
	}
	return t.pids[t.parent(pid)] || t.marked(pid)
}

func (t *tree) readNamespace(pid int) (string, error) {
	return os.Readlink(fmt.Sprintf("%s/%d/ns/pid", t.proc, pid))
}

func (t *tree) marked(pid int) bool {
	env, err := os.ReadFile(fmt.Sprintf("%s/%d/environ", t.proc, pid))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(v, t.mark) {
			return true
		}
	}
	return false
}

// parent reads the fourth field of stat; the second is a name in parentheses
// that may itself hold blanks and parentheses.
func (t *tree) parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", t.proc, pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	if fields := strings.Fields(after); len(fields) > 1 {
		ppid, _ := strconv.Atoi(fields[1])
		return ppid
	}
	return 0
}

func (t *tree) signal(s unix.Signal) {
	for pid := range t.pids {
		unix.Kill(pid, s)
	}
}
