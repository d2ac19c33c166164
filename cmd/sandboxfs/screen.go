package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/runner"
)

// screen is the terminal of whoever called.
type screen struct {
	fd    int
	saved *unix.Termios // nil unless it is raw
	sizes chan runner.Size
	winch chan os.Signal
}

// screen returns the terminal that all three streams belong to, or nil. With
// one of them elsewhere, a terminal in the sandbox would mix up what is to be
// kept apart.
func (a *app) screen() *screen {
	for _, stream := range []any{a.stdin, a.stdout, a.stderr} {
		if !isTerminal(stream) {
			return nil
		}
	}
	return &screen{fd: int(a.stdin.(*os.File).Fd()), sizes: make(chan runner.Size, 1), winch: make(chan os.Signal, 1)}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// raw hands every key on as it is, until restore.
func (s *screen) raw() error {
	old, err := unix.IoctlGetTermios(s.fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t := *old
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(s.fd, unix.TCSETS, &t); err != nil {
		return err
	}
	s.saved = old
	signal.Notify(s.winch, unix.SIGWINCH)
	go s.follow()
	return nil
}

// follow passes the size on whenever it changes, until restore. Only the last
// one counts: it takes the place of one that nobody has read.
func (s *screen) follow() {
	for range s.winch {
		select {
		case <-s.sizes:
		default:
		}
		s.sizes <- s.size()
	}
}

// restore makes the terminal what it was before raw.
func (s *screen) restore() {
	signal.Stop(s.winch)
	close(s.winch)
	unix.IoctlSetTermios(s.fd, unix.TCSETS, s.saved)
}

func (s *screen) size() runner.Size {
	w, err := unix.IoctlGetWinsize(s.fd, unix.TIOCGWINSZ)
	if err != nil {
		return runner.Size{Width: 80, Height: 24}
	}
	return runner.Size{Width: uint(w.Col), Height: uint(w.Row)}
}
