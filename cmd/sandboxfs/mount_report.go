package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/audit"
	"github.com/sandboxfs/sandboxfs/metrics"
)

// recorder returns the audit trail: the file, and the terminal.
func (d *daemon) recorder() (fs.Recorder, error) {
	var out io.Writer = d.app.stderr
	if d.options.logFormat == "json" {
		out = logLines{d.log}
	}
	var sink audit.Sink = d.tally
	if d.tally == nil {
		console := audit.NewConsole(out)
		d.onClose(console.Close)
		sink = console
	}
	if d.auditFile == "" {
		return audit.NewTrail("", d.profile.Dir(), sink), nil
	}
	file, err := audit.OpenLog(d.auditFile)
	if err != nil {
		return nil, err
	}
	d.audit = file
	d.onClose(func() { file.Close() })
	return audit.NewTrail("", d.profile.Dir(), file, sink), nil
}

// listen serves handler where the options say.
func (d *daemon) listen(handler http.Handler) (addr string, err error) {
	if d.options.metrics != "off" {
		endpoint, err := metrics.Serve(d.options.metrics, handler, d.log)
		if err != nil {
			return "", err
		}
		d.onClose(func() { endpoint.Close() })
		addr = endpoint.Addr()
	}
	if d.socket == "" {
		return addr, nil
	}
	listener, err := listenUnix(d.socket)
	if err != nil {
		return "", err
	}
	endpoint := metrics.ServeOn(listener, handler, d.log)
	d.onClose(func() { endpoint.Close() })
	return addr, nil
}

// listenUnix listens on a socket that only this user can reach, in place of
// one that a dead daemon left.
func listenUnix(name string) (net.Listener, error) {
	if conn, err := net.Dial("unix", name); err == nil {
		conn.Close()
		return nil, fmt.Errorf("socket %s: another daemon answers there", name)
	} else if errors.Is(err, unix.ECONNREFUSED) {
		if info, err := os.Lstat(name); err == nil && info.Mode().Type() == os.ModeSocket {
			os.Remove(name)
		}
	}
	// The mode must hold from the first moment, so it comes by the umask. That
	// is the process's, but nothing else makes files before the view is mounted.
	defer unix.Umask(unix.Umask(0o177))
	listener, err := net.Listen("unix", name)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, fmt.Errorf("socket %s: there is something of that name already; choose another, or remove it", name)
	case errors.Is(err, unix.EINVAL):
		return nil, fmt.Errorf("socket %s: the path is too long for a socket, which has room for 107 bytes; choose a shorter one", name)
	case err != nil:
		return nil, fmt.Errorf("socket %s: %w", name, err)
	}
	return listener, nil
}

// logger returns the log of the daemon's own events.
func (a *app) logger(format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(a.stderr, nil))
}

// warnings returns a log that leaves a terminal to the command on it unless
// something is wrong.
func (a *app) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// say writes one line to stderr, in the form of the log where that is for
// machines.
func (d *daemon) say(format string, args ...any) {
	if d.options.logFormat == "json" {
		d.log.Info(fmt.Sprintf(format, args...))
		return
	}
	d.app.complain(format, args...)
}

// warn says what is wrong with the profile and no error.
func (d *daemon) warn() {
	for _, r := range d.remarks {
		if r.Warning {
			d.say("%s", remarkLine(r))
		}
	}
}

// logLines turns lines that are written into records of a log.
type logLines struct{ log *slog.Logger }

func (l logLines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.log.Warn(strings.TrimSuffix(line, "\n"))
	}
	return len(p), nil
}
