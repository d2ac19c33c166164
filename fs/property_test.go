package fs

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

var propertySeed = flag.Uint64("seed", 0, "of the one run of TestNoWayRoundTheRules; 0 means many")

// step is one operation of a script.
type step struct {
	call  string
	a, b  string   // paths
	k     int      // which of the handles or nodes that are kept
	rules []string // of a reload
}

func (s step) String() string {
	if s.call == "reload" {
		return "reload " + strings.Join(s.rules, "; ")
	}
	return strings.TrimSpace(fmt.Sprint(s.call, " ", s.a, " ", s.b, " ", s.k))
}

// TestNoWayRoundTheRules runs random scripts under random rules on random trees.
// Whatever is moved, linked, forgotten and reloaded, nothing is read, written or
// seen that the rules deny to the path it has, or denied to the one that it came
// from. A failure prints its seed and the shortest script that was found. S1-02,
// S1-09, X-01, X-02, X-05.
func TestNoWayRoundTheRules(t *testing.T) {
	if *propertySeed != 0 {
		tryScript(t, *propertySeed)
		return
	}
	first := uint64(time.Now().UnixNano())
	for seed := first; seed < first+150 && !t.Failed(); seed++ {
		tryScript(t, seed)
	}
}

func tryScript(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	files, script := randomTree(r), randomScript(r, 120)
	wrong := play(t, files, script)
	if wrong == "" {
		return
	}
	script, wrong = shrink(t, files, script, wrong)
	lines := make([]string, len(script))
	for i, s := range script {
		lines[i] = s.String()
	}
	t.Errorf("-seed %d: %s\ntree: %s\n%s", seed, wrong, strings.Join(files, " "), strings.Join(lines, "\n"))
}

// shrink leaves out steps as long as something goes wrong without them.
func shrink(t *testing.T, files []string, script []step, wrong string) ([]step, string) {
	for size := len(script) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(script); {
			shorter := slices.Delete(slices.Clone(script), at, at+size)
			if still := play(t, files, shorter); still != "" {
				script, wrong = shorter, still
			} else {
				at += size
			}
		}
	}
	return script, wrong
}

// propertyNames are few, so that scripts meet their own traces.
var propertyNames = []string{"a", "b", "c"}

func randomPath(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(3) {
		b.WriteString("/" + propertyNames[r.IntN(len(propertyNames))])
	}
	return b.String()
}

// randomTree lists directories and files, as fill takes them.
func randomTree(r *rand.Rand) []string {
	var tree []string
	for _, x := range propertyNames {
		tree = append(tree, x+"/")
		for _, y := range propertyNames {
			if r.IntN(2) == 0 {
				tree = append(tree, x+"/"+y)
				continue
			}
			tree = append(tree, x+"/"+y+"/")
			for _, z := range propertyNames {
				if r.IntN(2) == 0 {
					tree = append(tree, x+"/"+y+"/"+z)
				}
			}
		}
	}
	return tree
}

func randomRules(r *rand.Rand) []string {
	globs := []string{"/a/**", "/b/**", "/**/a", "/**/b", "/**/c/**", "/a/b/**", "/*/b", "/c/*", "/b/c/a", "/a/*/c", "/**/b/a"}
	ops := []string{"*", "read", "write", "create", "delete", "stat", "list", "open", "link", "rename", "read,write", "unlink", "mkdir", "exec"}
	decisions := []string{"deny", "deny", "hide", "allow", "audit"}
	var lines []string
	for i := range 1 + r.IntN(5) {
		lines = append(lines, fmt.Sprintf("r%d %s %s %s", i, decisions[r.IntN(len(decisions))], ops[r.IntN(len(ops))], globs[r.IntN(len(globs))]))
	}
	return append(lines, allowAll)
}

func randomScript(r *rand.Rand, length int) []step {
	calls := []string{"lookup", "lookup", "read", "write", "open", "rename", "rename", "rename", "link", "link", "unlink", "rmdir",
		"mkdir", "create", "list", "handle read", "handle write", "node open", "node list", "forget", "chmod"}
	script := []step{{call: "reload", rules: randomRules(r)}}
	for len(script) < length {
		s := step{call: calls[r.IntN(len(calls))], a: randomPath(r), b: randomPath(r), k: r.IntN(100)}
		if r.IntN(12) == 0 {
			s = step{call: "reload", rules: randomRules(r)}
		}
		script = append(script, s)
	}
	return script
}

// player plays a script on a world and knows from beside what is where.
type player struct {
	*world
	t *testing.T

	handles []keptHandle
	nodes   []NodeID
	count   map[NodeID]uint64 // of lookups

	writes int
	wrong  []string // what lookups have shown, and should not have

	before  []item
	secrets map[backing.ID]*secret
}

type keptHandle struct {
	id   HandleID
	node NodeID
}

