package bazil

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// model is what the view should be.
type model struct {
	tree   modelTree
	policy modelPolicy
	turn   int // number of the policy
	open   [][slots]*held
}

// held is an open descriptor.
type held struct {
	object *object
	flags  int
	maker  string // the name under which it made its object; "" if it did not
}

// queries change nothing, so that they can be asked again.
var queries = []string{"stat", "read", "readlink", "getxattr", "list", "fread", "fstat"}

// expect says what should come of a step, and returns what it does to the model
// and, of a query, what the answer should be.
func (m *model) expect(s *step) (e expected, apply func(), want *answered) {
	if slices.Contains([]string{"fread", "fwrite", "fstat", "ftruncate", "fchmod", "close", "open"}, s.Do) {
		return m.expectHeld(s)
	}
	apply = func() {}
	switch s.Do {
	case "stat":
		if _, o := m.found(&e, s.A, false); o != nil {
			want = m.statOf(o)
		}
	case "read":
		if at, o := m.found(&e, s.A, true); o != nil {
			if m.opens(&e, at, o, unix.O_RDONLY); o.kind == 'd' {
				e.fails(unix.EISDIR)
			}
			want = &answered{Data: o.content}
		}
	case "write", "append":
		if at, o := m.found(&e, s.A, true); o != nil {
			m.opens(&e, at, o, unix.O_WRONLY)
			apply = func() {
				if s.Do == "write" {
					o.content = ""
				}
				o.content += s.Data
			}
		}
	case "truncate":
		if at, o := m.found(&e, s.A, true); o != nil {
			if o.kind == 'd' {
				e.fails(unix.EISDIR)
				break
			}
			e.asked(m.verdicts(at, o, "truncate"))
			apply = func() { o.resize(s.Size) }
		}
	case "chmod":
		if at, o := m.found(&e, s.A, true); o != nil {
			e.asked(m.verdicts(at, o, "chmod"))
			apply = func() { o.mode = s.Mode }
		}
	case "setxattr", "getxattr":
		if at, o := m.found(&e, s.A, true); o != nil {
			if e.asked(m.verdicts(at, o, s.Do)); s.Do == "getxattr" && o.xattr == "" {
				e.fails(unix.ENODATA)
			}
			if s.Do == "getxattr" {
				want = &answered{Data: o.xattr}
			}
			apply = func() { o.xattr = s.Data }
		}
	case "list":
		if at, o := m.found(&e, s.A, true); o != nil {
			if o.kind != 'd' {
				e.fails(unix.ENOTDIR)
				break
			}
			e.asked(m.verdicts(at, o, "list"))
			want = &answered{Names: m.listed(at)}
		}
	case "readlink":
		if at, o := m.found(&e, s.A, false); o != nil {
			if o.kind != 'l' {
				e.fails(unix.EINVAL)
				break
			}
			e.asked(m.verdicts(at, o, "readlink"))
			want = &answered{Data: o.content}
		}
	default:
		apply = m.expectNames(&e, s)
	}
	if slices.Contains(queries, s.Do) {
		apply = func() {}
	}
	return e, apply, want
}

// expectNames is expect for what makes, moves or removes a name.
func (m *model) expectNames(e *expected, s *step) (apply func()) {
	nothing := func() {}
	switch s.Do {
	case "mkdir", "symlink":
		at := m.vacant(e, s.A, s.Do)
		return func() {
			o := &object{kind: 'd', mode: 0o755}
			if s.Do == "symlink" {
				o = &object{kind: 'l', content: s.B}
			}
			m.tree[at] = o
			o.meet(at, m.turn)
		}
	case "rmdir", "unlink":
		at, o := m.found(e, s.A, false)
		if o == nil {
			return nothing
		}
		switch {
		case s.Do == "rmdir" && o.kind != 'd':
			e.fails(unix.ENOTDIR)
		case s.Do == "unlink" && o.kind == 'd':
			e.fails(unix.EISDIR)
		case len(m.tree.names(at)) > 0:
			e.fails(unix.ENOTEMPTY)
		}
		e.asked(m.verdicts(at, o, s.Do))
		return func() { m.tree.remove(at) }
	case "link":
		return m.expectLink(e, s)
	case "rename":
		return m.expectRename(e, s)
	}
	panic("no step " + s.Do)
}

