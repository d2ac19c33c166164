package bazil

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// TestModel does random things to a view from several processes, with reloads
// and changes by the host between them, and does each to a model of the tree
// and of the policy as well. Errnos, answers, events and the tree behind the view
// must be those of the model after each step. A sequence that fails is made as
// short as it goes, and printed with its seed, by which it is found again:
//
//	SANDBOXFS_MODEL_SEED=7 go test -run TestModel$ ./fs/bazil
//
// With SANDBOXFS_SOAK it goes on for SANDBOXFS_SOAK_TIME, or ten minutes. C-06, X-01, X-02, X-05, X-06.
func TestModel(t *testing.T) {
	if text := os.Getenv("SANDBOXFS_MODEL_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		check(t, err, nil, "SANDBOXFS_MODEL_SEED")
		modelRun(t, seed)
		return
	}
	if os.Getenv("SANDBOXFS_SOAK") == "" {
		for seed := range uint64(8) {
			modelRun(t, seed)
		}
		return
	}
	long, err := time.ParseDuration(cmp.Or(os.Getenv("SANDBOXFS_SOAK_TIME"), "10m"))
	check(t, err, nil, "SANDBOXFS_SOAK_TIME")
	begin := time.Now()
	seed := uint64(begin.UnixNano())
	for ; time.Since(begin) < long && !t.Failed(); seed++ {
		modelRun(t, seed)
	}
}

const (
	modelProcs = 3
	modelSteps = 200
)

var modelNames = []string{"a", "b", "c"}

// modelRun tries the sequence of a seed.
func modelRun(t *testing.T, seed uint64) {
	t.Run(fmt.Sprint("seed-", seed), func(t *testing.T) {
		policy, steps := randomSteps(rand.New(rand.NewPCG(seed, 0)))
		at, wrong := modelTry(t, policy, steps)
		if wrong == "" {
			return
		}
		steps, wrong = shrink(t, policy, steps[:at+1], wrong)
		t.Errorf("seed %d: %s\npolicy %s\nsteps:", seed, wrong, brief(policy))
		for i := range steps {
			t.Logf("%3d %s", i, brief(steps[i]))
		}
	})
}