// secret is a file of the tree as it was at first.
type secret struct {
	text   string
	rights policy.OpSet // what the rules have permitted to a path that it had, when they came
	last   vpath.Path   // where it was seen last

	// forgotten says that the kernel has dropped the file: the daemon need not
	// know all of its names from then on.
	forgotten bool
}

// item is a name of the backing.
type item struct {
	path vpath.Path
	id   backing.ID
	dir  bool
	mode uint32
	data string
}

// play returns what went wrong in a script, or "".
func play(t *testing.T, files []string, script []step) (wrong string) {
	t.Run("", func(t *testing.T) { wrong = playIn(t, files, script) }) // ends the world
	return wrong
}

func playIn(t *testing.T, files []string, script []step) string {
	w := newWorld(t, allowAll)
	w.fill(t, files...)
	p := &player{world: w, t: t, count: map[NodeID]uint64{}, secrets: map[backing.ID]*secret{}}
	defer func() {
		for _, h := range p.handles {
			w.Release(h.id)
		}
	}()
	p.before = p.items()
	for _, it := range p.before {
		if !it.dir {
			p.secrets[it.id] = &secret{text: it.data, rights: policy.AllOps, last: it.path}
		}
	}
	for _, s := range script {
		wrong := p.play(s)
		if wrong == "" {
			wrong = p.changed()
		}
		if wrong != "" {
			return fmt.Sprintf("%s: %s", s, wrong)
		}
	}
	return ""
}

// items lists the backing.
func (p *player) items() []item {
	var list []item
	var walk func(rel string)
	walk = func(rel string) {
		d, err := p.tree.Dir(rel)
		if err != nil {
			p.t.Fatal(err)
		}
		defer d.Close()
		entries, err := d.ReadDir()
		if err != nil {
			p.t.Fatal(err)
		}
		for _, e := range entries {
			below := strings.TrimPrefix(rel+"/"+e.Name, "/")
			st, err := d.StatAt(e.Name)
			if err != nil {
				p.t.Fatal(err)
			}
			it := item{path: vpath.Path("/" + below), id: st.ID(), dir: st.IsDir(), mode: st.Mode}
			if !it.dir {
				it.data = dataOf(p.t, d, e.Name)
			}
			list = append(list, it)
			if it.dir {
				walk(below)
			}
		}
	}
	walk("")
	return list
}

func dataOf(t *testing.T, d backing.Dir, name string) string {
	f, err := d.OpenAt(name, unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 200)
	n, err := f.ReadAt(buf, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// reload puts rules in force: what they say of where things are is from now on
// what may be done to them.
func (p *player) reload(lines []string) {
	if err := p.Swap(viewOf(p.t, lines...)); err != nil {
		p.t.Fatal(err)
	}
	for _, s := range p.secrets {
		s.rights = 0
	}
	for _, it := range p.before {
		if s := p.secrets[it.id]; s != nil {
			s.rights |= p.View().Permitted(it.path)
		}
	}
	for _, s := range p.secrets {
		if s.rights == 0 {
			s.rights = p.View().Permitted(s.last)
		}
	}
}

// may returns why op on a file of the tree is not right, or "".
func (p *player) may(s *secret, id backing.ID, op policy.Op) string {
	if !s.rights.Has(op) {
		return fmt.Sprintf("%s of %q, which the rules deny to the path that it came from", op, s.text)
	}
	here, denied := 0, vpath.Path("")
	for _, it := range p.before {
		if it.id != id {
			continue
		}
		here++
		if !p.View().Permitted(it.path).Has(op) {
			denied = it.path
		} else if s.forgotten {
			return ""
		}
	}
	if here == 0 && !p.View().Permitted(s.last).Has(op) {
		denied = s.last
	}
	if denied == "" {
		return ""
	}
	return fmt.Sprintf("%s of %q, which the rules deny to its name %s", op, s.text, denied)
}

// got returns why text should not have been read.
func (p *player) got(text string) string {
	for id, s := range p.secrets {
		if strings.HasPrefix(text, s.text+"\x00") || text == s.text {
			return p.may(s, id, policy.Read)
		}
	}
	return ""
}

// changed compares the backing with what it was before the step.
func (p *player) changed() string {
	now := p.items()
	for id, s := range p.secrets {
		same := func(it item) bool { return it.id == id }
		was, is := slices.IndexFunc(p.before, same), slices.IndexFunc(now, same)
		if was < 0 || is < 0 {
			continue
		}
		if p.before[was].data != now[is].data {
			if wrong := p.may(s, id, policy.Write); wrong != "" {
				return wrong
			}
		}
		if p.before[was].mode != now[is].mode {
			if wrong := p.may(s, id, policy.Chmod); wrong != "" {
				return wrong
			}
		}
		s.last = now[is].path
	}
	p.before = now
	return ""
}
