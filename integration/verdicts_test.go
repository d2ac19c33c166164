package integration

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHide has a hidden name behave as one that does not exist, whether there
// is something or not: by lookup, listing, creation, rename and link. X-06.
func TestHide(t *testing.T) {
	w := newWorld(t)
	w.write("root/dir/there", "secret")
	w.write("root/dir/seen", "x")
	w.write("root/vault/deep/f", "secret")
	must(t, os.Symlink("there", w.path("root/dir/link")))
	m := w.view(rule("hidden", "hide", `"*"`, "/vault/**", "/dir/there", "/dir/absent"), allowAll)
	before := snapshot(t, m.Backing, everything)
	seen := m.Path + "/dir/seen"
	for _, name := range []string{"/dir/there", "/dir/absent", "/vault", "/vault/deep/f"} {
		p := m.Path + name
		for call, err := range map[string]error{
			"stat":            unix.Lstat(p, new(unix.Stat_t)),
			"statfs":          unix.Statfs(p, new(unix.Statfs_t)),
			"open":            open(unix.O_RDONLY)(p),
			"open O_CREAT":    open(unix.O_WRONLY | unix.O_CREAT)(p),
			"open O_EXCL":     open(unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL)(p),
			"mkdir":           unix.Mkdir(p, 0o755),
			"symlink":         unix.Symlink("x", p),
			"mknod":           unix.Mknod(p, unix.S_IFIFO|0o600, 0),
			"unlink":          unix.Unlink(p),
			"rmdir":           unix.Rmdir(p),
			"chmod":           unix.Chmod(p, 0o600),
			"truncate":        unix.Truncate(p, 0),
			"rename from":     unix.Rename(p, m.Path+"/dir/stolen"),
			"rename onto":     unix.Rename(seen, p),
			"link from":       unix.Link(p, m.Path+"/dir/stolen"),
			"link onto":       unix.Link(seen, p),
			"setxattr":        unix.Setxattr(p, "user.a", []byte("v"), 0),
			"open O_TMPFILE":  open(unix.O_TMPFILE | unix.O_WRONLY)(p),
			"open O_PATH":     open(unix.O_PATH)(p),
			"access":          unix.Access(p, unix.F_OK),
			"utimes":          unix.Utimes(p, []unix.Timeval{{}, {}}),
			"open O_NOFOLLOW": open(unix.O_RDONLY | unix.O_NOFOLLOW)(p),
		} {
			wantErrno(t, call+"("+name+")", err, unix.ENOENT)
		}
	}
	wantErrno(t, "open of a link to a hidden file", open(unix.O_RDONLY)(m.Path+"/dir/link"), unix.ENOENT)
	if got := names(t, m.Path+"/dir"); !slices.Equal(got, []string{"link", "seen"}) {
		t.Errorf("list(/dir) = %q, want link and seen", got)
	}
	if got := names(t, m.Path); !slices.Equal(got, []string{"dir"}) {
		t.Errorf("list(/) = %q, want dir alone", got)
	}
	var st unix.Stat_t
	must(t, unix.Lstat(m.Path, &st))
	if st.Nlink != 1 {
		t.Errorf("nlink of a directory with a hidden one = %d, want 1", st.Nlink)
	}
	wantSame(t, "backing", snapshot(t, m.Backing, everything), before)
}

// TestHideOrder has hide win over readonly, and readonly over deny; a hide rule
// that leaves stat alone is a denial.
func TestHideOrder(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"hidden", "denied", "half"} {
		w.write("root/"+f, "x")
		w.write("fixed/"+f, "x")
	}
	w.policy("agent",
		rule("h", "hide", `"*"`, "/**/hidden"),
		rule("d", "deny", "write", "/**/denied"),
		rule("half", "hide", "write", "/**/half"),
		allowAll)
	m := w.mount(w.profile(`
root: ./root
mounts: [{source: ./fixed, target: /fixed, readonly: true, policy: agent}]
policy: agent
policies: [./policies]
guards: []
`))
	for path, want := range map[string]syscall.Errno{
		"/hidden": unix.ENOENT, "/denied": unix.EACCES, "/half": unix.EACCES,
		"/fixed/hidden": unix.ENOENT, "/fixed/denied": unix.EROFS, "/fixed/half": unix.EROFS,
	} {
		wantErrno(t, "open("+path+", O_WRONLY)", open(unix.O_WRONLY)(m.Path+path), want)
	}
}

