package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func (h host) proc() finding {
	f := finding{Check: "/proc", State: stateOK, Detail: "mounted"}
	if _, err := h.table(); err != nil {
		f.State, f.Detail, f.Cure = stateFail, err.Error(), "mount -t proc proc /proc"
	}
	return f
}

// features of the kernel that the daemon uses where it finds them.
var features = []struct {
	name, release string
}{
	{"cached directories", "4.20"},
	{"no flush on read-only files", "5.16"},
}

func kernel() finding {
	f := finding{Check: "kernel", State: stateOK}
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	release := unix.ByteSliceToString(uts.Release[:])
	f.Detail = release
	for _, feature := range features {
		if !atLeast(release, feature.release) {
			f.State = stateWarn
			f.Detail += fmt.Sprintf("; without %s (needs %s)", feature.name, feature.release)
			f.Cure = "a newer kernel makes it faster; everything works as it is"
		}
	}
	return f
}

// atLeast reports whether a release such as "6.1.0-13-amd64" is the release
// oldest, such as "5.16", or newer. What cannot be read counts as older.
func atLeast(release, oldest string) bool {
	var is, want [2]int
	if n, _ := fmt.Sscanf(release, "%d.%d", &is[0], &is[1]); n != 2 {
		return false
	}
	fmt.Sscanf(oldest, "%d.%d", &want[0], &want[1])
	return slices.Compare(is[:], want[:]) >= 0
}

// openat2 tries the system call by which the daemon stays beneath its sources:
// a kernel before 5.6 lacks it, and so do the filters of old container runtimes.
func openat2() finding {
	f := finding{Check: "openat2", State: stateOK, Detail: "available"}
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		f.State, f.Detail = stateFail, err.Error()
		f.Cure = "Linux 5.6 or newer; in a container: a runtime whose seccomp filter knows openat2 (Docker 20.10, runc 1.0)"
		return f
	}
	unix.Close(fd)
	return f
}

// What the daemon wants to have without being slower or deaf.
const (
	wantWatches     = 8192
	wantDescriptors = 4096
)

func (h host) inotify() finding {
	f := finding{Check: "inotify", State: stateOK}
	data, err := os.ReadFile(h.sysctl + "/fs/inotify/max_user_watches")
	if err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	watches, err := strconv.Atoi(strings.TrimSpace(string(data)))
	f.Detail = fmt.Sprintf("%d watches", watches)
	if err != nil || watches < wantWatches {
		f.State = stateWarn
		f.Detail += ": edits of policies may go unheard"
		f.Cure = "sysctl fs.inotify.max_user_watches=524288"
	}
	return f
}

func descriptors() finding {
	f := finding{Check: "open files", State: stateOK}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		f.State, f.Detail = stateWarn, err.Error()
		return f
	}
	f.Detail = fmt.Sprintf("limit %d", limit.Cur)
	if limit.Cur < wantDescriptors {
		f.State = stateWarn
		f.Detail += ": programs that open many files at once will meet it"
		f.Cure = fmt.Sprintf("ulimit -n %d", wantDescriptors)
	}
	return f
}