func (m *model) expectLink(e *expected, s *step) (apply func()) {
	from, o := m.found(e, s.A, false)
	to := m.vacant(e, s.B, "link")
	if o == nil {
		return func() {}
	}
	if o.kind == 'd' {
		e.fails(unix.EPERM)
	}
	e.asked(m.verdicts(from, o, "read"))
	e.asked(m.verdicts(from, o, "write"))
	if to != "" && o.kind != 'd' {
		e.gained(m, m.tree.paths(o), to)
	}
	return func() {
		m.tree[to] = o
		o.meet(to, m.turn)
	}
}

// gained notes the refusal of a further name by which a file could be used for
// more than by one of the names that it has: which one is asked, nothing says.
func (e *expected) gained(m *model, from []string, to string) {
	gain := 0
	for _, p := range from {
		if m.policy.gains(p, to, finer["create"]) {
			gain++
		}
	}
	switch {
	case gain == len(from):
		e.refused(unix.EXDEV)
	case gain > 0:
		e.may, e.ruled = append(e.may, unix.EXDEV), append(e.ruled, unix.EXDEV)
	}
}

func (m *model) expectRename(e *expected, s *step) (apply func()) {
	nothing := func() {}
	from, o := m.found(e, s.A, false)
	to, target, ok := m.walk(e, s.B, false)
	if o == nil || !ok || o == target {
		if o != nil && o != target {
			e.asked(m.verdicts(from, o, "rename"))
		}
		e.mayFail(unix.EINVAL, unix.ENOTEMPTY) // of one below the other, found before or after the rest
		return nothing
	}
	switch {
	case strings.HasPrefix(to, from+"/"):
		e.fails(unix.EINVAL)
	case strings.HasPrefix(from, to+"/"):
		e.fails(unix.ENOTEMPTY)
	case target == nil:
	case o.kind == 'd' && target.kind != 'd':
		e.fails(unix.ENOTDIR)
	case o.kind != 'd' && target.kind == 'd':
		e.fails(unix.EISDIR)
	case len(m.tree.names(to)) > 0:
		e.fails(unix.ENOTEMPTY)
	}
	e.asked(m.verdicts(from, o, "rename"))
	if target == nil {
		e.asked(m.verdicts(to, nil, "create"))
	} else {
		e.asked(m.verdicts(to, target, "write"))
	}
	if o.kind != 'd' {
		e.gained(m, []string{from}, to)
	} else if slices.ContainsFunc(append(m.tree.below(from), ""), func(rest string) bool {
		return m.policy.gains(from+rest, to+rest, nil) || m.policy.loses(from+rest, to+rest)
	}) {
		e.refused(unix.EXDEV)
	}
	return func() { m.tree.move(from, to, m.turn) }
}

// opens notes what an open asks for.
func (m *model) opens(e *expected, at string, o *object, flags int) {
	if o.kind == 'd' {
		if flags&unix.O_ACCMODE != unix.O_RDONLY {
			e.fails(unix.EISDIR)
		} else {
			e.asked(m.verdicts(at, o, "list"))
		}
		return
	}
	e.asked(m.verdicts(at, o, "open"))
	if flags&unix.O_ACCMODE != unix.O_WRONLY {
		e.asked(m.verdicts(at, o, "read"))
	}
	if flags&unix.O_ACCMODE != unix.O_RDONLY {
		e.asked(m.verdicts(at, o, "write"))
	}
}

