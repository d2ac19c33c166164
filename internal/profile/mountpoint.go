package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// Mountpoint returns the host path, free of symbolic links, of the directory
// that name means, or why the profile cannot be mounted there: it must be an
// empty directory apart from every source. What is mounted inside its own
// source would wait for itself.
func (p *Profile) Mountpoint(name string) (string, error) {
	table, err := mountinfo.Read()
	if err != nil {
		return "", err
	}
	at, _, err := mountinfo.Locate(name, table)
	if errors.Is(err, unix.ENOENT) {
		return "", fmt.Errorf("the mountpoint %s does not exist; mkdir -p %s", name, name)
	}
	if err != nil {
		return "", fmt.Errorf("mountpoint: %w", err)
	}
	if m, ok := table.At(at); ok && m.Ours() {
		return "", taken(at)
	}
	if m, ok := p.Holds(at); ok {
		return "", fmt.Errorf("the mountpoint %s lies inside %s, the source of %s; choose one outside", at, m.Source, m.Target)
	}
	for _, m := range p.Mounts {
		if mountinfo.Within(m.Source, at) {
			return "", fmt.Errorf("the mountpoint %s holds %s, the source of %s; choose another one", at, m.Source, m.Target)
		}
	}
	return at, empty(at)
}

// Holds returns the first mount that shows the host path name, wherever that is
// mounted besides, and whether there is one. Name may not exist yet.
func (p *Profile) Holds(name string) (Mount, bool) {
	for _, m := range p.Mounts {
		source, err := os.Stat(m.Source)
		for dir := filepath.Clean(name); ; dir = filepath.Dir(dir) {
			if dir == m.Source {
				return m, true
			}
			if info, infoErr := os.Stat(dir); err == nil && infoErr == nil && os.SameFile(info, source) {
				return m, true
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return Mount{}, false
}

func taken(at string) error {
	if mountinfo.Dead(at) {
		return fmt.Errorf("%s is what a daemon that died has left; clear it with: sandboxfs umount %s", at, at)
	}
	return fmt.Errorf("%s is a view already; end it with: sandboxfs umount %s", at, at)
}

// empty reports why nothing can be mounted on dir: fusermount3 does not ask,
// and what is there would be out of sight.
func empty(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("the mountpoint %s cannot be read: %w", dir, reason(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		return fmt.Errorf("the mountpoint %s is a file; it must be an empty directory", dir)
	}
	switch _, err := f.Readdirnames(1); {
	case err == nil:
		return fmt.Errorf("the mountpoint %s is not empty; what is in it would be out of sight, so choose an empty directory", dir)
	case errors.Is(err, io.EOF):
		return nil
	default:
		return fmt.Errorf("the mountpoint %s cannot be read: %w", dir, reason(err))
	}
}
