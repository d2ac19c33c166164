package runner

import (
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/fs/bazil"
	"github.com/sandboxfs/sandboxfs/internal/audit"
	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// narrowed is what a child sees of its parent's tree: every walk begins at the
// anchor, so that a link that is put in the way leads nowhere.
type narrowed struct {
	backing.Tree
	below string
}

func (n narrowed) Dir(rel string) (backing.Dir, error) { return n.Tree.Dir(path.Join(n.below, rel)) }

// serve mounts v, whose mounts are directories, and returns where. This process
// must open nothing there: it would wait for itself.
func serve(t *testing.T, v *overlay.View) string {
	t.Helper()
	var trees []backing.Tree
	for _, m := range v.Mounts() {
		tree, err := backing.Open(m.Anchor)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, narrowed{tree, strings.TrimPrefix(strings.TrimPrefix(m.Source, m.Anchor), "/")})
	}
	log, m := slog.New(slog.DiscardHandler), metrics.New(metrics.NewRegistry(), "test")
	server, err := fs.NewServer(fs.Config{View: v, Trees: trees, Recorder: audit.NewTrail("", "", new(audit.Memory)), Metrics: m, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	at := realDir(t)
	mount, err := bazil.New(at, server, bazil.Options{FSName: "test", AllowOther: true, Metrics: m, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- mount.Serve() }()
	t.Cleanup(func() {
		if err := mount.Unmount(false); err != nil {
			t.Errorf("unmount: %v", err)
			mount.Unmount(true)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve() = %v", err)
		}
		server.Close()
	})
	return at
}

// script runs on the host, in another process than the one that serves.
func script(t *testing.T, text string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-euc", text, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sh -c %q = %v\n%s", text, err, out)
	}
	return string(out)
}

// walk lists what is below $1: names, types, modes, sizes, contents.
const walk = `set +e; cd "$1"; find . | LC_ALL=C sort | while read -r f; do stat -c '%n %F %a %u %s' "$f"; test -h "$f" && readlink "$f"; test -f "$f" && md5sum "$f" 2>/dev/null; done; true`

// One path names one file for a process of the host, git, a container, and a
// container of a child that is restricted to a directory; for that one nothing
// else is there, and it gets no more than its parent. S0-06, S0-08, C-02.
func TestEngineChildView(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root lets others into a view")
	}
	dir := realDir(t)
	script(t, `cd "$1"; mkdir -p project/src/deep project/other policies; cd project
echo main > src/main.ts; echo deep > src/deep/file; echo x > src/.env; echo no > other/file; ln -s deep/file src/link
git init -q src; git -C src add main.ts deep; git -C src commit -qm one; chmod -R a+rwX .
echo 'root: project
policy: agent
policies: [policies]
guards: []' > ../profile.yaml
echo 'version: 1
file_rules:
  - {name: no-env, paths: ["/**/.env"], operations: [open, write], decision: deny}
  - {name: all, paths: ["/**"], operations: ["*"], decision: allow}' > ../policies/agent.yaml`, dir)
	p, problems := profile.Load(filepath.Join(dir, "profile.yaml"))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	library, problems := p.Library()
	parent, _, more := p.Build(library)
	if err := append(problems, more...).Err(); err != nil {
		t.Fatal(err)
	}
	child, err := parent.Restrict(overlay.Restriction{Restrict: vpath.Path("/src")})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	parentAt, childAt := serve(t, parent), serve(t, child)
	inside := func(session, at string) Container {
		return r.ensure(Spec{Session: session, Binds: []Bind{{Source: at, Target: "/work"}}, Dir: "/work"})
	}
	whole, part := inside("parent", parentAt), inside("child", childAt)
	defer r.Remove(t.Context(), "parent") // before the views are unmounted
	defer r.Remove(t.Context(), "child")

	onHost := script(t, walk, parentAt)
	inParent, _ := r.sh(whole, "set -- /work; "+walk)
	if strings.TrimSpace(onHost) != inParent || !strings.Contains(inParent, "./other/file regular file") {
		t.Errorf("the host sees\n%s\nand the container\n%s", onHost, inParent)
	}
	srcOfParent, _ := r.sh(whole, "set -- /work/src; "+walk)
	srcOfChild, _ := r.sh(part, "set -- /work/src; "+walk)
	if srcOfParent != srcOfChild || !strings.Contains(srcOfChild, "./deep/file regular file") {
		t.Errorf("/src is in the parent's container\n%s\nand in the child's\n%s", srcOfParent, srcOfChild)
	}
	const git = `git -C "$1/src" ls-files -s; git -C "$1/src" status --porcelain; cd "$1/src/deep"; git rev-parse --show-prefix HEAD`
	if a, b := script(t, git, parentAt), script(t, git, childAt); a != b || !strings.Contains(a, "deep/file") {
		t.Errorf("git says on the parent's view\n%s\nand on the child's\n%s", a, b)
	}
	r.wantOutput(part, "ls -A /work; cat /work/src/../other/file /work/other/file 2>&1", "src\ncat: can't open '/work/src/../other/file': No such file or directory\ncat: can't open '/work/other/file': No such file or directory")
	r.wantOutput(part, "cat /work/src/.env 2>&1; echo x 2>&1 > /work/new", "cat: can't open '/work/src/.env': Permission denied\nsh: can't create /work/new: Permission denied")
	r.wantOutput(part, "echo by the child > /work/src/new; cat /work/src/link", "deep")
	r.wantOutput(whole, "cat /work/src/new", "by the child")
	if got := script(t, `cat "$1/src/new" "$2/project/src/new"`, childAt, dir); got != "by the child\nby the child\n" {
		t.Errorf("the host reads %q of what the child made", got)
	}
}
