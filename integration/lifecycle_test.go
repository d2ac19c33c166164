package integration

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKill9 has umount clear what a killed daemon left, and mount work again.
func TestKill9(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	fd, err := unix.Open(m.Path+"/f", unix.O_RDWR, 0)
	must(t, err)
	defer unix.Close(fd)
	m.kill9()
	wantErrno(t, "open on a dead mount", open(unix.O_RDONLY)(m.Path+"/f"), unix.ENOTCONN)
	_, errs, code := sandboxfs("exec", m.Path, "--", "true")
	wantComplaint(t, "exec on a dead mount", errs, code, 1, "has died; clear it with: sandboxfs gc")
	if _, errs, code := sandboxfs("umount", m.Path); code != 0 {
		t.Fatalf("umount of a dead mount = exit %d: %s", code, errs)
	}
	if left := mountsBelow(m.Path); len(left) > 0 {
		t.Fatalf("after umount: %v", left)
	}
	again := w.view(allowAll)
	if got := read(t, again.Path+"/f"); got != "x" {
		t.Errorf("read(/f) on the second mount = %q, want x", got)
	}
}

// TestTerminate has SIGTERM, SIGINT and the end of the terminal take the mount
// away at once, serve files that are open until they are closed, and then end in
// good order.
func TestTerminate(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			w := newWorld(t)
			m := w.view(allowAll)
			f, err := os.Create(m.Path + "/f")
			must(t, err)
			defer f.Close()
			_, err = f.WriteString("before, ")
			must(t, err)
			m.cmd.Process.Signal(signal)
			eventually(t, "the mount is gone", func() error {
				if left := mountsBelow(m.Path); len(left) > 0 {
					return fmt.Errorf("%v", left)
				}
				return nil
			})
			_, err = f.WriteString("after")
			wantErrno(t, "write to a file that is still open", err, 0)
			must(t, f.Close())
			if err := m.wait(); err != nil {
				t.Errorf("%v, then close: %v\n%s", signal, err, m.output.text())
			}
			if got := read(t, w.path("root/f")); got != "before, after" {
				t.Errorf("backing = %q, want what was written before and after", got)
			}
			if got := names(t, m.Path); len(got) != 0 {
				t.Errorf("the mountpoint holds %q afterwards, want nothing", got)
			}
		})
	}
}

// TestForeignNamespace has a daemon end though a mount namespace, copied while
// the view was mounted, still holds it, as any container that starts does.
func TestForeignNamespace(t *testing.T) {
	needRoot(t)
	m := newWorld(t).view(allowAll)
	holder := command{}.cmd(t.Context(), "unshare", "--mount", "--propagation", "private", "sh", "-c", "echo copied; exec sleep 1000")
	out, err := holder.StdoutPipe()
	must(t, err)
	must(t, holder.Start())
	defer func() { holder.Process.Kill(); holder.Wait() }()
	_, err = out.Read(make([]byte, 1))
	must(t, err)
	m.cmd.Process.Signal(syscall.SIGTERM)
	if err := m.wait(); err != nil {
		t.Errorf("SIGTERM: %v\n%s", err, m.output.text())
	}
}

