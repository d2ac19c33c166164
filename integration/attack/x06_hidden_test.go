package attack

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX06_Hidden", func(string, func()) []attempt {
	var attempts []attempt
	// A name that is there and one that is not have to give the same answers.
	for _, p := range []string{"hidden", "hidden-too", "d/hidden-3", "d/hidden-4"} {
		for call, do := range map[string]func() error{
			"stat": stat(p), "open": open(p, unix.O_RDONLY), "open(O_PATH)": open(p, unix.O_PATH), "create": create(p),
			"create(O_EXCL)": open(p, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY), "mkdir": mkdir(p), "symlink": symlink("x", p),
			"mknod":  func() error { return unix.Mknod(p, unix.S_IFREG|0o666, 0) },
			"unlink": unlink(p), "rmdir": func() error { return unix.Rmdir(p) }, "truncate": truncate(p), "chmod": chmod(p, 0o777),
			"setxattr": setxattr(p, "user.x", "x"), "list": list(p), "readlink": readlink(p),
			"getxattr": func() error { _, err := unix.Getxattr(p, "user.x", nil); return err },
			"access":   func() error { return unix.Access(p, unix.F_OK) },
			"statfs":   func() error { return unix.Statfs(p, new(unix.Statfs_t)) },
			"rename":   rename(p, "free2"), "rename onto": rename("free", p), "link": link(p, "free2"), "link onto": link("free", p),
			"watch": func() error {
				fd, err := unix.InotifyInit()
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				_, err = unix.InotifyAddWatch(fd, p, unix.IN_ALL_EVENTS)
				return err
			},
		} {
			attempts = append(attempts, attempt{call + "(" + p + ")", "ENOENT", do})
		}
	}
	for _, p := range []string{"hidden", "hidden-too"} {
		attempts = append(attempts, attempt{"name_to_handle_at(" + p + ")", "ENOENT|EPERM", func() error { // EPERM in Docker
			_, _, err := unix.NameToHandleAt(unix.AT_FDCWD, p, 0)
			return err
		}})
	}
	return append(attempts,
		attempt{"the listing of d", "ok", func() error {
			entries, err := os.ReadDir("d")
			if names := fmt.Sprint(entries); err == nil && len(entries) != 1 {
				return errors.New(names)
			}
			return err
		}},
		attempt{"the link count of .", "ok", func() error {
			var st unix.Stat_t
			err := unix.Stat(".", &st)
			if err == nil && st.Nlink != 1 {
				return fmt.Errorf("%d links", st.Nlink)
			}
			return err
		}},
	)
})

// TestX06_Hidden asks for hidden names in every way that could tell whether
// they are there.
func TestX06_Hidden(t *testing.T) {
	w := newWorld(t)
	w.write("root/free", "x")
	w.write("root/d/shown", "x")
	w.write("root/d/hidden-3", "x")
	w.mkdir("root/hidden/in")
	w.policy("agent", rule("hide", "hide", `"*"`, "/hidden*/**", "/d/hidden-*"), allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	attack(t, w, v, nil, nil)
}

// TestX06_WatchedDirectory watches a directory while the host makes and removes
// hidden names in it.
func TestX06_WatchedDirectory(t *testing.T) {
	w := newWorld(t)
	w.write("root/d/shown", "x")
	w.policy("agent", rule("hide", "hide", `"*"`, "/d/hidden*"), allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	must(t, err)
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, v.Path+"/d", unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE); err != nil {
		t.Fatal(err)
	}
	w.write("root/d/hidden", "x")
	create(v.Path + "/d/hidden")()
	must(t, os.Remove(w.path("root/d/hidden")))
	create(v.Path + "/d/hidden")()
	if n, err := unix.Read(fd, make([]byte, 4096)); n > 0 || err != unix.EAGAIN {
		t.Errorf("the watch told %d bytes, %v, want nothing", n, err)
	}
}
