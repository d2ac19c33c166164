package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/fs/bazil"
	"github.com/sandboxfs/sandboxfs/internal/audit"
	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/overlay"
)

const (
	answerWithin = 10 * time.Second // the first answer of a view
	drainWithin  = 10 * time.Second // the last open files, after a signal
)

// daemon is a view that is being served, and all that serves it. What it opens
// it closes in reverse order.
type daemon struct {
	*plan
	app *app
	log *slog.Logger

	metrics *metrics.Metrics
	server  *fs.Server
	mount   *bazil.Mount
	audit   *audit.Log // nil without an audit file
	served  chan error // what Serve returned
	ended   atomic.Bool
	closers []func()
}

// serve mounts the view of p, says so, and returns when it is unmounted.
func (a *app) serve(p *plan, ready *readiness) error {
	d := &daemon{plan: p, app: a, log: a.logger(p.options.logFormat), served: make(chan error, 1)}
	defer d.close()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	defer signal.Stop(signals)

	addr, err := d.start()
	if err != nil {
		return err
	}
	d.say("%s", p.summary(addr))
	if err := ready.announce(a.stdout, p.mountpoint); err != nil {
		d.log.Error("nobody waits for the view any more", "err", err)
		return d.drain(signals)
	}
	return d.wait(signals)
}

// start opens what the view needs, mounts it and waits for its first answer.
// It returns the address of the metrics, "" for none.
func (d *daemon) start() (addr string, err error) {
	registry := metrics.NewRegistry()
	d.metrics = metrics.New(registry, version)
	recorder, err := d.recorder()
	if err != nil {
		return "", err
	}
	handler := metrics.Handler(registry, d.healthy)
	if addr, err = d.listen(handler); err != nil {
		return "", err
	}
	if err := d.mountView(recorder); err != nil {
		return "", err
	}
	if err := d.answers(); err != nil {
		d.mount.Unmount(true)
		return "", err
	}
	d.watch()
	return addr, nil
}

// close undoes what start did, in reverse order.
func (d *daemon) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

func (d *daemon) onClose(f func()) { d.closers = append(d.closers, f) }

// recorder returns the audit trail: the file, and the terminal.
func (d *daemon) recorder() (fs.Recorder, error) {
	var out io.Writer = d.app.stderr
	if d.options.logFormat == "json" {
		out = logLines{d.log}
	}
	console := audit.NewConsole(out)
	d.onClose(console.Close)
	if d.plan.audit == "" {
		return audit.NewTrail("", console), nil
	}
	file, err := audit.OpenLog(d.plan.audit)
	if err != nil {
		return nil, err
	}
	d.audit = file
	d.onClose(func() { file.Close() })
	return audit.NewTrail("", file, console), nil
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
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	d.onClose(func() { server.Close() })
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
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", name, err)
	}
	return listener, nil
}

// healthy is what /healthz says.
func (d *daemon) healthy() error {
	if d.ended.Load() {
		return errors.New("the view is unmounted")
	}
	return nil
}

// mountView opens the sources and mounts the view.
func (d *daemon) mountView(recorder fs.Recorder) error {
	trees, err := openTrees(d.view.Mounts())
	if err != nil {
		return err
	}
	d.server, err = fs.NewServer(fs.Config{
		View: d.view, Trees: trees, Recorder: recorder, Metrics: d.metrics, Log: d.log,
		Symlinks: symlinks[d.profile.Symlinks], Owner: owner(d.profile), Mountpoint: d.mountpoint,
	})
	if err != nil {
		closeTrees(trees)
		return err
	}
	d.mount, err = bazil.New(d.mountpoint, d.server, bazil.Options{
		FSName: d.profile.Name, AllowOther: d.allowOther(), Metrics: d.metrics, Log: d.log,
	})
	if err != nil {
		d.server.Close()
		return mountError(d.mountpoint, err)
	}
	d.onClose(d.closeServer)
	go func() {
		err := d.mount.Serve()
		d.ended.Store(true)
		d.served <- err
	}()
	return nil
}

// closeServer closes the server unless requests are under way, which happens
// only when the program is about to end without having waited for them.
func (d *daemon) closeServer() {
	if d.ended.Load() {
		d.server.Close()
	}
}

