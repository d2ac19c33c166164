package attack

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

var _ = register("TestX01_HardLinks", func(string, func()) []attempt {
	return []attempt{
		{"link(fixed, alias)", "EACCES", link("fixed", "alias")},
		{"link(secret, alias)", "EACCES", link("secret", "alias")},
		{"link(ro/f, alias)", "EROFS|EXDEV", link("ro/f", "alias")},
		{"link(ro/f, ro/alias)", "EROFS", link("ro/f", "ro/alias")},
		{"link(free, vault/f)", "EACCES", link("free", "vault/f")},
		{"link(free, fixed)", "EEXIST", link("free", "fixed")},
		{"link of a descriptor of fixed", "EACCES", through("fixed", linkMagic("alias"))},
		{"link of a descriptor of fixed by AT_EMPTY_PATH", "EACCES|ENOENT", func() error {
			fd, err := unix.Open("fixed", unix.O_PATH, 0)
			if err != nil {
				return err
			}
			return unix.Linkat(fd, "", unix.AT_FDCWD, "alias", unix.AT_EMPTY_PATH)
		}},
		{"open(O_TMPFILE)", "ENOTSUP|EOPNOTSUPP", open(".", unix.O_TMPFILE|unix.O_RDWR)},
		{"link of a file that was made and unlinked", "ENOENT", func() error {
			fd, err := unix.Open("mine", unix.O_CREAT|unix.O_RDWR, 0o666)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if err := unix.Unlink("mine"); err != nil {
				return err
			}
			return linkMagic("vault/f")("/proc/self/fd/" + strconv.Itoa(fd))()
		}},
		// Both names are known, so the stricter one speaks for both.
		{"stat(fixed)", "ok", stat("fixed")},
		{"open(host-alias, O_WRONLY)", "EACCES", func() error {
			if err := unix.Lstat("host-alias", new(unix.Stat_t)); err != nil {
				return err
			}
			return open("host-alias", unix.O_WRONLY)()
		}},
		{"rename(fixed, host-alias), which are one file", "ok|EACCES", rename("fixed", "host-alias")},
	}
})

// TestX01_HardLinks gives a guarded file a second name.
func TestX01_HardLinks(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"root/fixed", "root/secret", "root/free", "root/vault/x", "ro/f"} {
		w.write(f, f)
	}
	must(t, unix.Link(w.path("root/fixed"), w.path("root/host-alias")))
	w.policy("agent",
		rule("fixed", "deny", "write", "/fixed"),
		rule("secret", "deny", "read", "/secret"),
		rule("vault", "deny", "create", "/vault/**"), allowAll)
	v := w.mount(w.profile("p.yaml", agent+"mounts: [{source: ./ro, target: /ro, readonly: true}]\n"), launch{})
	attack(t, w, v, nil, nil)
}
