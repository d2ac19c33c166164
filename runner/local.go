package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile/mountinfo"
)

// ErrLocal is that this host cannot make sandboxes without an engine.
var ErrLocal = errors.New("no local sandbox")

// Local runs each command in a sandbox of its own, made of namespaces of this
// host by bubblewrap. The command sees the host's programs and libraries
// read-only, its binds, and empty directories for what is temporary; it has no
// capability, gains none, and cannot make namespaces of its own. A process that
// it leaves behind ends with it.
//
// There is no limit to its memory, and of the networks there is no isolated one.
type Local struct {
	// WeakerNested lets an ordinary user make sandboxes within a container whose
	// /proc is not whole, where the kernel lets nobody without rights mount a new
	// one: the sandbox then shows that of the container, other processes
	// included. Their files and memory stay closed, since the sandbox is a user
	// namespace of its own. Root can mount one, and never shows another.
	WeakerNested bool

	limits Limits
	tools  map[string]string // host paths by name
}

// localTools are the programs that make a sandbox, and what to install for them.
var localTools = []struct{ name, pkg string }{
	{"bwrap", "bubblewrap"}, {"setpriv", "util-linux"}, {"prlimit", "util-linux"}, {"setsid", "util-linux"}, {"env", "coreutils"},
}

// NewLocal returns a runner of this host. Of limits it knows Pids and Tmpfs. Its
// error says what to install.
func NewLocal(limits Limits) (*Local, error) {
	l := &Local{limits: Settings{Limits: limits}.withDefaults().Limits, tools: map[string]string{}}
	for _, t := range localTools {
		file, err := exec.LookPath(t.name)
		if err != nil {
			return nil, fmt.Errorf("%w: %s not found; install %s: apt install %s", ErrLocal, t.name, t.pkg, t.pkg)
		}
		l.tools[t.name] = file
	}
	return l, nil
}

// LocalUser returns the user that sandboxes of this host run as: this one, and
// DefaultUser for root.
func LocalUser() string {
	if os.Geteuid() == 0 {
		return DefaultUser
	}
	return fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())
}

// Run runs cmd in a sandbox of its own and returns when every process in it is
// gone. Signals that come are sent to the command and those that share its
// process group, or are in the foreground of its terminal. When ctx is done or
// the time is over, all are killed; the error is then that of ctx, or
// ErrTimeout. If this process dies, they are killed, too.
func (l *Local) Run(ctx context.Context, spec Spec, cmd Cmd, signals <-chan unix.Signal) (Result, error) {
	if len(cmd.Args) == 0 {
		return Result{}, errors.New("run: no command")
	}
	b, err := l.box(spec, cmd)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := cmd.within(ctx)
	defer cancel()
	started := time.Now()
	p, err := l.start(b, cmd)
	if err != nil {
		return Result{}, fmt.Errorf("run in a local sandbox: %w", err)
	}
	err = p.wait(ctx, signals)
	if errors.Is(err, ErrLocal) {
		err = l.explain(err)
	}
	return Result{
		Exec: b.mark, ExitCode: p.exitCode, Duration: time.Since(started),
		CutStdout: p.out.cut(), CutStderr: p.err.cut(),
	}, err
}

// box is a sandbox as it is to be.
type box struct {
	spec  Spec
	mark  string // what its processes carry in their environment
	binds []Bind // with sources that were looked at
	env   []string
	dir   string

	terminal bool
}

// box checks spec and cmd. Nothing is made yet.
func (l *Local) box(spec Spec, cmd Cmd) (*box, error) {
	fill(&spec.User, LocalUser())
	spec = spec.withDefaults()
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 && spec.User != LocalUser() {
		return nil, fmt.Errorf("%w for user %s: an ordinary user has them for itself alone (%s)", ErrLocal, spec.User, LocalUser())
	}
	if uid, _, _ := strings.Cut(spec.User, ":"); os.Geteuid() == 0 && uid == "0" {
		return nil, fmt.Errorf("%w for root, who owns much of this host even without capabilities; let owner be another user, or use containers", ErrLocal)
	}
	if spec.Network == NetworkIsolated {
		return nil, fmt.Errorf("%w on the network %s, which needs a container engine and an image; choose off or local, or name an image", ErrLocal, spec.Network)
	}
	b := &box{spec: spec, mark: rand.Text(), dir: spec.Dir, terminal: cmd.Terminal != nil}
	if cmd.Dir != "" {
		b.dir = cmd.Dir
	}
	table, err := mountinfo.Read()
	if err != nil {
		return nil, err
	}
	for _, bind := range spec.Binds {
		if bind.Source, err = localSource(bind, table); err != nil {
			return nil, err
		}
		b.binds = append(b.binds, bind)
	}
	b.env, err = localEnv(append(cmd.Env, execVariable+"="+b.mark))
	return b, err
}

// localSource checks that b lies within a view whose daemon answers, and
// returns its source without symbolic links.
func localSource(b Bind, table mountinfo.Table) (string, error) {
	at, _, err := mountinfo.Locate(b.Source, table)
	if err == nil {
		err = answers(at)
	}
	if err != nil {
		return "", fmt.Errorf("bind on %s: %w", b.Target, err)
	}
	if !b.Plain && !table.On(at).Ours() {
		return "", fmt.Errorf("bind on %s: %s is a directory of the host and not within a view", b.Target, b.Source)
	}
	return at, nil
}

// localEnv is the whole environment of a command. The dynamic linker's variables
// would work on the programs that make the sandbox, too.
func localEnv(env []string) ([]string, error) {
	for _, e := range env {
		name, _, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not NAME=value", e)
		}
		if strings.HasPrefix(name, "LD_") || name == "GLIBC_TUNABLES" {
			return nil, fmt.Errorf("%s must be set by the command itself: env %s=… COMMAND", name, name)
		}
	}
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=/tmp"}, env...), nil
}
