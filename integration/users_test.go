package integration

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// modeOf returns the mode bits, owner and group of a file, as octal:uid:gid.
func modeOf(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	return fmt.Sprintf("%04o:%d:%d", st.Mode&0o7777, st.Uid, st.Gid)
}

// TestUmask has the caller's umask, and nothing else, shape the mode of what
// is made.
func TestUmask(t *testing.T) {
	w := newWorld(t)
	m := w.view(allowAll)
	defer unix.Umask(unix.Umask(0))
	for _, mask := range []int{0, 0o022, 0o077} {
		unix.Umask(mask)
		for _, mode := range []uint32{0o666, 0o777, 0o600} {
			name := fmt.Sprintf("/%o-%o", mask, mode)
			fd, err := unix.Open(m.Path+name, unix.O_CREAT|unix.O_WRONLY, mode)
			must(t, err)
			unix.Close(fd)
			must(t, unix.Mkdir(m.Path+name+"-dir", mode|unix.S_ISVTX))
			must(t, unix.Mknod(m.Path+name+"-fifo", unix.S_IFIFO|mode, 0))
			want := mode &^ uint32(mask)
			for path, want := range map[string]uint32{name: want, name + "-dir": want | unix.S_ISVTX, name + "-fifo": want} {
				for _, dir := range []string{m.Path, m.Backing} {
					if got := modeOf(t, dir+path); !strings.HasPrefix(got, fmt.Sprintf("%04o:", want)) {
						t.Errorf("mode of %s made with %o under umask %o = %s, want %04o", path, mode, mask, got, want)
					}
				}
			}
		}
	}
}

// modeScript changes files whose mode has set-id bits in every way that makes
// a kernel clear them, and prints the modes.
const modeScript = `
set -e
umask 022
mk() { rm -f f; echo content > f; chmod $1 f; }
show() { stat -c "%n %a %u %g" f; }
for m in 4755 2755 6755 6777 2745; do
  mk $m; show
  mk $m; echo more >> f; show
  mk $m; echo over > f; show
  mk $m; truncate -s 3 f; show
  mk $m; chgrp "$(id -g)" f; show
  mk $m; touch f; show
  mk $m; dd if=/dev/zero of=f bs=1 count=1 conv=notrunc 2>/dev/null; show
  mk $m; ln f g; echo more >> g; show; rm g
done
mkdir -m 2775 setgid sticky; chmod 1777 sticky; : > setgid/f; mkdir setgid/d
stat -c "%n %a" setgid setgid/d sticky
`

// setuidMode matches the first octal digit of a mode with the set-uid bit.
var setuidMode = regexp.MustCompile(`(?m)^f [46]`)

// TestSetIDBits has modes change on the view as beside it, for root and for an
// owner without capabilities; but that the view never carries a set-uid bit.
func TestSetIDBits(t *testing.T) {
	needRoot(t)
	for _, uid := range []uint32{0, 1000} {
		t.Run(fmt.Sprint("uid ", uid), func(t *testing.T) {
			w := newWorld(t)
			m := w.view(allowAll)
			both := map[string]string{}
			for side, dir := range map[string]string{"view": w.mkdir("root/work"), "beside": w.mkdir("beside")} {
				must(t, os.Chown(dir, int(uid), int(uid)))
				if side == "view" {
					dir = m.Path + "/work"
				}
				both[side] = command{dir: dir, uid: uid}.run(t, "sh", "-c", modeScript)
			}
			want := setuidMode.ReplaceAllStringFunc(both["beside"], func(mode string) string {
				return map[byte]string{'4': "f ", '6': "f 2"}[mode[2]]
			})
			if both["view"] != want {
				t.Errorf("modes on the view:\n%s\nwant, from those beside it:\n%s", both["view"], want)
			}
		})
	}
}

// TestCallerIdentity has what a user makes on root's mount belong to that user,
// a set-gid directory keep its group, and modes bind. Works with allow_other.
func TestCallerIdentity(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.write("root/private", "x")
	must(t, os.Chmod(w.path("root/private"), 0o600))
	must(t, os.Chmod(w.mkdir("root/open"), 0o777))
	must(t, os.Chown(w.mkdir("root/shared"), 0, 4242))
	must(t, os.Chmod(w.path("root/shared"), 0o2777|os.ModeSetgid))
	m := w.view(allowAll)
	for _, uid := range []uint32{1000, 65534} {
		user := command{dir: m.Path, uid: uid}
		own, shared := fmt.Sprintf("open/%d", uid), fmt.Sprintf("shared/%d", uid)
		user.run(t, "sh", "-c", `umask 022; echo x > "$1" && echo x > "$2" && mkdir "$2.d" && ln -s x "$1.l"`, "sh", own, shared)
		for path, want := range map[string]string{
			own: fmt.Sprintf("0644:%d:%d", uid, uid), own + ".l": fmt.Sprintf("0777:%d:%d", uid, uid),
			shared: fmt.Sprintf("0644:%d:4242", uid), shared + ".d": fmt.Sprintf("2755:%d:4242", uid),
		} {
			for _, dir := range []string{m.Path, m.Backing} {
				if got := modeOf(t, dir+"/"+path); got != want {
					t.Errorf("%s/%s made by uid %d is %s, want %s", dir, path, uid, got, want)
				}
			}
		}
		for _, script := range []string{"cat private", "echo x > private", "echo x > new", "mv private open/", "chown 0 " + own, "rm -f shared/../private"} {
			if _, _, code := user.try("sh", "-c", script); code == 0 {
				t.Errorf("uid %d: %s = ok, want a refusal by mode bits", uid, script)
			}
		}
	}
	fd, err := unix.Open(m.Path+"/open/root", unix.O_CREAT|unix.O_WRONLY, 0o600)
	must(t, err)
	unix.Close(fd)
	if got := modeOf(t, w.path("root/open/root")); got != "0600:0:0" {
		t.Errorf("file made by root is %s, want 0600:0:0", got)
	}
}

