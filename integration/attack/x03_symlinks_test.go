package attack

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func readlink(path string) func() error {
	return func() error { _, err := os.Readlink(path); return err }
}

var _ = register("TestX03_Inside", func(view string, _ func()) []attempt {
	attempts := []attempt{
		{"symlink(/etc/passwd, l)", "EACCES", symlink("/etc/passwd", "l")},
		{"symlink(../x, l)", "EACCES", symlink("../x", "l")},
		{"symlink(deep/../../x, l)", "EACCES", symlink("deep/../../x", "l")},
		{"symlink(/proc/self/root/etc, l)", "EACCES", symlink("/proc/self/root/etc", "l")},
		{"symlink(chain/x, l), where chain leads out", "EACCES", symlink("chain/x", "l")},
		{"readlink(out)", "EACCES", readlink("out")},
		{"read(chain/etc/hostname)", "EACCES", read("chain/etc/hostname")},
		{"readlink(deep/er/up), which stays inside", "ok", readlink("deep/er/up")},
		{"open(.., beneath the mount's root)", "EXDEV", func() error {
			_, err := unix.Openat2(unix.AT_FDCWD, "..", &unix.OpenHow{Resolve: unix.RESOLVE_BENEATH})
			return err
		}},
	}
	return append(attempts,
		attempt{"readlink of deep/er/up by a hard link in /", "EACCES|EXDEV|EPERM", func() error {
			err := unix.Link("deep/er/up", "up")
			if err == nil {
				_, err = os.Readlink("up")
				unix.Unlink("up")
			}
			return err
		}},
		attempt{"rename of a link to where it leads out", "EACCES|EXDEV", func() error {
			if err := unix.Symlink("../../free", "deep/er/mine"); err != nil {
				return err
			}
			defer unix.Unlink("deep/er/mine")
			err := unix.Rename("deep/er/mine", "mine")
			if err == nil {
				unix.Unlink("mine")
			}
			return err
		}},
	)
})

// TestX03_Inside leads a link of a view with "symlinks: inside" out of it.
func TestX03_Inside(t *testing.T) {
	w := newWorld(t)
	w.write("root/free", "x")
	w.write("root/deep/er/f", "x")
	must(t, os.Symlink("/", w.path("root/out")))
	must(t, os.Symlink("out", w.path("root/chain")))
	must(t, os.Symlink("../../free", w.path("root/deep/er/up")))
	v := w.mount(w.profile("p.yaml", "root: ./root\nsymlinks: inside\nguards: []\n"), launch{})
	attack(t, w, v, nil, nil)
}

// TestX03_SwapWhileMaking puts a file of root under a name in the moment in
// which the daemon makes something there for a user: it must not give that file
// to the user.
func TestX03_SwapWhileMaking(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.policy("agent", allowAll)
	secret, made := w.path("root/secret"), w.path("root/made")
	v := w.mount(w.profile("p.yaml", agent), launch{})
	must(t, os.WriteFile(secret, []byte("of root"), 0o600))
	stop := make(chan struct{})
	var makers sync.WaitGroup
	for range 2 {
		makers.Go(func() {
			runtime.LockOSThread() // for good: the thread keeps the user
			unix.SetfsgidRetGid(1000)
			unix.SetfsuidRetUid(1000)
			for {
				select {
				case <-stop:
					return
				default:
					unix.Mknod(v.Path+"/made", unix.S_IFIFO|0o600, 0)
				}
			}
		})
	}
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); {
		must(t, os.Rename(secret, made))
		must(t, os.Rename(made, secret))
		var st unix.Stat_t
		must(t, unix.Lstat(secret, &st))
		if st.Mode&unix.S_IFMT != unix.S_IFREG { // the makers were faster
			must(t, os.Remove(secret))
			must(t, os.WriteFile(secret, []byte("of root"), 0o600))
		} else if st.Uid != 0 {
			t.Errorf("a file of root belongs to uid %d: the daemon gave away what it did not make", st.Uid)
			break
		}
	}
	close(stop)
	makers.Wait()
}
