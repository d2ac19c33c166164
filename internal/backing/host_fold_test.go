package backing_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// foldingSystems make a file system in a file and mount it. What this kernel or
// this machine lacks is skipped.
var foldingSystems = []struct {
	name        string
	make, mount []string // image, and image and directory, follow
	tools       []string
	driver      string // as /proc/filesystems lists it
	prepare     func(t *testing.T, dir string) string
}{
	{"ntfs by FUSE", []string{"mkfs.ntfs", "-q", "-F"}, []string{"lowntfs-3g", "-o", "ignore_case"}, []string{"mkfs.ntfs", "lowntfs-3g"}, "fuse", whole},
	{"exfat by FUSE", []string{"mkfs.exfat"}, []string{"sh", "-c", onLoop, "mount.exfat-fuse"}, []string{"mkfs.exfat", "mount.exfat-fuse", "losetup"}, "fuse", whole},
	{"vfat", []string{"mkfs.vfat"}, []string{"mount", "-t", "vfat", "-o", "loop,utf8"}, []string{"mkfs.vfat"}, "vfat", whole},
	{"exfat", []string{"mkfs.exfat"}, []string{"mount", "-t", "exfat", "-o", "loop"}, []string{"mkfs.exfat"}, "exfat", whole},
	{"ext4 casefold", []string{"mkfs.ext4", "-q", "-O", "casefold"}, []string{"mount", "-t", "ext4", "-o", "loop"}, []string{"mkfs.ext4", "chattr"}, "ext4", flagged},
}

// onLoop runs the program $0 on a block device for the image $1 and the directory
// $2; the device goes when the mount does.
const onLoop = `loop=$(losetup --show -f "$1") && { "$0" "$loop" "$2"; code=$?; losetup -d "$loop"; exit $code; }`

func whole(_ *testing.T, dir string) string { return dir }

// flagged returns a directory below dir that folds, below one that does not.
func flagged(t *testing.T, dir string) string {
	t.Helper()
	sub := filepath.Join(dir, "plain", "folds")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chattr", "+F", sub).CombinedOutput(); err != nil {
		t.Fatalf("chattr +F: %v: %s", err, out)
	}
	return sub
}

// eachFolding runs test in a directory of each file system that folds names.
func eachFolding(t *testing.T, test func(t *testing.T, dir string)) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts a file system")
	}
	for _, s := range foldingSystems {
		t.Run(s.name, func(t *testing.T) {
			known, err := os.ReadFile("/proc/filesystems")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(known), "\t"+s.driver+"\n") {
				t.Skipf("this kernel has no %s", s.driver)
			}
			if _, err := os.Stat("/sys/fs/ext4/features/casefold"); err != nil && s.driver == "ext4" {
				t.Skip("this kernel's ext4 has no casefold")
			}
			for _, tool := range s.tools {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed; scripts/setup.sh installs it", tool)
				}
			}
			dir, image := tempDir(t, os.TempDir()), filepath.Join(t.TempDir(), "image")
			if err := os.WriteFile(image, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(image, 64<<20); err != nil {
				t.Fatal(err)
			}
			run(t, append(s.make, image))
			run(t, append(s.mount, image, dir))
			t.Cleanup(func() { run(t, []string{"umount", dir}) })
			test(t, s.prepare(t, dir))
		})
	}
}

func run(t *testing.T, args []string) {
	t.Helper()
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// spellings returns names by which the host finds dir/secrets.
func spellings(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, name := range []string{"SECRETS", "Secrets", "\u017fecrets", "secrets.", "secret\u200ds"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			found = append(found, name)
		}
	}
	if len(found) < 2 {
		t.Fatalf("the host finds secrets by %q only", found)
	}
	return found
}