func brief(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// shrink leaves out steps, as long as something still goes wrong and it takes
// no longer than a minute.
func shrink(t *testing.T, policy modelPolicy, steps []step, wrong string) ([]step, string) {
	begin := time.Now()
	for n := len(steps) / 2; n > 0; n /= 2 {
		for from := 0; from+n <= len(steps) && time.Since(begin) < time.Minute; {
			fewer := slices.Concat(steps[:from], steps[from+n:])
			if at, w := modelTry(t, policy, fewer); w != "" {
				steps, wrong = fewer[:at+1], w
			} else {
				from += n
			}
		}
	}
	return steps, wrong
}

// modelTry does steps to a new view, and returns the first that goes wrong.
func modelTry(t *testing.T, policy modelPolicy, steps []step) (at int, wrong string) {
	t.Run("try", func(t *testing.T) {
		c := startChecker(t, policy)
		for at = range steps {
			if wrong = c.step(&steps[at]); wrong != "" {
				wrong = fmt.Sprintf("step %d, %s: %s", at, brief(steps[at]), wrong)
				return
			}
		}
	})
	return at, wrong
}

// checker holds a view against its model.
type checker struct {
	t      *testing.T
	model  model
	view   *view
	actors []*actor
	used   bool      // the kernel has been asked for something
	turned time.Time // when something was changed that the kernel hears of later
}

// modelLifetime is how long the kernel believes names and attributes.
const modelLifetime = 20 * time.Millisecond

func startChecker(t *testing.T, policy modelPolicy) *checker {
	source := tempDir(t)
	tree, err := backing.Open(source)
	check(t, err, nil, "open the source")
	c := &checker{t: t, model: model{tree: newModelTree(), policy: policy, open: make([][slots]*held, modelProcs)}}
	c.view = mountWith(t, source, c.overlay(source), func(config *fs.Config) { config.Lifetime = modelLifetime }, tree)
	for range modelProcs {
		c.actors = append(c.actors, startActor(t, c.view.at))
	}
	return c
}

// overlay returns the view of the policy that the model has.
func (c *checker) overlay(source string) *overlay.View {
	c.t.Helper()
	var layers []overlay.Layer
	for _, rules := range c.model.policy.Layers {
		layers = append(layers, overlay.Layer{Kind: "mount", Policy: parsePolicy(c.t, text(rules))})
	}
	v, err := overlay.New([]overlay.Mount{{Target: "/", Source: source, ReadOnly: c.model.policy.Readonly, Layers: layers}})
	check(c.t, err, nil, "overlay.New")
	return v
}

// step does one step and says what was wrong.
func (c *checker) step(s *step) string {
	switch s.Do {
	case "reload":
		c.model.policy = *s.Turn
		c.model.turn++
		if err := c.view.server.Swap(c.overlay(c.view.backing)); err != nil {
			return err.Error()
		}
		c.settle()
	case "host":
		if err := c.host(s); err != nil {
			return err.Error()
		}
		if c.used {
			time.Sleep(3 * modelLifetime)
			c.turned = time.Now()
		}
	default:
		c.used = true
		if wrong := c.compare(s); wrong != "" {
			return wrong
		}
	}
	host, err := describeHost(c.view.backing)
	if err != nil {
		return err.Error()
	}
	return diff(host, c.model.tree.describe())
}

// settle waits until the kernel has been told of a reload, or of a name that is
// another one.
func (c *checker) settle() {
	c.turned = time.Now()
	told := func() (sum float64) {
		for _, n := range c.view.counters("sandboxfs_invalidations_total") {
			sum += n
		}
		return sum
	}
	for last := -1.0; last != told(); time.Sleep(10 * time.Millisecond) {
		last = told()
	}
}

// compare does a step to both. The kernel may answer by what it knew for as long
// as a change is not a few seconds old: what has changed nothing is tried again.
func (c *checker) compare(s *step) string {
	for {
		e, apply, want := c.model.expect(s)
		start := c.view.records.count()
		got, err := c.actors[s.Proc].do(s)
		if err != nil {
			return "the process that did it: " + err.Error()
		}
		wrong := e.wrong(got.Errno, c.view.records.count()-start)
		if wrong == "" && got.Errno == 0 {
			wrong = want.differs(&got)
		}
		if wrong == "" && got.Errno == 0 {
			if apply(); s.Do == "rename" || s.Do == "link" {
				c.settle()
			}
		}
		harmless := got.Errno != 0 || slices.Contains(queries, s.Do)
		if wrong == "" || !harmless || time.Since(c.turned) > 3*time.Second {
			return wrong
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// differs says in what an answer is not the one that was wanted.
func (a *answered) differs(got *answered) string {
	if a == nil || a.Data == got.Data && slices.Equal(a.Names, got.Names) && a.Kind == got.Kind && a.Mode == got.Mode &&
		(a.Kind == 'd' || a.Size == got.Size && a.Links == got.Links) {
		return ""
	}
	return fmt.Sprintf("answered %s, want %s", brief(got), brief(a))
}

// host changes the backing beside the view.
func (c *checker) host(s *step) error {
	name, o := filepath.Join(c.view.backing, s.A), c.model.tree[s.A]
	dir := c.model.tree[filepath.Dir(s.A)]
	switch {
	case dir == nil || dir.kind != 'd':
	case o == nil && s.B == "dir":
		c.model.tree[s.A] = &object{kind: 'd', mode: 0o755}
		return unix.Mkdir(name, 0o755)
	case o == nil:
		c.model.tree[s.A] = &object{kind: 'f', mode: 0o644, content: s.Data}
		return os.WriteFile(name, []byte(s.Data), 0o644)
	case s.B == "remove" && o.kind == 'f' && len(c.model.tree.paths(o)) == 1:
		c.model.tree.remove(s.A)
		return unix.Unlink(name)
	case o.kind == 'f':
		o.content = s.Data
		return os.WriteFile(name, []byte(s.Data), 0o644)
	}
	return nil
}

// randomSteps returns a policy and what happens under it.
func randomSteps(r *rand.Rand) (modelPolicy, []step) {
	policy := randomPolicy(r)
	steps := make([]step, modelSteps)
	for i := range steps {
		steps[i] = randomStep(r)
	}
	for i := range 20 { // something to begin with, whatever the policy says
		steps[i] = step{Do: "host", A: randomPath(r), B: pick(r, "dir", "file"), Data: "begin"}
	}
	return policy, steps
}

func randomStep(r *rand.Rand) step {
	switch r.IntN(60) {
	case 0, 1:
		p := randomPolicy(r)
		return step{Do: "reload", Turn: &p}
	case 2:
		return step{Do: "host", A: randomPath(r), B: pick(r, "dir", "file", "remove", "write"), Data: randomText(r)}
	}
	s := step{Proc: r.IntN(modelProcs), A: randomPath(r), B: randomPath(r), Slot: r.IntN(slots), Size: int64(r.IntN(12)), Data: randomText(r)}
	s.Mode = []uint32{0o600, 0o640, 0o644, 0o700, 0o755}[r.IntN(5)]
	s.Flag = []int{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR, unix.O_WRONLY | unix.O_APPEND, unix.O_CREAT | unix.O_EXCL | unix.O_RDWR}[r.IntN(5)]
	s.Do = pick(r, "stat", "stat", "read", "write", "append", "truncate", "mkdir", "mkdir", "rmdir", "unlink", "rename", "rename", "rename",
		"link", "link", "symlink", "readlink", "chmod", "setxattr", "getxattr", "list", "list", "open", "open", "open", "open", "close",
		"fread", "fwrite", "fstat", "ftruncate", "fchmod")
	switch {
	case s.Do == "symlink":
		s.B = randomPath(r)[1:]
	case s.Do == "chmod" || s.Do == "fchmod":
		s.Mode |= 0o700 // whoever is not root must get on
	}
	return s
}

func randomPath(r *rand.Rand) string {
	p := ""
	for range 1 + r.IntN(3) {
		p += "/" + pick(r, modelNames...)
	}
	return p
}

func randomText(r *rand.Rand) string { return fmt.Sprint(r.IntN(1000)) }
