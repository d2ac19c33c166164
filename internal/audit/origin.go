package audit

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// origin is where a process runs.
type origin struct {
	container string // the first twelve digits of its id; "" outside of one
	exec      string // id of the run; "" without
}

// origins finds where processes run, by what the kernel says of them. The
// container is that of the process's control group, which it cannot leave. The
// run is in the environment of the first process of an exec, which belongs to
// the runner: what a command sets in its own has no effect.
//
// The environment of the calling process itself is never read. The kernel locks
// its memory for that, and so it does while a page of a file is fetched from
// this daemon: each would wait for the other.
type origins struct {
	proc string

	mu    sync.Mutex
	known map[process]origin // guarded by mu; emptied when full
}

// process is a process or thread: ids are used again, but not at the same time.
type process struct {
	pid   int
	start string // since boot, in ticks
}

const (
	originsKnown  = 4096
	deepest       = 4096 // ancestors that are looked at
	environWithin = 100 * time.Millisecond
)

// execVariable is what package runner sets in the environment of an exec.
const execVariable = "SANDBOXFS_EXEC="

var (
	execID      = regexp.MustCompile(`^[A-Z2-7]{26}$`)
	containerID = regexp.MustCompile(`(?:/|-)([0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?$`)
)

// of returns the origin of a process, the zero one if it cannot be seen.
func (o *origins) of(pid uint32) origin {
	if pid == 0 {
		return origin{}
	}
	_, start, ok := o.stat(int(pid))
	if !ok {
		return origin{}
	}
	p := process{int(pid), start}
	o.mu.Lock()
	found, ok := o.known[p]
	o.mu.Unlock()
	if ok {
		return found
	}
	found = o.find(p.pid)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil || len(o.known) >= originsKnown {
		o.known = make(map[process]origin)
	}
	o.known[p] = found
	return found
}

func (o *origins) find(pid int) origin {
	found := origin{container: o.container(pid)}
	if first := o.first(pid); first != 0 {
		found.exec = o.mark(first)
	}
	return found
}

// container returns the innermost container that pid's control group names.
func (o *origins) container(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/cgroup", o.proc, pid))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if id := containerID.FindStringSubmatch(strings.TrimSuffix(line, "\n")); id != nil {
			return id[1]
		}
	}
	return ""
}

// first returns the topmost ancestor of pid that is in another pid namespace
// than this process, as everything in a sandbox is; 0 if pid itself is not.
func (o *origins) first(pid int) int {
	own, err := os.Readlink(o.proc + "/self/ns/pid")
	if err != nil {
		return 0
	}
	first := 0
	for range deepest {
		namespace, err := os.Readlink(fmt.Sprintf("%s/%d/ns/pid", o.proc, pid))
		if err != nil || namespace == own {
			break
		}
		first = pid
		parent, _, ok := o.stat(pid)
		if !ok || parent == 0 {
			break
		}
		pid = parent
	}
	return first
}

// mark returns the id of the run that the environment of pid tells. It gives up
// where that takes long, as a command could bring about that takes over a
// process of the runner's; the read ends when the operation on the view does.
func (o *origins) mark(pid int) string {
	read := make(chan []byte, 1)
	go func() {
		text, _ := os.ReadFile(fmt.Sprintf("%s/%d/environ", o.proc, pid))
		read <- text
	}()
	select {
	case text := <-read:
		for variable := range bytes.SplitSeq(text, []byte{0}) {
			if id, ok := bytes.CutPrefix(variable, []byte(execVariable)); ok && execID.Match(id) {
				return string(id)
			}
		}
	case <-time.After(environWithin):
	}
	return ""
}

// stat returns the parent of a process and when it was started: the fourth and
// the 22nd field. The second is a name in parentheses that may hold anything.
func (o *origins) stat(pid int) (parent int, start string, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("%s/%d/stat", o.proc, pid))
	if err != nil {
		return 0, "", false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[19], err == nil
}