// TestTraverse has an allow rule show the way to what it allows, and no more;
// a deny rule before it wins.
func TestTraverse(t *testing.T) {
	w := newWorld(t)
	w.write("root/a/b/c/f", "x")
	w.write("root/a/other", "x")
	w.write("root/x/y/f", "x")
	m := w.view(
		rule("no-y", "deny", "stat", "/x"),
		rule("y", "allow", `"*"`, "/x/y/**"),
		rule("c", "allow", `"*"`, "/a/b/c/**"))
	stat := func(p string) error { return unix.Lstat(p, new(unix.Stat_t)) }
	list := func(p string) error { _, err := os.ReadDir(p); return err }
	for _, tc := range []struct {
		call string
		do   func(string) error
		path string
		want syscall.Errno
	}{
		{"stat", stat, "/", 0},
		{"list", list, "/", unix.EACCES},
		{"stat", stat, "/a", 0},
		{"stat", stat, "/a/b", 0},
		{"list", list, "/a", unix.EACCES},
		{"list", list, "/a/b/c", 0},
		{"open", open(unix.O_RDWR), "/a/b/c/f", 0},
		{"stat", stat, "/a/other", unix.EACCES},
		{"stat", stat, "/a/absent", unix.ENOENT},
		{"stat", stat, "/x", unix.EACCES},
		{"stat", stat, "/x/y/f", unix.EACCES},
	} {
		wantErrno(t, tc.call+"("+tc.path+")", tc.do(m.Path+tc.path), tc.want)
	}
}

// TestCreatorDescriptor has the descriptor that made a file read, write and
// stat it under a policy that allows nothing but making it.
func TestCreatorDescriptor(t *testing.T) {
	w := newWorld(t)
	w.mkdir("root/drop")
	m := w.view(rule("find", "allow", "stat", "/drop"), rule("drop", "allow", "create", "/drop/*"))
	path := m.Path + "/drop/letter"
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o644)
	must(t, err)
	var st unix.Stat_t
	buf := make([]byte, 4)
	_, err = unix.Pwrite(fd, []byte("mail"), 0)
	wantErrno(t, "write by the creator", err, 0)
	_, err = unix.Pread(fd, buf, 0)
	wantErrno(t, "read by the creator", err, 0)
	wantErrno(t, "fstat by the creator", unix.Fstat(fd, &st), 0)
	if string(buf) != "mail" || st.Size != 4 {
		t.Errorf("the creator reads %q of %d bytes, want mail of 4", buf, st.Size)
	}
	wantErrno(t, "fchmod by the creator", unix.Fchmod(fd, 0o600), unix.EACCES)
	wantErrno(t, "fsetxattr by the creator", unix.Fsetxattr(fd, "user.a", []byte("v"), 0), unix.EACCES)
	must(t, unix.Close(fd))
	wantErrno(t, "open(/drop/letter) once it is closed", open(unix.O_RDONLY)(path), unix.EACCES)
	if got := read(t, w.path("root/drop/letter")); got != "mail" {
		t.Errorf("backing of /drop/letter = %q, want %q", got, "mail")
	}
}

// TestTruncatingOpen has O_TRUNC ask for write, on a read-only descriptor too. X-07.
func TestTruncatingOpen(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "content")
	m := w.view(rule("look", "allow", "read", "/**"))
	for name, flags := range map[string]int{
		"O_RDONLY|O_TRUNC":         unix.O_RDONLY | unix.O_TRUNC,
		"O_WRONLY|O_TRUNC":         unix.O_WRONLY | unix.O_TRUNC,
		"O_RDWR|O_CREAT|O_TRUNC":   unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC,
		"O_RDONLY|O_CREAT|O_TRUNC": unix.O_RDONLY | unix.O_CREAT | unix.O_TRUNC,
	} {
		wantErrno(t, "open(/f, "+name+")", open(flags)(m.Path+"/f"), unix.EACCES)
	}
	if got := read(t, w.path("root/f")); got != "content" {
		t.Errorf("content after refused truncations = %q, want %q", got, "content")
	}
}

// TestCreateOfWhatIsThere has O_CREAT on an existing name be a plain open.
func TestCreateOfWhatIsThere(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	m := w.view(rule("no-new", "deny", "create", "/**"), allowAll)
	wantErrno(t, "open(/f, O_CREAT)", open(unix.O_RDWR|unix.O_CREAT)(m.Path+"/f"), 0)
	wantErrno(t, "open(/g, O_CREAT)", open(unix.O_RDWR|unix.O_CREAT)(m.Path+"/g"), unix.EACCES)
	wantErrno(t, "open(/f, O_CREAT|O_EXCL)", open(unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)(m.Path+"/f"), unix.EEXIST)
}
