package runner

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal for a sandbox. It is never given the caller's
// own, which could be made to type into the shell that called.
type terminal struct {
	master, slave *os.File

	copied chan struct{} // closed when all output is passed on
	closed chan struct{}
}

// openTerminal makes a terminal that belongs to user.
func openTerminal(size Size, user string) (*terminal, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	t := &terminal{master: os.NewFile(uintptr(fd), "/dev/ptmx"), copied: make(chan struct{}), closed: make(chan struct{})}
	if t.slave, err = openSlave(fd, user); err != nil {
		t.master.Close()
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	t.resize(size)
	return t, nil
}

func openSlave(master int, user string) (*os.File, error) {
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	number, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	uid, gid, _ := strings.Cut(user, ":")
	u, _ := strconv.Atoi(uid)
	g, _ := strconv.Atoi(gid)
	if os.Geteuid() == 0 {
		err = slave.Chown(u, g)
	}
	return slave, err
}

// start copies until the terminal is closed.
func (t *terminal) start(stdin io.Reader, stdout io.Writer, sizes <-chan Size) {
	if stdin != nil {
		go io.Copy(t.master, stdin)
	}
	go func() {
		io.Copy(stdout, t.master) // ends with EIO when nobody has the slave open
		close(t.copied)
	}()
	go t.follow(sizes)
}

// follow takes over sizes, until there are no more or the terminal is closed.
func (t *terminal) follow(sizes <-chan Size) {
	for {
		select {
		case size, ok := <-sizes:
			if !ok {
				return
			}
			t.resize(size)
		case <-t.closed:
			return
		}
	}
}

func (t *terminal) resize(s Size) {
	t.control(func(fd int) {
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(s.Height), Col: uint16(s.Width)})
	})
}

// foreground is the process group that the terminal's keys would signal.
func (t *terminal) foreground() (group int) {
	t.control(func(fd int) { group, _ = unix.IoctlGetInt(fd, unix.TIOCGPGRP) })
	return group
}

// control calls do with the descriptor, unless the terminal is closed.
func (t *terminal) control(do func(fd int)) {
	if conn, err := t.master.SyscallConn(); err == nil {
		conn.Control(func(fd uintptr) { do(int(fd)) })
	}
}

// close ends the copying after the last output.
func (t *terminal) close() {
	<-t.copied
	close(t.closed)
	t.master.Close()
}