// TestUnprivilegedDaemon runs the daemon as an ordinary user.
func TestUnprivilegedDaemon(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.write("root/src/f", "x")
	w.policy("agent", rule("secret", "deny", `"*"`, "/src/secret"), allowAll)
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"), asUser(1000))
	user := command{dir: m.Path, uid: 1000, env: gitIdentity}
	if got := user.run(t, "cat", "src/f"); got != "x" {
		t.Errorf("cat src/f = %q, want x", got)
	}
	user.run(t, "sh", "-ec", `mkdir -m 2755 d; echo y > d/g; mv d/g d/h; ln d/h d/i; chmod 600 d/h; git init -q repo; cd repo; cp ../src/f .; git add f; git commit -qm one; git fsck`)
	if got := modeOf(t, w.path("root/d/i")); got != "0600:1000:1000" {
		t.Errorf("d/i = %s, want 0600:1000:1000", got)
	}
	if got := modeOf(t, w.path("root/d")); got != "2755:1000:1000" {
		t.Errorf("d made with mode 2755 = %s", got)
	}
	for _, script := range []string{"echo x > src/secret", "mknod null c 1 3", "chown 0 src/f", "echo x > repo/.git/hooks/pre-commit"} {
		if _, _, code := user.try("sh", "-c", script); code == 0 {
			t.Errorf("%s = ok, want a refusal", script)
		}
	}
	if e := m.wantEvent("create", "/src/secret", "secret"); e.Uid != 1000 {
		t.Errorf("event = %+v, want uid 1000", e)
	}
	m.kill9()
	if out, errs, code := (command{uid: 1000}).try(executable, "umount", m.Path); code != 0 {
		t.Errorf("umount by the user = exit %d %s%s", code, out, errs)
	}
}

// A user whose files are shown as another's is told why they cannot be read.
func TestUnprivilegedOwner(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.write("root/f", "x")
	must(t, os.Chmod(w.path("root/f"), 0o600))
	m := w.mount(w.profile("root: ./root\nowner: {uid: 1234, gid: 1234}\n"), asUser(1000))
	if _, _, code := (command{dir: m.Path, uid: 1000}).try("cat", "f"); code == 0 {
		t.Error("cat f by the user whose file is shown as another's = ok, want a refusal")
	}
	if want := "note: owner shows the files of user 1000 as those of 1234"; !strings.Contains(m.output.text(), want) {
		t.Errorf("mount says\n%s\nwant %q", m.output.text(), want)
	}
}

// TestOwner has the owner of the source be shown as another user, and what that
// user makes belong to the source's owner.
func TestOwner(t *testing.T) {
	needRoot(t)
	w := newWorld(t)
	w.write("root/f", "x")
	must(t, os.Lchown(w.write("root/other", "x"), 4242, 4242))
	m := w.mount(w.profile("root: ./root\nowner: {uid: 1000, gid: 1000}\nguards: []\n"))
	if got := modeOf(t, m.Path+"/f"); got != "0644:1000:1000" {
		t.Errorf("f of uid 0 is shown as %s, want 0644:1000:1000", got)
	}
	if got := modeOf(t, m.Path+"/other"); got != "0644:4242:4242" {
		t.Errorf("other of uid 4242 is shown as %s, want it unchanged", got)
	}
	user := command{dir: m.Path, uid: 1000}
	user.run(t, "sh", "-c", "umask 022; echo y > f; echo z > new; mkdir d; chmod 600 new; chown 1000:1000 new")
	for path, want := range map[string]string{"f": "0644:0:0", "new": "0600:0:0", "d": "0755:0:0"} {
		if got := modeOf(t, w.path("root/"+path)); got != want {
			t.Errorf("%s on the host is %s, want %s", path, got, want)
		}
	}
	wantErrno(t, "chown to a third user", unix.Lchown(m.Path+"/f", 4242, 4242), unix.EPERM)
}
