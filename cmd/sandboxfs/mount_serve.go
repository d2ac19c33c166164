package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/fs/bazil"
	"github.com/sandboxfs/sandboxfs/internal/audit"
	"github.com/sandboxfs/sandboxfs/metrics"
)

const (
	answerWithin = 10 * time.Second // the first answer of a view
	drainWithin  = 10 * time.Second // the last open files, after a signal
	idleWithin   = time.Second      // the kernel's end of a view that nobody uses
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
	tally   *tally     // of run; nil where refusals are printed as they come
	record  *record    // nil if it could not be written
	served  chan error // what Serve returned
	ended   atomic.Bool
	closers []func()

	dropping sync.Mutex
	left     bool // guarded by dropping: a container could not be removed
}

// daemon returns the daemon of p, which has not begun.
func (a *app) daemon(p *plan) *daemon {
	return &daemon{plan: p, app: a, log: a.logger(p.options.logFormat), served: make(chan error, 1)}
}

// serve mounts the view of p, says so, and returns when it is unmounted.
func (a *app) serve(p *plan, ready *readiness) error {
	d := a.daemon(p)
	defer d.close()
	d.warn()
	signals := catch() // before there is anything that a signal could leave behind
	defer signal.Stop(signals)
	if r, err := newRecord(record{Mountpoint: p.mountpoint, Profile: p.options.profile, Config: p.options.config}); err == nil {
		d.keep(r)
	} else {
		d.log.Warn("sandboxfs exec will not find this view", "err", err)
	}

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

// catch returns the signals that the daemon knows. SIGHUP is left ignored where
// nohup(1) has said so. SIGPIPE is ignored: the end of whoever reads stderr must
// not leave a dead mount behind.
func catch() chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // not Ignore, which children inherit
	return signals
}

// start mounts the view and keeps it up to date from then on. It returns the
// address of the metrics, "" for none.
func (d *daemon) start() (addr string, err error) {
	if addr, err = d.open(); err == nil {
		d.watch()
	}
	return addr, err
}

// open opens what the view needs, mounts it and waits for its first answer.
func (d *daemon) open() (addr string, err error) {
	registry := metrics.NewRegistry()
	d.metrics = metrics.New(registry, version)
	recorder, err := d.recorder()
	if err != nil {
		return "", err
	}
	if addr, err = d.listen(metrics.Handler(registry, d.healthy)); err != nil {
		return "", err
	}
	if err := d.mountView(recorder); err != nil {
		return "", err
	}
	if err := d.answers(); err != nil {
		d.mount.Unmount(true)
		return "", err
	}
	return addr, nil
}

// close undoes what start did, in reverse order.
func (d *daemon) close() {
	for i := len(d.closers) - 1; i >= 0; i-- {
		d.closers[i]()
	}
}

func (d *daemon) onClose(f func()) { d.closers = append(d.closers, f) }

// healthy is what /healthz says.
func (d *daemon) healthy() error {
	if d.ended.Load() {
		return errors.New("the view is unmounted")
	}
	return nil
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
	d.dropContainer()
	err := d.mount.Unmount(false)
	busy := errors.Is(err, unix.EBUSY)
	if busy {
		d.say("%s is in use by %s; it is detached, and its open files are waited for", d.mountpoint, describeUsers(d.mountpoint))
		err = d.mount.Unmount(true)
	}
	if err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: somebody else was faster
		return fmt.Errorf("%w; clear it with: sandboxfs umount %s", err, d.mountpoint)
	}
	late := time.After(drainWithin)
	idle := time.NewTicker(idleWithin)
	defer idle.Stop()
	for {
		select {
		case err := <-d.served:
			return err
		case <-idle.C:
			// A mount namespace that was copied while the view was mounted still has
			// it, and nobody there has a file open.
			if !busy && d.server.OpenHandles() == 0 {
				return nil
			}
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
