package fs

import (
	"math/rand"
	"path"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/gitguard"
)

// Where random calls go, and what they leave there.
var (
	randomDirs  = []string{"", "/x", "/y", "/x/y", "/.git", "/x/.git", "/z.git", "/x/hooks", "/x/remotes"}
	randomNames = []string{"config", "config.worktree", "HEAD", "objects", "refs", "hooks", "remotes", "commondir", "gitdir", ".git",
		"plain", "config.lock", "pre-commit", "a.sample", "x", "y", "z.git"}
	randomTexts = []string{goodConfig, evilConfig, "gitdir: /outside\n", "/outside\n", "ref: refs/heads/main\n"}
)

// TestGitRandomCalls makes calls of all kinds from several goroutines at once.
// When they rest, there is no directory of git in the backing with anything in
// it that was not checked..
func TestGitRandomCalls(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 20
	}
	for seed := range rounds {
		w := gitWorld(t)
		var all sync.WaitGroup
		for i := range 3 {
			all.Add(1)
			go func() {
				defer all.Done()
				w.random(rand.New(rand.NewSource(int64(seed*3+i))), 250)
			}()
		}
		all.Wait()
		if w.checkGit(t, "", false); t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// random makes count calls and closes what it has opened.
func (w *world) random(r *rand.Rand, count int) {
	pick := func(from []string) string { return from[r.Intn(len(from))] }
	dir := func() NodeID { e, _ := w.walk(pick(randomDirs)); return e.Node }
	var open []HandleID
	var e Entry
	var o Opened
	var a Attr
	for range count {
		name, text := pick(randomNames), []byte(pick(randomTexts))
		switch at := dir(); r.Intn(13) {
		case 0, 1:
			w.Mkdir(caller(), at, name, 0o755, &e)
		case 2, 3:
			if w.Create(caller(), at, name, unix.O_RDWR|unix.O_CREAT, 0o644, &e, &o) == 0 {
				open = append(open, o.Handle)
				w.Write(caller(), o.Handle, text, 0, WriteIn{})
			}
		case 4:
			if w.Lookup(caller(), at, name, &e) == 0 && w.Open(caller(), e.Node, unix.O_RDWR, &o) == 0 {
				open = append(open, o.Handle)
			}
		case 5, 6:
			if len(open) > 0 {
				w.Write(caller(), open[r.Intn(len(open))], text, 0, WriteIn{FromCache: r.Intn(2) == 0})
			}
		case 7:
			if w.Lookup(caller(), at, name, &e) == 0 {
				w.Link(caller(), e.Node, dir(), pick(randomNames), &e)
			}
		case 8, 9, 10:
			w.Rename(caller(), at, name, dir(), pick(randomNames))
		case 11:
			if w.Lookup(caller(), at, name, &e) == 0 {
				w.Forget(e.Node, 1<<20)
			}
		default:
			size := uint64(r.Intn(40))
			if w.Lookup(caller(), at, name, &e) == 0 && r.Intn(2) == 0 {
				w.Setattr(caller(), e.Node, &SetattrIn{Size: &size}, &a)
			} else if r.Intn(3) == 0 {
				w.Unlink(caller(), at, name)
			} else {
				w.Symlink(caller(), at, name, "/outside", &e)
			}
		}
	}
	for _, h := range open {
		w.Release(h)
	}
}

// checkGit looks through the backing for what git would take from the view, or
// write through; inside says that dir is in a directory of git.
func (w *world) checkGit(t *testing.T, dir string, inside bool) {
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
	guarded := gitguard.NamesGitDir(path.Base("/"+dir)) || holdsGit(d, gitguard.Other)
	for _, e := range entries {
		at := strings.TrimPrefix(dir+"/"+e.Name, "/")
		kind := gitguard.NameOf(e.Name)
		if e.Type == unix.DT_DIR {
			if kind.Closed() && guarded && !empty(d, e.Name, kind) {
				t.Errorf("%s holds %q", at, w.list(t, at))
			}
			w.checkGit(t, at, inside || guarded)
			continue
		}
		if e.Type == unix.DT_LNK && (inside || guarded) {
			t.Errorf("%s is a link in a directory of git", at)
		}
		if isFresh(e.Name) {
			t.Errorf("%s is left behind", at)
		}
		if kind != gitguard.Gitfile && !(guarded && (kind.Guarded() || kind.Closed() && e.Type == unix.DT_LNK)) {
			continue
		}
		if e.Type == unix.DT_LNK {
			t.Errorf("%s is a link", at)
		} else if text := w.content(t, at); text == evilConfig || kind != gitguard.Gitfile && strings.HasPrefix(text, "/outside") || kind == gitguard.Gitfile && strings.HasPrefix(text, "gitdir: /outside") {
			t.Errorf("%s holds %q", at, text)
		}
	}
}
