package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// namedUsers is how many processes a message names.
const namedUsers = 5

// process is one that uses a mount.
type process struct {
	pid  int
	name string // its command, as the kernel knows it
}

// describeUsers names the processes that keep point busy, as far as this
// process may see them.
func describeUsers(point string) string { return nameUsers(usersOf("/proc", point)) }

func nameUsers(users []process) string {
	if len(users) == 0 {
		return "a process that cannot be seen from here"
	}
	var names []string
	for _, p := range users[:min(len(users), namedUsers)] {
		names = append(names, fmt.Sprintf("%s (pid %d)", p.name, p.pid))
	}
	text := strings.Join(names, ", ")
	if more := len(users) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// usersOf returns the processes of which the current directory, the root, an
// open file or a mapping lies within point, by process id. It reads the names
// that proc shows and never looks at point itself.
func usersOf(proc, point string) []process {
	dirs, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	var users []process
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !uses(dir, point) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(dir, "comm"))
		users = append(users, process{pid, oneLine(strings.TrimSpace(string(name)))})
	}
	slices.SortFunc(users, func(a, b process) int { return a.pid - b.pid })
	return users
}

func uses(dir, point string) bool {
	fds, _ := filepath.Glob(filepath.Join(dir, "fd", "*"))
	for _, link := range append([]string{filepath.Join(dir, "cwd"), filepath.Join(dir, "root")}, fds...) {
		if target, err := os.Readlink(link); err == nil && mountinfo.Within(target, point) {
			return true
		}
	}
	maps, _ := os.ReadFile(filepath.Join(dir, "maps"))
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i >= 0 && mountinfo.Within(strings.TrimSpace(line[i:]), point) {
			return true
		}
	}
	return false
}
