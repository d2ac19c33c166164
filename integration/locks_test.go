package integration

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// locker is a helper that opens a file and tries locks on it: "flock",
// "posix", "ofd", and "unlock" of the last two.
func locker(args []string) error {
	fd, err := unix.Open(args[0], unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK}
	free := unix.Flock_t{Type: unix.F_UNLCK}
	return answer(func(line string) string {
		switch line {
		case "flock":
			return errno(unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB))
		case "shared":
			return errno(unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB))
		case "posix":
			return errno(unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &whole))
		case "ofd":
			return errno(unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &whole))
		case "unlock":
			unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &free)
			unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &free)
			return errno(unix.Flock(fd, unix.LOCK_UN))
		}
		return "?"
	})
}

// step is one request to one of several lockers.
type step struct{ who, ask, want string }

// TestFlockIsSharedWithTheHost has flock on the view and on the host exclude
// each other, and end with the descriptor.
func TestFlockIsSharedWithTheHost(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	who := map[string]*dialogue{
		"view": converse(t, 0, "locker", m.Path+"/f"), "other": converse(t, 0, "locker", m.Path+"/f"), "host": converse(t, 0, "locker", w.path("root/f")),
	}
	for _, s := range []step{
		{"view", "flock", "ok"}, {"host", "flock", "EAGAIN"}, {"other", "flock", "EAGAIN"},
		{"view", "unlock", "ok"}, {"host", "flock", "ok"}, {"view", "flock", "EAGAIN"},
		{"host", "unlock", "ok"}, {"view", "shared", "ok"}, {"other", "shared", "ok"}, {"host", "shared", "ok"},
		{"other", "flock", "EAGAIN"}, {"host", "unlock", "ok"}, {"view", "unlock", "ok"}, {"other", "flock", "ok"},
	} {
		if got := who[s.who].ask(s.ask); got != s.want {
			t.Errorf("%s: %s = %s, want %s", s.who, s.ask, got, s.want)
		}
	}
}

// TestFlockEndsWithItsProcess has a lock go when its holder is killed, and a
// waiting one come through.
func TestFlockEndsWithItsProcess(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	f, err := os.Open(m.Path + "/f")
	must(t, err)
	must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	done := make(chan string)
	go func() {
		_, errs, code := command{dir: m.Path}.try("flock", "f", "true")
		done <- map[bool]string{true: "", false: "flock f true: " + errs}[code == 0]
	}()
	eventually(t, "the view answers while a lock is waited for", func() error { return differs(m.Path+"/f", "x") })
	must(t, f.Close())
	if problem := <-done; problem != "" {
		t.Error(problem)
	}
}

// TestRecordLocks has POSIX and OFD locks hold between processes of the view,
// and end when a descriptor of the file is closed or the process ends.
func TestRecordLocks(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(allowAll)
	who := map[string]*dialogue{"one": converse(t, 0, "locker", m.Path+"/f"), "two": converse(t, 0, "locker", m.Path+"/f")}
	for _, s := range []step{
		{"one", "posix", "ok"}, {"two", "posix", "EAGAIN"}, {"two", "ofd", "EAGAIN"},
		{"one", "unlock", "ok"}, {"two", "ofd", "ok"}, {"one", "posix", "EAGAIN"}, {"one", "ofd", "EAGAIN"},
		{"two", "unlock", "ok"}, {"one", "posix", "ok"},
	} {
		if got := who[s.who].ask(s.ask); got != s.want {
			t.Errorf("%s: %s = %s, want %s", s.who, s.ask, got, s.want)
		}
	}
}
