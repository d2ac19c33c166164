package fs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// gitWorld serves a view of one mount under the git guard, with those names in
// the backing.
func gitWorld(t *testing.T, names ...string) *world {
	t.Helper()
	return gitWorldOn(t, backing.NewMemory(), names...)
}

func gitWorldOn(t *testing.T, tree *backing.Memory, names ...string) *world {
	t.Helper()
	guard := policy.Builtin("git", policy.BuiltinRule{Name: "all", Paths: []string{"/**"}, Ops: policy.AllOps, Decision: policy.Allow})
	view := viewWith(t, overlay.Mount{Target: "/", Source: "/memory", Layers: append(layers(t, allowAll), overlay.Layer{Kind: "guard", Policy: guard})})
	w := serve(t, Config{View: view, Trees: []backing.Tree{tree}, Mountpoint: "/mnt/view"})
	w.fill(t, names...)
	return w
}

// repository are the names of a directory of git, but for its config.
func repository(dir string) []string {
	return []string{dir + "/", dir + "/HEAD", dir + "/objects/", dir + "/refs/", dir + "/hooks/", dir + "/hooks/update.sample"}
}

const (
	goodConfig = "[core]\n\tbare = false\n"
	evilConfig = "[core]\n\tfsmonitor = touch /tmp/owned\n"
)

// bear makes a file of the view that holds text, and returns its open handle.
func (w *world) bear(t *testing.T, name, text string) (HandleID, syscall.Errno) {
	t.Helper()
	var e Entry
	var o Opened
	errno := w.Create(caller(), w.at(t, path.Dir(name)), path.Base(name), unix.O_RDWR|unix.O_CREAT, 0o644, &e, &o)
	if errno != 0 {
		return 0, errno
	}
	t.Cleanup(func() { w.Release(o.Handle) })
	if text != "" {
		_, errno = w.Write(caller(), o.Handle, []byte(text), 0, WriteIn{})
	}
	return o.Handle, errno
}