// in a directory that folds names, the listed one is the only name.
func TestX12_OtherSpellingsOfANameDoNotExist(t *testing.T) {
	eachFolding(t, func(t *testing.T, dir string) {
		for _, d := range []string{"secrets/in", "other"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		tree := openTree(t, backing.Open, filepath.Dir(dir))
		base := filepath.Base(dir)
		root, err := tree.Dir(base)
		want(t, err, nil, "Dir(%q)", base)
		defer root.Close()
		_, err = root.StatAt("secrets")
		want(t, err, nil, "StatAt(secrets)")
		for _, name := range spellings(t, dir) {
			_, err = root.StatAt(name)
			want(t, err, unix.ENOENT, "StatAt(%q)", name)
			_, err = root.ObjectAt(name)
			want(t, err, unix.ENOENT, "ObjectAt(%q)", name)
			_, err = root.DirAt(name)
			want(t, err, unix.ENOENT, "DirAt(%q)", name)
			_, err = root.OpenAt(name, unix.O_RDONLY)
			want(t, err, unix.ENOENT, "OpenAt(%q)", name)
			_, err = root.ReadlinkAt(name)
			want(t, err, unix.ENOENT, "ReadlinkAt(%q)", name)
			_, err = tree.Dir(base + "/" + name)
			want(t, err, unix.ENOENT, "Dir(%q)", base+"/"+name)
			_, err = tree.Dir(base + "/" + name + "/in")
			want(t, err, unix.ENOENT, "Dir(%q)", base+"/"+name+"/in")
			want(t, root.RmdirAt(name), unix.ENOENT, "RmdirAt(%q)", name)
			want(t, root.UnlinkAt(name), unix.ENOENT, "UnlinkAt(%q)", name)
			want(t, root.RenameAt(name, root, "found"), unix.ENOENT, "RenameAt(%q, found)", name)
			want(t, root.RenameAt("other", root, name), unix.EEXIST, "RenameAt(other, %q)", name)
		}
		_, err = root.StatAt("secrets")
		want(t, err, nil, "StatAt(secrets)")
	})
}

// nothing is made under a name that the directory stores differently, or
// has in another spelling.
func TestX12_NothingIsMadeUnderAnotherSpelling(t *testing.T) {
	eachFolding(t, func(t *testing.T, dir string) {
		root := openRoot(t, dir)
		f, err := root.CreateAt("secrets", unix.O_RDWR, 0o644)
		want(t, err, nil, "CreateAt(secrets)")
		f.Close()
		for _, name := range spellings(t, dir) {
			_, err := root.CreateAt(name, unix.O_RDWR, 0o644)
			want(t, err, unix.EEXIST, "CreateAt(%q)", name)
			want(t, root.MkdirAt(name, 0o755), unix.EEXIST, "MkdirAt(%q)", name)
			want(t, root.MknodAt(name, unix.S_IFREG|0o644), unix.EEXIST, "MknodAt(%q)", name)
		}
		for _, name := range []string{"new.", "new ", "new. .", "NEW\u200b", "m\u0301x"} {
			before := names(t, dir)
			f, err := root.CreateAt(name, unix.O_RDWR, 0o644)
			if err != nil {
				if after := names(t, dir); after != before {
					t.Errorf("CreateAt(%q) = %v, and left %s of %s", name, err, after, before)
				}
				continue
			}
			f.Close()
			if !strings.Contains(names(t, dir), "|"+name+"|") {
				t.Errorf("CreateAt(%q) made one of %s", name, names(t, dir))
			}
			want(t, root.UnlinkAt(name), nil, "UnlinkAt(%q)", name)
		}
	})
}

// A name can still be given another spelling, be replaced and be removed.
func TestX12_ListedNamesWorkInFoldingDirectories(t *testing.T) {
	eachFolding(t, func(t *testing.T, dir string) {
		root := openRoot(t, dir)
		for _, name := range []string{"a", "caf\u00e9", "read.me", "123", "UPPER", "with space"} {
			f, err := root.CreateAt(name, unix.O_RDWR, 0o644)
			if err == unix.EINVAL && strings.ToLower(name) != name {
				t.Skip("this file system lists lower case only")
			}
			want(t, err, nil, "CreateAt(%q)", name)
			f.Close()
			_, err = root.StatAt(name)
			want(t, err, nil, "StatAt(%q)", name)
		}
		want(t, root.RenameAt("a", root, "A"), nil, "RenameAt(a, A)")
		_, err := root.StatAt("A")
		want(t, err, nil, "StatAt(A)")
		_, err = root.StatAt("a")
		want(t, err, unix.ENOENT, "StatAt(a)")
		want(t, root.RenameAt("A", root, "UPPER"), nil, "RenameAt(A, UPPER)")
		want(t, root.UnlinkAt("UPPER"), nil, "UnlinkAt(UPPER)")
		want(t, root.MkdirAt("Sub", 0o755), nil, "MkdirAt(Sub)")
		sub, err := root.DirAt("Sub")
		want(t, err, nil, "DirAt(Sub)")
		sub.Close()
		want(t, root.RmdirAt("Sub"), nil, "RmdirAt(Sub)")
	})
}

// names returns what the host lists, as "|a|b|".
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := "|"
	for _, e := range entries {
		list += e.Name() + "|"
	}
	return list
}
