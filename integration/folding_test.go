package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// exfat mounts a file system at name that finds files under every letter case,
// until the test ends. It goes by FUSE, as the kernels of the tests lack others.
func (w *world) exfat(name string) string {
	w.t.Helper()
	needRoot(w.t)
	for _, tool := range []string{"mkfs.exfat", "mount.exfat-fuse", "losetup"} {
		if _, err := exec.LookPath(tool); err != nil {
			w.t.Skip(tool + " is not installed; scripts/setup.sh installs it")
		}
	}
	dir, image := w.mkdir(name), w.path(name+".img")
	must(w.t, os.WriteFile(image, nil, 0o600))
	must(w.t, os.Truncate(image, 64<<20))
	command{}.run(w.t, "mkfs.exfat", image)
	device := strings.TrimSpace(command{}.run(w.t, "losetup", "--show", "-f", image))
	w.t.Cleanup(func() { command{}.run(w.t, "losetup", "-d", device) })
	command{}.run(w.t, "mount.exfat-fuse", device, dir)
	w.t.Cleanup(func() { command{}.run(w.t, "umount", dir) })
	return dir
}

// TestFoldingBacking has a rule of a user hold on a backing that finds its path
// in other spellings. X-12.
func TestFoldingBacking(t *testing.T) {
	w := newWorld(t)
	w.exfat("root")
	w.write("root/secrets/key", "hush")
	w.write("root/locked", "as it was")
	w.write("root/seen/x", "x")
	read(t, w.path("root/SECRETS/Key")) // so finds the host
	m := w.view(rule("secrets", "deny", `"*"`, "/secrets/**"), rule("locked", "deny", "write, create, delete", "/locked"), allowAll)
	for _, name := range []string{"/SECRETS", "/Secrets/key", "/sECRETS/KEY", "/LOCKED", "/SEEN", "/seen/X"} {
		wantErrno(t, "stat "+name, unix.Stat(m.Path+name, new(unix.Stat_t)), unix.ENOENT)
		wantErrno(t, "open "+name, open(unix.O_RDWR)(m.Path+name), unix.ENOENT)
		wantErrno(t, "unlink "+name, unix.Unlink(m.Path+name), unix.ENOENT)
		wantErrno(t, "rename "+name, unix.Rename(m.Path+name, m.Path+"/taken"), unix.ENOENT)
	}
	wantErrno(t, "create /LOCKED", open(unix.O_RDWR|unix.O_CREAT)(m.Path+"/LOCKED"), unix.EEXIST)
	wantErrno(t, "mkdir /SECRETS", unix.Mkdir(m.Path+"/SECRETS", 0o755), unix.EEXIST)
	wantErrno(t, "rename /seen/x to /LOCKED", unix.Rename(m.Path+"/seen/x", m.Path+"/LOCKED"), unix.EEXIST)
	wantErrno(t, "open /secrets/key", open(unix.O_RDONLY)(m.Path+"/secrets/key"), unix.EACCES)
	wantErrno(t, "open /locked", open(unix.O_WRONLY)(m.Path+"/locked"), unix.EACCES)
	if got := read(t, w.path("root/locked")); got != "as it was" {
		t.Errorf("locked holds %q", got)
	}
	wantErrno(t, "rename /seen/x to /seen/X", unix.Rename(m.Path+"/seen/x", m.Path+"/seen/X"), 0)
	if got := names(t, m.Path+"/seen"); len(got) != 1 || got[0] != "X" {
		t.Errorf("/seen lists %q, want X", got)
	}
}

// TestWorkOnAFoldingBacking has ordinary work go on there.
func TestWorkOnAFoldingBacking(t *testing.T) {
	w := newWorld(t)
	w.exfat("root")
	m := w.mount(w.profile("root: ./root\n"))
	command{dir: m.Path, env: gitIdentity}.run(t, "sh", "-ec", `
mkdir -p src/Deep
for i in 1 2 3; do echo "text $i" > "src/Deep/File $i.TXT"; done
printf 'a\n' > README.md
cp -r src copy
mv copy/Deep copy/Renamed
sed -i s/text/TEXT/ "copy/Renamed/File 1.TXT"
rm -r src
tar -cf all.tar copy README.md && mkdir out && tar -xf all.tar -C out
test "$(cat "out/copy/Renamed/File 1.TXT")" = "TEXT 1"
`)
	wantErrno(t, "create .ENVRC", open(unix.O_WRONLY|unix.O_CREAT)(m.Path+"/.ENVRC"), unix.EACCES)
	m.wantEvent("create", "/.ENVRC", "builtin:guard:shell")
	wantErrno(t, "mkdir .VsCode", unix.Mkdir(m.Path+"/.VsCode", 0o755), unix.EACCES)
}