// TestOutputGoesAway has a daemon live on when whoever read its output has
// gone, as at the end of "sandboxfs mount … | head".
func TestOutputGoesAway(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	w.policy("agent", rule("no", "deny", "create", "/no*"), allowAll)
	profile, mountpoint := w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"), w.mkdir("mnt")
	t.Cleanup(func() { sweep(w.Dir) })
	r, out, err := os.Pipe()
	must(t, err)
	cmd := command{dir: w.Dir}.cmd(t.Context(), executable, "mount", "--metrics", "off", profile, mountpoint)
	cmd.Stdout, cmd.Stderr = out, out
	must(t, cmd.Start())
	out.Close()
	eventually(t, "mounted", func() error { return differs(mountpoint+"/f", "x") })
	r.Close()
	for i := range 20 {
		wantErrno(t, "a denial that nobody reads", open(unix.O_CREAT|unix.O_WRONLY)(fmt.Sprintf("%s/no%d", mountpoint, i)), unix.EACCES)
	}
	if err := differs(mountpoint+"/f", "x"); err != nil {
		t.Error(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
}

// TestUmount has umount end the daemon, refuse a mount in use and what is no
// mount, each with one clear line.
func TestUmount(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	f, err := os.Open(m.Path + "/f")
	must(t, err)
	if os.Geteuid() == 0 {
		_, errs, code := command{uid: 1000}.try(executable, "umount", m.Path)
		wantComplaint(t, "umount by another user", errs, code, 1, "is a view of user 0")
	}
	_, errs, code := sandboxfs("umount", m.Path)
	wantComplaint(t, "umount of a busy mount", errs, code, 1, "in use")
	must(t, f.Close())
	within := command{dir: m.Path} // its own directory keeps no view busy
	if _, errs, code := within.try(executable, "umount", "."); code != 0 {
		t.Errorf("umount = exit %d: %s", code, errs)
	}
	if err := m.wait(); err != nil {
		t.Errorf("after umount: %v", err)
	}
	_, errs, code = sandboxfs("umount", m.Path)
	wantComplaint(t, "umount of what is no mount", errs, code, 1, "not a mountpoint")
}

// TestMountAtOnce starts daemons on one mountpoint at the same moment: one gets it.
func TestMountAtOnce(t *testing.T) {
	w := newWorld(t)
	profile, mountpoint := w.profile(goodProfile), w.mkdir("mnt")
	t.Cleanup(func() { sweep(w.Dir) })
	for range 5 {
		codes := make(chan int)
		for range 4 {
			go func() {
				_, _, code := sandboxfs("mount", "--background", "--metrics", "off", profile, mountpoint)
				codes <- code
			}()
		}
		ready := 0
		for range 4 {
			if <-codes == 0 {
				ready++
			}
		}
		if got := len(mountsBelow(mountpoint)); ready != 1 || got != 1 {
			t.Errorf("%d of 4 daemons are ready, with %d mounts, want 1 and 1", ready, got)
		}
		if _, errs, code := sandboxfs("umount", mountpoint); code != 0 {
			t.Fatalf("umount = exit %d: %s", code, errs)
		}
	}
	eventually(t, "the daemons end", func() error {
		if left := leftovers(w.Dir); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}

// TestMountTwice has a mountpoint that is one already refused.
func TestMountTwice(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	_, errs, code := sandboxfs("mount", "--metrics", "off", w.path("profile.yaml"), m.Path)
	wantComplaint(t, "second mount on one mountpoint", errs, code, 1, m.Path)
	if got := read(t, m.Path+"/f"); got != "x" {
		t.Errorf("the first mount then reads %q, want x", got)
	}
}

// TestTwoDaemons has two daemons on one project live side by side, one seeing
// what the other does, and the end of one leave the other alone.
func TestTwoDaemons(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	w.policy("agent", allowAll)
	profile := w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n")
	one, two := w.mount(profile, onto("mnt-one")), w.mount(profile, onto("mnt-two"))
	must(t, os.WriteFile(one.Path+"/f", []byte("from one"), 0o644))
	eventually(t, "the other view sees a write", func() error { return differs(two.Path+"/f", "from one") })
	must(t, os.Rename(two.Path+"/f", two.Path+"/g"))
	eventually(t, "the other view sees a rename", func() error { return differs(one.Path+"/g", "from one") })
	one.stop()
	if got := read(t, two.Path+"/g"); got != "from one" {
		t.Errorf("after the other daemon's end: read(/g) = %q", got)
	}
}

// TestReadyAndDenialLines has the lines for people at the terminal: ready, what
// is served and how to end it, and each denial once. C-01.
func TestReadyAndDenialLines(t *testing.T) {
	w := newWorld(t)
	w.write("root/secret", "x")
	m := w.view(rule("secret", "deny", "read", "/secret"), allowAll)
	if got := m.output.lines("ready "); !slices.Equal(got, []string{"ready " + m.Path}) {
		t.Errorf("ready lines = %q, want %q", got, "ready "+m.Path)
	}
	if len(m.output.lines(m.Backing)) == 0 || len(m.output.lines("umount "+m.Path)) == 0 {
		t.Errorf("no line names the root and how to unmount:\n%s", m.output.text())
	}
	for range 3 {
		wantErrno(t, "open(/secret)", open(unix.O_RDONLY)(m.Path+"/secret"), unix.EACCES)
	}
	m.wantEvent("stat", "/secret", "secret")
	eventually(t, "the denial is printed", func() error {
		if n := len(m.output.lines("/secret")); n == 0 {
			return fmt.Errorf("no line names /secret:\n%s", m.output.text())
		}
		return nil
	})
	if got := m.output.lines("/secret"); len(got) != 1 {
		t.Errorf("lines on /secret = %q, want one", got)
	}
}

// TestBackground has --background return once the mount answers, and leave a
// daemon that umount ends.
func TestBackground(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	mountpoint := w.mkdir("mnt")
	t.Cleanup(func() { sweep(w.Dir) })
	out, errs, code := sandboxfs("mount", "--background", "--metrics", "off", "--audit", w.path("audit"), w.path("root"), mountpoint)
	if code != 0 || !strings.Contains(out, "ready "+mountpoint) {
		t.Fatalf("mount --background = exit %d %q %q, want ready", code, out, errs)
	}
	if got := read(t, mountpoint+"/f"); got != "x" {
		t.Errorf("read(/f) = %q, want x", got)
	}
	if _, errs, code := sandboxfs("umount", mountpoint); code != 0 {
		t.Errorf("umount = exit %d %s", code, errs)
	}
	eventually(t, "the daemon ends", func() error {
		if left := leftovers(w.Dir); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
	_, errs, code = sandboxfs("mount", "--background", "--metrics", "off", w.path("absent.yaml"), mountpoint)
	wantComplaint(t, "mount --background of an absent profile", errs, code, 1, "absent.yaml")
}
