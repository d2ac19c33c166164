package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs/bazil"
	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// goneWithin bounds the wait for an unmounted view to leave the table.
const goneWithin = 10 * time.Second

func (a *app) umountCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "umount MOUNTPOINT",
		Short: "Unmount a view, also one that a dead daemon left behind",
		Args:  wants("MOUNTPOINT"),
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
	if uid := os.Geteuid(); uid != 0 && uid != m.UID {
		return fmt.Errorf("%s is a view of user %d, who can unmount it, and so can root", point, m.UID)
	}
	unix.Chdir("/") // this process may have been called within the view
	err = bazil.Unmount(point, false)
	if errors.Is(err, unix.EBUSY) && m.Dead() {
		err = bazil.Unmount(point, true)
	}
	switch {
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%s is in use by %s; end what uses it and try again", point, describeUsers(point))
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("fusermount3 not found; install fuse3: apt install fuse3")
	case err != nil:
		return err
	}
	return waitGone(m)
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
