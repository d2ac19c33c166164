package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// goneWithin bounds the wait for an unmounted view to leave the table.
const goneWithin = 10 * time.Second

// errNoFusermount says what to install: nothing else mounts and unmounts for
// an ordinary user.
var errNoFusermount = errors.New("fusermount3 not found; install fuse3: apt install fuse3")

func (a *app) umountCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "umount MOUNTPOINT",
		Short: "Unmount a view, also one that a dead daemon left behind",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return umount(args[0]) },
	}
}

// umount unmounts the view that is mounted on name and waits until it is gone.
func umount(name string) error {
	table, err := mountinfo.Read()
	if err != nil {
		return err
	}
	point, _, err := mountinfo.Locate(name, table)
	if err != nil {
		return err
	}
	m, ok := table.At(point)
	if !ok {
		return fmt.Errorf("%s is not a mountpoint", point)
	}
	if !m.Ours() {
		return fmt.Errorf("%s is a mount of type %s and not one of sandboxfs; use umount", point, m.Type)
	}
	err = detach(point, false)
	if errors.Is(err, unix.EBUSY) && mountinfo.Dead(point) {
		err = detach(point, true)
	}
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s is in use by %s; end what uses it and try again", point, describeUsers(point))
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", point, err)
	}
	return waitGone(m)
}

// detach unmounts point. Lazy takes it out of the tree at once, whoever still
// uses it. EBUSY stands for "in use", whichever way was taken.
func detach(point string, lazy bool) error {
	flags := unix.UMOUNT_NOFOLLOW
	if lazy {
		flags |= unix.MNT_DETACH
	}
	if err := unix.Unmount(point, flags); !errors.Is(err, unix.EPERM) {
		return err
	}
	return fusermount(point, lazy)
}

// fusermount unmounts point as an ordinary user may.
func fusermount(point string, lazy bool) error {
	args := []string{"-u", "--", point}
	if lazy {
		args = []string{"-u", "-z", "--", point}
	}
	cmd := exec.Command("fusermount3", args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	switch text := strings.TrimSpace(string(out)); {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return errNoFusermount
	case strings.Contains(text, "Device or resource busy"):
		return unix.EBUSY
	case text != "":
		return errors.New(text)
	}
	return err
}

func waitGone(m mountinfo.Mount) error {
	for end := time.Now().Add(goneWithin); ; time.Sleep(10 * time.Millisecond) {
		table, err := mountinfo.Read()
		if err != nil {
			return err
		}
		if !table.Has(m.ID) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is still mounted after %v", m.Point, goneWithin)
		}
	}
}
