package runner

import (
	"fmt"
	"os"
	"os/exec"
)

// procArgs are bubblewrap's options for /proc: a new one, which shows the
// sandbox alone, and that of the surrounding container only where WeakerNested
// allows it and the kernel refuses a new one.
func (l *Local) procArgs() []string {
	if l.WeakerNested && os.Geteuid() != 0 && !l.mountsProc() {
		return []string{"--ro-bind", "/proc", "/proc"}
	}
	return []string{"--proc", "/proc"}
}

// mountsProc tries whether a sandbox of this user can have a /proc of its own.
func (l *Local) mountsProc() bool {
	try := exec.Command(l.tools["bwrap"], "--unshare-user", "--unshare-pid", "--die-with-parent",
		"--ro-bind", "/", "/", "--proc", "/proc", "--", l.tools["env"], "--version")
	try.Dir, try.Env = "/", []string{}
	return try.Run() == nil
}

// explain adds to err, which says that there is no sandbox, what to do where it
// is /proc that is in the way.
func (l *Local) explain(err error) error {
	if os.Geteuid() == 0 || l.WeakerNested || l.mountsProc() {
		return err
	}
	return fmt.Errorf("%w; the kernel lets this user mount no /proc, as in most containers: enable_weaker_nested_sandbox: true, below docker in the profile, shows the container's instead", err)
}
