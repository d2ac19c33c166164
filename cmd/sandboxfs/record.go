package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// record says which view is mounted where, for commands that come later. The
// daemon that wrote it holds a lock on it as long as it lives, so that a dead
// one's is known whatever has its process id by then.
type record struct {
	ID         string `json:"id"`
	Mountpoint string `json:"mountpoint"`
	Private    bool   `json:"private"` // the mountpoint was made for it and goes with it
	Profile    string `json:"profile"`
	Config     string `json:"config,omitempty"`

	file string   // host path
	lock *os.File // nil if it is another process's
	dead bool     // nobody holds the lock
}

// runtimeDirs are the directories where this user's daemons may keep records,
// the one to write to first. All belong to this user alone.
func runtimeDirs() []string {
	uid := os.Geteuid()
	var dirs []string
	if dir := sharedRuntimeDir(uid); dir != "" {
		dirs = append(dirs, dir)
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && ownedBy(dir, uid) {
		dirs = append(dirs, filepath.Join(dir, "sandboxfs"))
	}
	if uid == 0 {
		dirs = append(dirs, "/run/sandboxfs")
	} else {
		dirs = append(dirs, fmt.Sprintf("/run/user/%d/sandboxfs", uid), fmt.Sprintf("%s/sandboxfs-%d", os.TempDir(), uid))
	}
	return slices.Compact(dirs)
}

// runtimeDir makes the directory of records where it is missing, and returns it
// without symbolic links.
func runtimeDir() (string, error) {
	var errs []error
	for _, dir := range runtimeDirs() {
		err := os.Mkdir(dir, 0o700)
		if err != nil && !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
			continue
		}
		if !ownedBy(dir, os.Geteuid()) {
			return "", fmt.Errorf("%s is not a directory of this user; remove it", dir)
		}
		return filepath.EvalSymlinks(dir)
	}
	return "", fmt.Errorf("%w; let XDG_RUNTIME_DIR be a directory of yours", errors.Join(errs...))
}

// ownedBy reports whether name is a directory, and no link, of that user.
func ownedBy(name string, uid int) bool {
	var st unix.Stat_t
	return unix.Lstat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR && int(st.Uid) == uid
}

// newRecord writes and locks the record of a view that is about to be mounted.
// Without a mountpoint it makes one of its own.
func newRecord(r record) (*record, error) {
	dir, err := runtimeDir()
	if err != nil {
		return nil, err
	}
	r.Profile = lasting(r.Profile)
	if r.Config, err = absolute(r.Config); err != nil {
		return nil, err
	}
	r.ID = strings.ToLower(rand.Text()[:10])
	r.Private = r.Mountpoint == ""
	if r.Private {
		r.Mountpoint = filepath.Join(dir, r.ID)
	}
	r.file = filepath.Join(dir, r.ID+".json")
	if err := r.write(filepath.Join(dir, "."+r.ID)); err != nil {
		return nil, err
	}
	if r.Private {
		err = os.Mkdir(r.Mountpoint, 0o700)
	}
	if err != nil {
		r.remove()
		return nil, err
	}
	return &r, nil
}

// lasting returns what names a profile as it does from any other directory.
func lasting(name string) string {
	if _, err := os.Stat(name); err != nil && !strings.ContainsRune(name, '/') && filepath.Ext(name) == "" {
		return name
	}
	if at, err := filepath.Abs(name); err == nil {
		return at
	}
	return name
}

// write writes the record under a name that nobody reads, and gives it its own
// when it is locked.
func (r *record) write(draft string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(draft, r.file)
	}
	if err != nil {
		f.Close()
		os.Remove(draft)
		return err
	}
	r.lock = f
	return nil
}

// remove removes the record and the private mountpoint, which must not be
// mounted any more.
func (r *record) remove() error {
	var err error
	if r.Private {
		err = os.Remove(r.Mountpoint)
	}
	if err == nil || errors.Is(err, os.ErrNotExist) {
		os.Remove(r.containerMark())
		os.RemoveAll(r.ground())
		err = os.Remove(r.file)
	}
	if errors.Is(err, os.ErrNotExist) { // somebody else clears up as well
		err = nil
	}
	if r.lock != nil {
		r.lock.Close()
	}
	return err
}

// containerMark is the file that says that the view has a container: the
// engine's socket, empty for the default one, and the image that a command line
// named, a line each.
func (r *record) containerMark() string { return strings.TrimSuffix(r.file, ".json") + ".container" }

// noteContainer says that the view has a container, or is about to get one. An
// image is given when there is one of it.
func (r *record) noteContainer(socket, image string) error {
	f, err := os.OpenFile(r.containerMark(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(socket + "\n" + image + "\n") // not truncated before, as others read it
	return errors.Join(err, f.Close())
}

// container returns what noteContainer said last.
func (r *record) container() (socket, image string, ok bool) {
	text, err := os.ReadFile(r.containerMark())
	lines := strings.SplitN(string(text)+"\n\n", "\n", 3)
	return lines[0], lines[1], err == nil
}

// ground is the directory that a self-test makes its sources in.
func (r *record) ground() string { return strings.TrimSuffix(r.file, ".json") + ".selftest" }

// recordID returns the id of the view that a session of the runner belongs to. A
// command with a container of its own adds a word.
func recordID(session string) string {
	id, _, _ := strings.Cut(session, "-")
	return id
}

// records returns the records of this user in dirs, dead ones included.
func records(dirs ...string) []*record {
	var found []*record
	for _, dir := range dirs {
		if !ownedBy(dir, os.Geteuid()) {
			continue // what somebody else wrote would say what is removed
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		for _, file := range files {
			if r := readRecord(file); r != nil && !slices.ContainsFunc(found, func(o *record) bool { return o.ID == r.ID }) {
				found = append(found, r)
			}
		}
	}
	return found
}

// readRecord returns nil for what is no record, or no longer one.
func readRecord(file string) *record {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	r := &record{file: file}
	if json.NewDecoder(f).Decode(r) != nil || r.ID+".json" != filepath.Base(file) {
		return nil
	}
	r.dead = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil
	return r
}
