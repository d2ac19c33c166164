package bazil

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// expected is what may come of a step. More than one thing can be wrong with it,
// and no order among them is promised, so that one of must has to come, if there
// are any; else success, or one of may, which depend on what the view has
// forgotten.
type expected struct {
	must, may []unix.Errno
	ruled     []unix.Errno // those that a rule makes, which leave an event
	plain     []unix.Errno // those that come without one
}

func (e *expected) fails(errno unix.Errno) {
	e.must, e.plain = append(e.must, errno), append(e.plain, errno)
}

// mayFail notes errnos that may come in place of another, and not of success.
func (e *expected) mayFail(errnos ...unix.Errno) {
	if len(e.must) > 0 {
		e.must, e.plain = append(e.must, errnos...), append(e.plain, errnos...)
	}
}

func (e *expected) refused(errno unix.Errno) {
	e.must, e.ruled = append(e.must, errno), append(e.ruled, errno)
}

// asked notes the verdicts that there may be for one question, and reports
// whether none of them lets the caller go on.
func (e *expected) asked(verdicts []string) (refused bool) {
	var refusals []unix.Errno
	for _, v := range verdicts {
		switch v {
		case "hide":
			refusals = append(refusals, unix.ENOENT)
		case "readonly":
			refusals = append(refusals, unix.EROFS)
		case "deny", "ask":
			refusals = append(refusals, unix.EACCES)
		}
	}
	e.ruled = append(e.ruled, refusals...)
	if len(refusals) == len(verdicts) {
		e.must = append(e.must, refusals...)
		return true
	}
	e.may = append(e.may, refusals...)
	return false
}

// wrong says in what an errno is not what was expected; "" if it is.
func (e *expected) wrong(got unix.Errno, events int) string {
	switch {
	case got == 0 && len(e.must) == 0:
		return ""
	case got == 0 || !slices.Contains(e.must, got) && !slices.Contains(e.may, got):
		return fmt.Sprintf("gave %s, want one of %s, or perhaps %s", errnoText(got), errnoTexts(e.must), errnoTexts(e.may))
	case events == 0 && !slices.Contains(e.plain, got):
		return fmt.Sprintf("gave %s by a rule, and left no event", errnoText(got))
	}
	return ""
}

func errnoText(e unix.Errno) string {
	if e == 0 {
		return "success"
	}
	return unix.ErrnoName(e)
}

func errnoTexts(all []unix.Errno) string {
	if len(all) == 0 {
		return "success"
	}
	var names []string
	for _, e := range all {
		names = append(names, unix.ErrnoName(e))
	}
	return strings.Join(names, " ")
}

// verdicts returns the verdicts that there may be for op on an object by the
// name p; o is nil for a name that is not there. Each name that the view has met
// since the last reload counts, and one from before may count.
func (m *model) verdicts(p string, o *object, op string) []string {
	v := m.policy.verdict(p, op)
	if o == nil || o.kind == 'd' {
		return []string{v}
	}
	must, may := v, []string{}
	for _, name := range m.tree.paths(o) {
		is := m.policy.verdict(name, op)
		if turn, met := o.seen[name]; met && turn == m.turn {
			must = stricterOf(must, is)
		} else if stricterOf(must, is) != must {
			may = append(may, is)
		}
	}
	all := []string{must}
	for _, v := range may {
		if stricterOf(must, v) == v && v != must {
			all = append(all, v)
		}
	}
	return all
}

func stricterOf(a, b string) string {
	order := []string{"allow", "audit", "ask", "deny", "readonly", "hide"}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}

// walk follows a path as the kernel does, with a question for stat of each name
// that is there. It returns the name that the last component stands for, and
// what is there; ok is false if it got no further.
func (m *model) walk(e *expected, p string, follow bool) (at string, o *object, ok bool) {
	at, o = "/", m.tree["/"]
	names := parts(p)
	for links := 0; len(names) > 0; {
		if o.kind != 'd' {
			e.fails(unix.ENOTDIR)
			return at, o, false
		}
		next := path.Join(at, names[0])
		names = names[1:]
		there := m.tree[next]
		stat := m.verdicts(next, there, "stat")
		if there == nil && stat[0] != "hide" {
			if len(names) > 0 {
				e.fails(unix.ENOENT)
			}
			return next, nil, len(names) == 0
		}
		if there != nil && slices.ContainsFunc(stat, func(v string) bool { return !permits(v) }) {
			there.forget()
		}
		if e.asked(stat) {
			if there == nil {
				e.plain = append(e.plain, unix.ENOENT) // the kernel may know for a moment that it is not there
			}
			return next, there, false
		}
		there.meet(next, m.turn)
		if there.kind == 'l' && (follow || len(names) > 0) {
			if e.asked(m.verdicts(next, there, "readlink")) {
				return next, there, false
			}
			if links++; links > 40 {
				e.fails(unix.ELOOP)
				return next, there, false
			}
			names = append(parts(there.content), names...)
			continue
		}
		at, o = next, there
	}
	return at, o, true
}

// found is walk for what has to be there.
func (m *model) found(e *expected, p string, follow bool) (string, *object) {
	at, o, ok := m.walk(e, p, follow)
	if !ok {
		return at, nil
	}
	if o == nil {
		e.fails(unix.ENOENT)
	}
	return at, o
}

// vacant is walk for a name that is made, by op.
func (m *model) vacant(e *expected, p, op string) string {
	at, o, ok := m.walk(e, p, false)
	if !ok {
		return ""
	}
	if o != nil {
		e.fails(unix.EEXIST)
		return ""
	}
	e.asked(m.verdicts(at, nil, op))
	return at
}

// held returns the verdicts for op on what a descriptor holds.
func (m *model) held(h *held, op string) []string {
	if h.maker != "" && permits(m.policy.verdict(h.maker, "create")) {
		return []string{"allow"}
	}
	names := m.tree.paths(h.object)
	if len(names) == 0 {
		return []string{m.policy.verdict(h.object.last, op)}
	}
	return m.verdicts(names[0], h.object, op)
}
