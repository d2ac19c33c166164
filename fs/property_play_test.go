package fs

import (
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

// play does one step as the kernel would, and returns what was wrong with its
// success, or "".
func (p *player) play(s step) string {
	switch s.call {
	case "reload":
		p.reload(s.rules)
	case "lookup":
		p.find(s.a)
	case "list":
		if dir, ok := p.find(s.a); ok {
			return p.list(dir)
		}
	case "read", "write", "open":
		return p.use(s)
	case "handle read", "handle write":
		if len(p.handles) > 0 {
			return p.useHandle(p.handles[s.k%len(p.handles)].id, s.call == "handle write")
		}
	case "node open", "node list":
		if len(p.nodes) > 0 {
			return p.useNode(p.nodes[s.k%len(p.nodes)], s.call == "node list")
		}
	case "chmod":
		if num, ok := p.find(s.a); ok {
			mode, out := uint32(0o600+s.k%8), Attr{}
			p.Setattr(caller(), num, &SetattrIn{Mode: &mode}, &out)
		}
	case "forget":
		p.forget(s.k)
	default:
		return p.changeNames(s)
	}
	return p.seen()
}

// find looks a path up as the kernel does, and keeps the nodes.
func (p *player) find(path string) (NodeID, bool) {
	at, here := NodeID(RootID), vpath.Root
	if path == "/" {
		return at, true
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		var e Entry
		here = here.Join(name)
		if errno := p.Lookup(caller(), at, name, &e); errno != 0 {
			return 0, false
		}
		if !p.View().Permitted(here).Has(policy.Stat) {
			p.wrong = append(p.wrong, fmt.Sprintf("a lookup shows %s, of which stat is denied", here))
		}
		p.keepNode(e.Node)
		at = e.Node
	}
	if wrong := p.mayAt(vpath.Path(path), policy.Stat); wrong != "" {
		p.wrong = append(p.wrong, wrong)
	}
	return at, true
}

// seen returns what a lookup should not have shown.
func (p *player) seen() string {
	wrong := strings.Join(p.wrong, "; ")
	p.wrong = nil
	return wrong
}

// mayAt is may for the file that stands at path.
func (p *player) mayAt(path vpath.Path, op policy.Op) string {
	for _, it := range p.before {
		if s := p.secrets[it.id]; it.path == path && s != nil {
			return p.may(s, it.id, op)
		}
	}
	return ""
}

func (p *player) keepNode(num NodeID) {
	if p.count[num]++; p.count[num] == 1 {
		p.nodes = append(p.nodes, num)
	}
}

// forget has the kernel drop a file that is not open.
func (p *player) forget(k int) {
	if len(p.nodes) == 0 {
		return
	}
	i := k % len(p.nodes)
	num := p.nodes[i]
	for _, h := range p.handles {
		if h.node == num {
			return
		}
	}
	n, errno := p.node(num)
	if errno != 0 || n.isDir() {
		return
	}
	if s := p.secrets[n.id]; s != nil {
		s.forgotten = true
	}
	p.Forget(num, p.count[num])
	delete(p.count, num)
	p.nodes = append(p.nodes[:i], p.nodes[i+1:]...)
}

// use opens a path, and reads or writes it, or keeps it open.
func (p *player) use(s step) string {
	num, ok := p.find(s.a)
	if !ok {
		return p.seen()
	}
	flags := uint32(unix.O_RDONLY)
	if s.call == "write" || s.call == "open" && s.k%2 == 0 {
		flags = unix.O_RDWR
	}
	var o Opened
	if p.Open(caller(), num, flags, &o) != 0 {
		return p.seen()
	}
	if s.call == "open" {
		p.handles = append(p.handles, keptHandle{o.Handle, num})
		return p.seen()
	}
	defer p.Release(o.Handle)
	return p.useHandle(o.Handle, s.call == "write")
}

// useHandle reads or writes an open file. The text behind the name of a file
// changes, so that what is read still says which it is.
func (p *player) useHandle(h HandleID, write bool) string {
	if write {
		p.writes++
		p.Write(caller(), h, fmt.Appendf(nil, "%06d", p.writes), 64, WriteIn{})
		return p.seen()
	}
	buf := make([]byte, 100)
	if n, errno := p.Read(caller(), h, buf, 0); errno == 0 {
		return p.got(string(buf[:n]))
	}
	return p.seen()
}

// useNode opens, or lists, what was looked up long ago: /proc/self/fd, or a
// directory that a process stands in.
func (p *player) useNode(num NodeID, list bool) string {
	if list {
		return p.list(num)
	}
	var o Opened
	if p.Open(caller(), num, unix.O_RDONLY, &o) != 0 {
		return ""
	}
	defer p.Release(o.Handle)
	return p.useHandle(o.Handle, false)
}

// list reads a directory: it must be permitted where it is, and no name in it
// may be hidden.
func (p *player) list(num NodeID) string {
	n, errno := p.node(num)
	if errno != 0 || !n.isDir() {
		return ""
	}
	dir := p.pathOf(n)
	var o Opened
	if p.Opendir(caller(), num, &o) != 0 {
		return p.seen()
	}
	defer p.Release(o.Handle)
	var wrong string
	errno = p.Readdir(caller(), o.Handle, 0, func(e DirEntry, _ uint64) bool {
		if e.Name == "." || e.Name == ".." {
			return true
		}
		if path := dir.Join(e.Name); p.View().Decide(path, policy.Stat).Decision == policy.Hide {
			wrong = fmt.Sprintf("a listing shows %s, which is hidden", path)
		}
		return true
	})
	if errno == 0 && !p.View().Permitted(dir).Has(policy.List) {
		wrong = fmt.Sprintf("%s is listed, which is denied", dir)
	}
	if wrong == "" {
		wrong = p.seen()
	}
	return wrong
}

// changeNames makes, moves or removes a name.
func (p *player) changeNames(s step) string {
	from, ok := p.find(parentOf(s.a))
	if !ok {
		return p.seen()
	}
	name := vpath.Path(s.a).Base()
	p.find(s.a)
	var e Entry
	switch s.call {
	case "unlink":
		return p.removedAt(s.a, policy.Unlink, p.Unlink(caller(), from, name))
	case "rmdir":
		return p.removedAt(s.a, policy.Rmdir, p.Rmdir(caller(), from, name))
	case "mkdir":
		p.madeAt(s.a, policy.Mkdir, p.Mkdir(caller(), from, name, 0o755, &e), e)
	case "create":
		var o Opened
		errno := p.Create(caller(), from, name, unix.O_RDWR|unix.O_EXCL, 0o644, &e, &o)
		p.madeAt(s.a, policy.Create, errno, e)
		if errno == 0 {
			p.Release(o.Handle)
		}
	case "rename", "link":
		return p.moveName(s, from, name)
	}
	return p.seen()
}

// moveName renames or links a to b.
func (p *player) moveName(s step, from NodeID, name string) string {
	to, ok := p.find(parentOf(s.b))
	if !ok {
		return p.seen()
	}
	newName := vpath.Path(s.b).Base()
	old, known := p.find(s.a)
	p.find(s.b)
	if s.call == "rename" {
		return p.removedAt(s.a, policy.Rename, p.Rename(caller(), from, name, to, newName))
	}
	var e Entry
	if known {
		p.madeAt(s.b, policy.Link, p.Link(caller(), old, to, newName, &e), e)
	}
	return p.seen()
}

// removedAt checks the success of taking a name away.
func (p *player) removedAt(path string, op policy.Op, errno syscall.Errno) string {
	if errno == 0 && !p.View().Permitted(vpath.Path(path)).Has(op) {
		return fmt.Sprintf("%s took %s away, which is denied", op, path)
	}
	return p.seen()
}

// madeAt checks the success of making a name.
func (p *player) madeAt(path string, op policy.Op, errno syscall.Errno, e Entry) {
	if errno != 0 {
		return
	}
	p.keepNode(e.Node)
	if !p.View().Permitted(vpath.Path(path)).Has(op) {
		p.wrong = append(p.wrong, fmt.Sprintf("%s made %s, which is denied", op, path))
	}
}

func parentOf(path string) string { return string(vpath.Path(path).Dir()) }
