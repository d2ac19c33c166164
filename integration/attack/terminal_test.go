package attack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// typed is what the attacker types for the caller's shell.
const typed = "touch /tmp/owned\n"

var _ = register("TestTerminal", func(string, func()) []attempt {
	var caller unix.Stat_t
	fmt.Sscan(os.Getenv("OUTSIDE"), &caller.Dev, &caller.Rdev)
	terminals, _ := filepath.Glob("/dev/pts/[0-9]*")
	terminals = append(terminals, "/dev/tty", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2")
	list := []attempt{{"the caller's terminal", "ok", func() error {
		return none(same(terminals, caller))
	}}}
	for _, file := range terminals {
		list = append(list,
			attempt{"type into " + file, either("ok|EIO|EPERM|EACCES|ENXIO", "EIO|EACCES|ENXIO"), func() error { return typeInto(file, unix.TIOCSTI) }},
			attempt{"select and paste in " + file, either("ENOTTY|EACCES|ENXIO", "ENOTTY|EACCES|ENXIO"), func() error { return typeInto(file, unix.TIOCLINUX) }})
	}
	return list
})

// same are the files that are the terminal of st.
func same(files []string, st unix.Stat_t) (list []string) {
	for _, file := range files {
		var found unix.Stat_t
		if unix.Stat(file, &found) == nil && found.Dev == st.Dev && found.Rdev == st.Rdev {
			list = append(list, file)
		}
	}
	return list
}

func typeInto(file string, request uintptr) error {
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, c := range []byte(typed) {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&c))); errno != 0 {
			return errno
		}
	}
	return nil
}

// TestTerminal calls from a terminal: what is typed for others in the sandbox
// reaches a terminal of its own, and not the caller's.
func TestTerminal(t *testing.T) {
	inJails(t, func(t *testing.T, j jail, w *world) {
		master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
		must(t, err)
		defer master.Close()
		number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
		must(t, err)
		must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
		slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		must(t, err)
		defer slave.Close()
		var st unix.Stat_t
		must(t, unix.Fstat(int(slave.Fd()), &st))
		told := fmt.Sprint(st.Dev, st.Rdev)
		cmd := j.run(w, []string{"--env", "OUTSIDE=" + told, "--env", "JAIL=" + j.backend}, "attack", "TestTerminal", ".")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
		must(t, cmd.Start())
		shown := make(chan string)
		go func() {
			var text strings.Builder
			for buf := make([]byte, 4096); !strings.Contains(text.String(), "}]"); {
				n, err := master.Read(buf)
				text.Write(buf[:n])
				if err != nil {
					break
				}
			}
			shown <- text.String()
			for buf := make([]byte, 4096); ; { // until the test closes it
				if _, err := master.Read(buf); err != nil {
					return
				}
			}
		}()
		text := <-shown
		cmd.Wait()
		var outcomes []outcome
		if _, after, ok := strings.Cut(text, "[{"); !ok || json.NewDecoder(strings.NewReader("[{"+after)).Decode(&outcomes) != nil {
			t.Fatalf("the attacker said %q", text)
		}
		for _, o := range outcomes {
			o.check(t)
		}
		if n, err := unix.IoctlGetInt(int(slave.Fd()), unix.TIOCINQ); n != 0 || err != nil {
			t.Errorf("the caller's terminal has %d bytes typed, %v, want none", n, err)
		}
	})
}