// put makes or changes a file beside the view.
func (w *world) put(t *testing.T, name, text string) {
	t.Helper()
	if !w.has(t, name) {
		w.fill(t, name)
	}
	dir, base := parent(t, w.tree, name)
	f, err := dir.OpenAt(base, unix.O_WRONLY)
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt([]byte(text), 0)
		}
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// list returns the names of a directory of the backing.
func (w *world) list(t *testing.T, dir string) []string {
	t.Helper()
	d, err := w.tree.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	entries, err := d.ReadDir()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// TestGitConfigIsTakenOver: what git renames onto its configuration is checked,
// and nothing that is done to the lock file before, meanwhile or later reaches
// what takes its place. X-09.
func TestGitConfigIsTakenOver(t *testing.T) {
	w := gitWorld(t, repository(".git")...)
	w.put(t, ".git/config", evilConfig) // by the host
	next := evilConfig + "[user]\n\tname = A\n"
	lock, errno := w.bear(t, "/.git/config.lock", next)
	want(t, errno, 0, "create of the lock file")
	if e, _ := w.walk("/.git/config.lock"); e.Valid != 0 {
		t.Errorf("the kernel may believe in the lock file for %v, and then in the config as its new name", e.Valid)
	}
	told := &notices{}
	w.Notify(told)
	want(t, w.move(t, "link", "/.git/config.lock", "/alias"), 0, "link of the lock file")
	alias := w.open(t, "/alias", unix.O_WRONLY)
	want(t, w.move(t, "rename", "/.git/config.lock", "/.git/config"), 0, "rename")
	w.wantEvents(t)
	dir := w.at(t, "/.git")
	eventually(t, "the kernel hears of another config", func() bool { return told.has(notice{dir, "config"}) })
	for _, h := range []HandleID{lock, alias} {
		if _, errno := w.Write(caller(), h, []byte("[core]\n\tpager = x"), 0, WriteIn{FromCache: h == alias}); errno != 0 {
			t.Errorf("write to what was the lock file = %v", name(errno))
		}
	}
	if got := w.content(t, ".git/config"); got != next {
		t.Errorf("config = %q, want %q", got, next)
	}
	if got, want := w.list(t, ".git"), []string{"HEAD", "config", "hooks", "objects", "refs"}; !slices.Equal(got, want) {
		t.Errorf(".git holds %q, want %q", got, want)
	}
	e, errno := w.walk("/.git/config")
	want(t, errno, 0, "lookup")
	if e.Attr.Size != uint64(len(next)) || e.Attr.Nlink != 1 {
		t.Errorf("config has size %d and %d names, want %d and 1", e.Attr.Size, e.Attr.Nlink, len(next))
	}
}

// TestGitConfigRefusals tries every call that could change a configuration, or
// give it another name, but for git's own way; and git's own with what is not on
// the list..
func TestGitConfigRefusals(t *testing.T) {
	for _, dir := range []string{".git", "bare", "tree", "folded"} {
		names := repository(dir)
		if dir == "tree" {
			names = append(names[:2:2], "tree/commondir") // as git worktree add makes it
		} else if dir == "folded" {
			names = []string{"folded/", "folded/HEAD", "folded/OBJECTS/", "folded/Refs/"}
		}
		for _, base := range []string{"config", "config.worktree", "CONFIG"} {
			w := gitWorld(t, append(names, dir+"/other", "link>x")...)
			file := "/" + dir + "/" + base
			w.put(t, file[1:], goodConfig)
			n := w.at(t, file)
			size := uint64(0)
			evil, errno := w.bear(t, "/evil", evilConfig)
			want(t, errno, 0, "create of what is planted")
			_ = evil
			var e Entry
			var o Opened
			var a Attr
			for call, errno := range map[string]syscall.Errno{
				"open for writing":       w.Open(caller(), n, unix.O_WRONLY, &o),
				"open for both":          w.Open(caller(), n, unix.O_RDWR, &o),
				"create of what is":      w.Create(caller(), w.at(t, "/"+dir), base, unix.O_WRONLY|unix.O_TRUNC, 0o644, &e, &o),
				"truncate":               w.Setattr(caller(), n, &SetattrIn{Size: &size}, &a),
				"link of it":             w.move(t, "link", file, "/alias"),
				"rename of evil":         w.move(t, "rename", "/evil", file),
				"rename of a link":       w.move(t, "rename", "/link", file),
				"rename of what is none": w.move(t, "rename", "/"+dir+"/HEAD", file),
			} {
				if errno != syscall.EACCES {
					t.Errorf("%s: %s = %v, want EACCES", file, call, name(errno))
				}
			}
			if got := w.content(t, file[1:]); got != goodConfig {
				t.Errorf("%s holds %q", file, got)
			}
			want(t, w.Unlink(caller(), w.at(t, "/"+dir), base), 0, "unlink")
			_, errno = w.bear(t, file, evilConfig)
			want(t, errno, syscall.EACCES, "create of "+file)
			w.Unlink(caller(), w.at(t, "/"+dir), base) // an empty one that git may fill
			want(t, w.Symlink(caller(), w.at(t, "/"+dir), base, "../evil", &e), syscall.EACCES, "symlink")
			want(t, w.move(t, "link", "/evil", file), syscall.EACCES, "link onto it")
			want(t, w.move(t, "rename", "/evil", file), syscall.EACCES, "rename onto it")
			if w.has(t, file[1:]) {
				t.Errorf("%s is there again", file)
			}
			if got := w.list(t, ""); slices.ContainsFunc(got, isFresh) {
				t.Errorf("the root holds %q", got)
			}
		}
	}
}

// TestGitRefusalSaysWhere: the event names the file, the line, the key and the way on.
func TestGitRefusalSaysWhere(t *testing.T) {
	w := gitWorld(t, repository(".git")...)
	_, errno := w.bear(t, "/.git/config.lock", goodConfig+evilConfig)
	want(t, errno, 0, "create")
	want(t, w.move(t, "rename", "/.git/config.lock", "/.git/config"), syscall.EACCES, "rename")
	got := w.records.take()
	if len(got) != 1 || got[0].Verdict.Rule.Name != "builtin:guard:git" || got[0].Path != "/.git/config.lock" || got[0].To != "/.git/config" {
		t.Fatalf("events = %+v, want one of the rename", got)
	}
	const says = "/.git/config:4: core.fsmonitor is not on the list of what can be set from inside a view; run it on the host: git config core.fsmonitor"
	if !strings.HasPrefix(got[0].Detail, says) {
		t.Errorf("it says %q, want %q", got[0].Detail, says)
	}
	if !w.has(t, ".git/config.lock") {
		t.Error("the lock file of a refused rename is gone")
	}
}

// TestGitDirInAnyOrder builds a directory of git without the name, out of what
// would run on the host, in every order and in every way: at no time is it one.
//
func TestGitDirInAnyOrder(t *testing.T) {
	for _, way := range []string{"make", "rename", "link"} {
		for _, parts := range []string{"config HEAD objects refs hooks", "config HEAD commondir"} {
			permutations(strings.Fields(parts), func(order []string) {
				w := gitWorld(t, "d/", "from/", "from/objects/", "from/refs/", "from/hooks/", "from/hooks/pre-commit", "from/HEAD")
				w.put(t, "from/config", evilConfig)
				w.put(t, "from/commondir", "/outside\n")
				for _, part := range order {
					w.bring(t, way, part)
					if w.runs(t, "d") {
						t.Errorf("%s in the order %q: git would run it after %s", way, order, part)
						return
					}
				}
				if got := len(w.list(t, "d")); got == 0 || got == len(order) {
					t.Errorf("%s in the order %q: d holds %d names", way, order, got)
				}
			})
		}
	}
}

// bring brings one part of a directory of git into d.
func (w *world) bring(t *testing.T, way, part string) {
	t.Helper()
	var e Entry
	dir := part == "objects" || part == "refs" || part == "hooks"
	switch {
	case way == "rename" || way == "link" && !dir:
		w.move(t, way, "/from/"+part, "/d/"+part)
	case dir:
		w.Mkdir(caller(), w.at(t, "/d"), part, 0o755, &e)
		if part == "hooks" && w.has(t, "d/hooks") {
			w.bear(t, "/d/hooks/pre-commit", "#!/bin/sh\n")
		}
	case part == "commondir":
		w.bear(t, "/d/commondir", "/outside\n")
	case part == "config":
		w.bear(t, "/d/config", evilConfig)
	default:
		w.bear(t, "/d/"+part, "ref: refs/heads/main\n")
	}
}

// runs reports whether git would run something for a directory of the backing.
func (w *world) runs(t *testing.T, dir string) bool {
	t.Helper()
	has := func(name string) bool { return w.has(t, dir+"/"+name) }
	if has("HEAD") && has("commondir") && strings.HasPrefix(w.content(t, dir+"/commondir"), "/outside") {
		return true
	}
	if !has("objects") || !has("refs") {
		return false
	}
	return has("config") && w.content(t, dir+"/config") == evilConfig || has("hooks") && w.has(t, dir+"/hooks/pre-commit")
}

// permutations calls do with every order of list.
func permutations(list []string, do func([]string)) {
	var walk func(k int)
	walk = func(k int) {
		if k == len(list) {
			do(slices.Clone(list))
			return
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			walk(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	walk(0)
}

// TestGitConfigLosesOlderDescriptors: what was opened, or got another name,
// before its directory became one of git's, does not change it afterwards. X-05.
func TestGitConfigLosesOlderDescriptors(t *testing.T) {
	for _, last := range []string{"objects", "HEAD"} {
		w := gitWorld(t, "d/", "d/refs/")
		config, errno := w.bear(t, "/d/config", goodConfig)
		want(t, errno, 0, "create")
		want(t, w.move(t, "link", "/d/config", "/d/alias"), 0, "link")
		alias := w.open(t, "/d/alias", unix.O_RDWR)
		w.bring(t, "make", "objects")
		w.bring(t, "make", last)
		for _, h := range []HandleID{config, alias} {
			w.Write(caller(), h, []byte(evilConfig), 0, WriteIn{})
			w.Write(caller(), h, []byte(evilConfig), 0, WriteIn{FromCache: true})
			w.Allocate(caller(), h, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4)
		}
		if got := w.content(t, "d/config"); got != goodConfig {
			t.Errorf("after %s the config holds %q", last, got)
		}
	}
}

// TestGitConfigIsMadeFresh where somebody has it open, and so may have it mapped,
// or where it has a name that the view does not know of..
func TestGitConfigIsMadeFresh(t *testing.T) {
	w := gitWorld(t, "d/", "d/HEAD", "d/config", "d/alias=d/config")
	w.put(t, "d/config", goodConfig)
	alias := w.open(t, "/d/alias", unix.O_RDWR) // "/d/config" was never looked up
	w.bring(t, "make", "objects")
	_, errno := w.Write(caller(), alias, []byte(evilConfig), 0, WriteIn{})
	want(t, errno, 0, "write to what was the config")
	if got := w.content(t, "d/config"); got != goodConfig {
		t.Errorf("the config holds %q", got)
	}

	w = gitWorld(t, "d/", "d/HEAD", "d/config", "d/alias=d/config")
	w.put(t, "d/config", goodConfig)
	alias = w.open(t, "/d/alias", unix.O_RDWR)
	want(t, w.Unlink(caller(), w.at(t, "/d"), "alias"), 0, "unlink of the only name that the view knows")
	w.bring(t, "make", "objects")
	w.Write(caller(), alias, []byte(evilConfig), 0, WriteIn{})
	if got := w.content(t, "d/config"); got != goodConfig {
		t.Errorf("by a descriptor of a name that is gone, the config holds %q", got)
	}

	w = gitWorld(t, "d/", "d/HEAD")
	_, errno = w.bear(t, "/d/config", goodConfig)
	want(t, errno, 0, "create")
	mapped := w.at(t, "/d/config")
	w.bring(t, "make", "objects")
	if w.at(t, "/d/config") == mapped {
		t.Error("what is mapped is still the config")
	}
}

// TestGitArrivalHoldsNames: between the look at what a directory holds and the
// arrival that makes it one of git's, nothing is made in it; and what is opened
// meanwhile is not what git reads after. X-03.
func TestGitArrivalHoldsNames(t *testing.T) {
	tree := backing.NewMemory()
	var meanwhile func(op, name string)
	tree.Fail = func(op, name string) error {
		if act := meanwhile; act != nil && (op == "MkdirAt" || op == "OpenAt" || op == "RenameAt") {
			meanwhile = nil
			act(op, name)
		}
		return nil
	}
	for _, way := range []string{"make", "rename"} {
		dir := "/" + way
		w := gitWorldOn(t, tree, dir[1:]+"/", dir[1:]+"/objects/", dir[1:]+"/h")
		made := make(chan syscall.Errno, 1)
		at := w.at(t, dir)
		meanwhile = func(string, string) {
			go func() {
				var o Opened
				errno := w.Create(caller(), at, "config", unix.O_RDWR, 0o644, new(Entry), &o)
				w.Release(o.Handle)
				made <- errno
			}()
			select {
			case errno := <-made:
				made <- errno
			case <-time.After(50 * time.Millisecond): // it waits, as it should
			}
		}
		if way == "make" {
			want(t, w.Mkdir(caller(), at, "refs", 0o755, new(Entry)), 0, "mkdir")
		} else {
			want(t, w.move(t, "rename", dir+"/h", dir+"/HEAD"), 0, "rename")
		}
		want(t, <-made, syscall.EACCES, "create of a config meanwhile, "+way)
	}

	w := gitWorldOn(t, tree, "e/", "e/HEAD")
	w.put(t, "e/config", goodConfig)
	n, dir := w.at(t, "/e/config"), w.at(t, "/e")
	meanwhile = func(string, string) { w.Mkdir(caller(), dir, "objects", 0o755, new(Entry)) }
	var o Opened
	if w.Open(caller(), n, unix.O_RDWR, &o) == 0 {
		w.Write(caller(), o.Handle, []byte(evilConfig), 0, WriteIn{})
		w.Release(o.Handle)
	}
	if got := w.content(t, "e/config"); got != goodConfig {
		t.Errorf("opened before it became one and written after, the config holds %q", got)
	}
}

// TestGitPointers: a pointer is written whole, and leads to where it led or to
// what the view shows..
func TestGitPointers(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       syscall.Errno
	}{
		{"/sub/.git", "gitdir: ../.git/modules/sub\n", 0},
		{"/sub/.git", "gitdir: /mnt/view/.git/modules/sub\n", 0},
		{"/sub/.git", "gitdir: /memory/.git/modules/sub\n", 0},
		{"/sub/.git", "gitdir: ../../outside\n", syscall.EACCES},
		{"/sub/.git", "gitdir: /tmp/outside\n", syscall.EACCES},
		{"/sub/.git", "gitdir: /mnt/view/../outside\n", syscall.EACCES},
		{"/sub/.git", "gitdir: /mnt/viewer/x\n", syscall.EACCES},
		{"/sub/.git", "gitdir: ../leaves/x\n", syscall.EACCES},
		{"/sub/.git", "gitdir: ../later/../x\n", syscall.EACCES},
		{"/sub/.GIT", "gitdir: /tmp/outside\n", syscall.EACCES},
		{"/sub/.git", "evil\n", syscall.EACCES},
		{"/.git/worktrees/x/commondir", "../..\n", 0},
		{"/.git/worktrees/x/commondir", "/tmp/outside\n", syscall.EACCES},
		{"/.git/worktrees/x/gitdir", "/mnt/view/wt/.git\n", 0},
		{"/.git/commondir", "/tmp/outside\n", syscall.EACCES},
		{"/free/commondir", "/tmp/outside\n", 0},
	} {
		call := fmt.Sprintf("write(%s, %q)", c.file, c.text)
		w := gitWorld(t, append(repository(".git"), ".git/worktrees/", ".git/worktrees/x/", ".git/worktrees/x/HEAD", "sub/", "leaves>/tmp", "free/")...)
		h, errno := w.bear(t, c.file, c.text)
		if errno != c.want {
			t.Errorf("%s = %v, want %v", call, name(errno), name(c.want))
		}
		if got := w.content(t, c.file[1:]); c.want != 0 && got != "" {
			t.Errorf("%s leaves %q", call, got)
		}
		if c.want == 0 && c.file != "/free/commondir" && !strings.HasSuffix(c.file, "/gitdir") {
			_, errno = w.Write(caller(), h, []byte("/tmp/outside"), 0, WriteIn{})
			want(t, errno, syscall.EACCES, "another write after "+call)
			_, errno = w.Write(caller(), h, []byte(c.text), 0, WriteIn{})
			want(t, errno, syscall.EACCES, "a second "+call)
			want(t, w.Allocate(caller(), h, 0, 0, 100), syscall.EACCES, "fallocate after "+call)
		}
		w = gitWorld(t, append(repository(".git"), ".git/worktrees/", ".git/worktrees/x/", ".git/worktrees/x/HEAD", "sub/", "leaves>/tmp", "free/")...)
		_, errno = w.bear(t, "/plain", c.text)
		want(t, errno, 0, "create")
		if errno := w.move(t, "rename", "/plain", c.file); errno != c.want {
			t.Errorf("rename for %s = %v, want %v", call, name(errno), name(c.want))
		}
	}
}

// TestGitPointerIsWrittenAnew to the target that the host gave it.
func TestGitPointerIsWrittenAnew(t *testing.T) {
	w := gitWorld(t, "sub/")
	w.put(t, "sub/.git", "gitdir: /elsewhere/x\n")
	size := uint64(0)
	var a Attr
	for _, text := range []string{"gitdir: /elsewhere/x\n", "gitdir: /elsewhere/y\n"} {
		h := w.open(t, "/sub/.git", unix.O_WRONLY)
		want(t, w.Setattr(caller(), w.at(t, "/sub/.git"), &SetattrIn{Size: &size}, &a), 0, "truncate")
		_, errno := w.Write(caller(), h, []byte(text), 0, WriteIn{})
		want(t, errno, map[bool]syscall.Errno{true: 0, false: syscall.EACCES}[strings.HasSuffix(text, "x\n")], "write of "+text)
	}
}

// TestGitLinksAndDirectories moves and links what git would find by its name.
//
func TestGitLinksAndDirectories(t *testing.T) {
	base := append(repository("bare"), "plain/", "plain/config", "deep/", "deep/sub/", "deep/repo/", "deep/repo/.git/", "evil/", "evil/pre-commit", "link>/tmp", "file")
	for _, c := range []struct {
		call, from, to string
		want           syscall.Errno
	}{
		{"rename", "/plain", "/.git", syscall.EACCES},
		{"rename", "/plain", "/x.git", syscall.EACCES},
		{"rename", "/plain", "/.GIT", syscall.EACCES},
		{"rename", "/plain", "/x", 0},
		{"rename", "/evil", "/bare/hooks", syscall.EACCES},
		{"rename", "/file", "/bare/hooks/pre-commit", syscall.EACCES},
		{"rename", "/bare/hooks/update.sample", "/bare/hooks/update", syscall.EACCES},
		{"link", "/file", "/bare/hooks/pre-commit", syscall.EACCES},
		{"link", "/file", "/bare/hooks/x.sample", 0},
		{"rename", "/link", "/.git", syscall.EACCES},
		{"rename", "/link", "/bare/modules", syscall.EACCES},
		{"rename", "/link", "/bare/worktrees", syscall.EACCES},
		{"rename", "/deep/sub", "/sub", syscall.EXDEV},
		{"rename", "/deep/sub", "/deep/other", 0},
		{"rename", "/deep/repo", "/repo", 0},
		{"rename", "/bare", "/elsewhere", 0},
	} {
		w := gitWorld(t, base...)
		w.put(t, "deep/sub/.git", "gitdir: ../../x\n")
		w.put(t, "deep/repo/.git/config", "[core]\n\tworktree = ..\n")
		if c.from == "/evil" {
			want(t, w.Unlink(caller(), w.at(t, "/bare/hooks"), "update.sample"), 0, "unlink")
			want(t, w.Rmdir(caller(), w.at(t, "/bare"), "hooks"), 0, "rmdir")
		}
		if got := w.move(t, c.call, c.from, c.to); got != c.want {
			t.Errorf("%s(%s, %s) = %v, want %v", c.call, c.from, c.to, name(got), name(c.want))
		}
	}
	w := gitWorld(t, base...)
	var e Entry
	for _, at := range []string{"/.git", "/plain/.Git", "/bare/hooks", "/bare/modules", "/bare/commondir"} {
		if at == "/bare/hooks" {
			w.Unlink(caller(), w.at(t, at), "update.sample")
			w.Rmdir(caller(), w.at(t, "/bare"), "hooks")
		}
		want(t, w.Symlink(caller(), w.at(t, path.Dir(at)), path.Base(at), "/tmp", &e), syscall.EACCES, "symlink "+at)
	}
	mode := uint32(0o755)
	var a Attr
	w = gitWorld(t, append(base, "bare/hooks/update")...)
	want(t, w.Setattr(caller(), w.at(t, "/bare/hooks/update"), &SetattrIn{Mode: &mode}, &a), syscall.EACCES, "chmod of a hook")
	want(t, w.Unlink(caller(), w.at(t, "/bare/hooks"), "update"), syscall.EACCES, "unlink of a hook")
	want(t, w.Open(caller(), w.at(t, "/bare/hooks/update"), unix.O_WRONLY, new(Opened)), syscall.EACCES, "open of a hook")
}

// TestGitWithoutGuard: the checks come and go with the pack.
func TestGitWithoutGuard(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, repository(".git")...)
	_, errno := w.bear(t, "/.git/config", evilConfig)
	want(t, errno, 0, "create of a config without the guard")
}

// TestFreshNamesDoNotExist: the name under which a checked file comes to be is no
// name of a view.
func TestFreshNamesDoNotExist(t *testing.T) {
	fresh := freshPrefix + "X"
	w := gitWorld(t, "dir/", "dir/"+fresh, "file")
	_, errno := w.walk("/dir/" + fresh)
	want(t, errno, syscall.ENOENT, "lookup")
	_, errno = w.bear(t, "/"+fresh, "")
	want(t, errno, syscall.ENOENT, "create")
	want(t, w.Unlink(caller(), w.at(t, "/dir"), fresh), syscall.ENOENT, "unlink")
	want(t, w.move(t, "rename", "/dir/"+fresh, "/x"), syscall.ENOENT, "rename")
	want(t, w.move(t, "rename", "/file", "/"+fresh), syscall.ENOENT, "rename onto it")
	var o Opened
	want(t, w.Opendir(caller(), w.at(t, "/dir"), &o), 0, "opendir")
	defer w.Release(o.Handle)
	want(t, w.Readdir(caller(), o.Handle, 0, func(e DirEntry, _ uint64) bool {
		if isFresh(e.Name) {
			t.Errorf("a listing shows %s", e.Name)
		}
		return true
	}), 0, "readdir")
}

// TestGitConfigTakesNoSetuid has the fresh file not get a bit of the candidate
// that no file of a view gets.
func TestGitConfigTakesNoSetuid(t *testing.T) {
	w := gitWorld(t, repository(".git")...)
	w.put(t, ".git/config.lock", goodConfig) // by the host
	dir, base := parent(t, w.tree, ".git/config.lock")
	obj, err := dir.ObjectAt(base)
	if err != nil {
		t.Fatal(err)
	}
	defer obj.Close()
	if err := obj.Chmod(0o6640); err != nil {
		t.Fatal(err)
	}
	want(t, w.move(t, "rename", "/.git/config.lock", "/.git/config"), 0, "rename")
	if got := w.attr(t, "/.git/config").Mode & 0o7777; got != 0o2640 {
		t.Errorf("mode of the config = %#o, want 02640", got)
	}
}