// expectHeld is expect for what is done with a descriptor.
func (m *model) expectHeld(s *step) (e expected, apply func(), want *answered) {
	slot := &m.open[s.Proc][s.Slot]
	h := *slot
	apply = func() {}
	if s.Do == "open" {
		*slot = nil
		return e, m.expectOpen(&e, s, slot), nil
	}
	if h == nil {
		e.fails(unix.EBADF)
		if s.Do == "close" {
			e = expected{}
		}
		return e, apply, &answered{}
	}
	access := h.flags & unix.O_ACCMODE
	switch s.Do {
	case "close":
		apply = func() { *slot = nil }
	case "fread":
		e.asked(m.held(h, "read"))
		var end expected // the kernel asks for the size to find the end
		end.asked(m.heldByAny(h, "stat"))
		e.may = append(append(e.may, end.must...), end.may...)
		e.ruled = append(e.ruled, end.ruled...)
		if h.object.content == "" {
			e.may, e.must = e.must, nil // the kernel knows where the end is, and may not ask
		}
		if access == unix.O_WRONLY {
			e.fails(unix.EBADF)
		}
		if h.object.kind == 'd' {
			e.fails(unix.EISDIR)
		}
		want = &answered{Data: h.object.content}
	case "fwrite":
		if access == unix.O_RDONLY {
			e.fails(unix.EBADF)
		}
		e.asked(m.held(h, "write"))
		apply = func() { h.object.put(s.Data, s.Size, h.flags&unix.O_APPEND != 0) }
	case "fstat":
		e.asked(m.heldByAny(h, "stat"))
		want = m.statOf(h.object)
	case "ftruncate":
		if access == unix.O_RDONLY {
			e.fails(unix.EINVAL)
		}
		e.asked(m.held(h, "truncate"))
		apply = func() { h.object.resize(s.Size) }
	case "fchmod":
		plain := *h
		plain.maker = ""
		e.asked(m.held(&plain, "chmod"))
		apply = func() { h.object.mode = s.Mode }
	}
	return e, apply, want
}

// heldByAny is held for what reaches the view without a descriptor: that of
// whoever made the object will do.
func (m *model) heldByAny(h *held, op string) []string {
	for _, proc := range m.open {
		for _, other := range proc {
			if other != nil && other.object == h.object && other.maker != "" && m.held(other, op)[0] == "allow" {
				return []string{"allow"}
			}
		}
	}
	return m.held(h, op)
}

func (m *model) expectOpen(e *expected, s *step, slot **held) (apply func()) {
	if s.Flag&unix.O_CREAT != 0 {
		at := m.vacant(e, s.A, "create")
		return func() {
			o := &object{kind: 'f', mode: 0o644}
			m.tree[at] = o
			o.meet(at, m.turn)
			*slot = &held{o, s.Flag, at}
		}
	}
	at, o := m.found(e, s.A, true)
	if o == nil {
		return func() {}
	}
	m.opens(e, at, o, s.Flag)
	return func() { *slot = &held{object: o, flags: s.Flag} }
}

func (m *model) statOf(o *object) *answered {
	a := &answered{Kind: o.kind, Mode: o.shownMode()}
	if o.kind != 'd' {
		a.Size, a.Links = int64(len(o.content)), uint64(len(m.tree.paths(o)))
	}
	return a
}

// listed returns what a listing of a directory shows.
func (m *model) listed(dir string) []string {
	return slices.DeleteFunc(m.tree.names(dir), func(name string) bool {
		return m.policy.verdict(path.Join(dir, name), "stat") == "hide"
	})
}

func (o *object) resize(size int64) {
	o.content = (o.content + strings.Repeat("\x00", int(size)))[:size]
}

func (o *object) put(data string, at int64, end bool) {
	if end {
		at = int64(len(o.content))
	}
	o.resize(max(int64(len(o.content)), at+int64(len(data))))
	o.content = o.content[:at] + data + o.content[at+int64(len(data)):]
}