// mountError says what to do about what mounting failed of.
func mountError(mountpoint string, err error) error {
	if _, statErr := os.Stat("/dev/fuse"); errors.Is(statErr, os.ErrNotExist) {
		return errors.New("/dev/fuse does not exist; modprobe fuse, or in a container: docker run --device /dev/fuse --cap-add SYS_ADMIN")
	}
	return fmt.Errorf("mount %s: %w (sandboxfs doctor tells what is missing)", mountpoint, err)
}

var symlinks = map[profile.Symlinks]fs.Symlinks{
	profile.SymlinksFollow: fs.SymlinksFollow,
	profile.SymlinksInside: fs.SymlinksInside,
	profile.SymlinksReject: fs.SymlinksReject,
}

func owner(p *profile.Profile) *fs.Owner {
	if p.Owner == nil {
		return nil
	}
	return &fs.Owner{Uid: p.Owner.UID, Gid: p.Owner.GID}
}

// allowOther reports whether other users can be let in.
func (d *daemon) allowOther() bool {
	const conf = "/etc/fuse.conf"
	if os.Geteuid() == 0 || userAllowOther(conf) {
		return true
	}
	d.say("note: only this user sees the view, because user_allow_other is not set in %s", conf)
	return false
}

// openTrees opens the sources of mounts, by the same index.
func openTrees(mounts []overlay.Mount) ([]backing.Tree, error) {
	trees := make([]backing.Tree, len(mounts))
	for i, m := range mounts {
		var err error
		switch m.Kind {
		case overlay.KindDir:
			trees[i], err = backing.Open(m.Source)
		case overlay.KindFile, overlay.KindSymlink:
			trees[i], _, err = backing.OpenFile(m.Source)
		}
		if err != nil {
			closeTrees(trees)
			return nil, fmt.Errorf("mount %s: %w", m.Target, err)
		}
	}
	return trees, nil
}

func closeTrees(trees []backing.Tree) {
	for _, t := range trees {
		if t != nil {
			t.Close()
		}
	}
}

// answers waits for the first answer of the view.
func (d *daemon) answers() error {
	answer := make(chan error, 1)
	go func() {
		var st unix.Stat_t
		answer <- unix.Stat(d.mountpoint, &st)
	}()
	select {
	case err := <-answer:
		if err != nil {
			return fmt.Errorf("the view at %s does not answer: %w", d.mountpoint, err)
		}
		return nil
	case err := <-d.served:
		return fmt.Errorf("the view at %s ended before its first answer: %v", d.mountpoint, err)
	case <-time.After(answerWithin):
		return fmt.Errorf("the view at %s does not answer within %v", d.mountpoint, answerWithin)
	}
}

// wait serves until a signal or until somebody unmounts the view.
func (d *daemon) wait(signals <-chan os.Signal) error {
	for {
		select {
		case err := <-d.served:
			return err
		case s := <-signals:
			if s != syscall.SIGUSR1 {
				return d.drain(signals)
			}
			if d.audit == nil {
				continue
			}
			if err := d.audit.Reopen(); err != nil {
				d.log.Error("the audit file cannot be opened anew; the old one stays", "err", err)
			}
		}
	}
}

// drain unmounts and waits for the last open files. A second signal ends it at
// once.
func (d *daemon) drain(signals <-chan os.Signal) error {
	err := d.mount.Unmount(false)
	if errors.Is(err, unix.EBUSY) {
		d.say("%s is in use by %s; it is detached, and its open files are waited for", d.mountpoint, describeUsers(d.mountpoint))
		err = d.mount.Unmount(true)
	}
	if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: somebody else was faster
		return fmt.Errorf("%w; clear it with: sandboxfs umount %s", err, d.mountpoint)
	}
	late := time.After(drainWithin)
	for {
		select {
		case err := <-d.served:
			return err
		case s := <-signals:
			if s == syscall.SIGUSR1 {
				continue
			}
			return errors.New("ended by a second signal; whoever still uses the view is cut off")
		case <-late:
			return fmt.Errorf("ended after %v; whoever still uses the view is cut off", drainWithin)
		}
	}
}

// logger returns the log of the daemon's own events.
func (a *app) logger(format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(a.stderr, nil))
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

// logLines turns lines that are written into records of a log.
type logLines struct{ log *slog.Logger }

func (l logLines) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		l.log.Warn(strings.TrimSuffix(line, "\n"))
	}
	return len(p), nil
}
