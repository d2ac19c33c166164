package policy

import (
	"math/bits"
	"strings"
)

// states is a set of positions in the tail of a glob: bit i says that a path
// may be matched up to component i of the tail, bit len(tail) that it is
// matched whole.
type states uint64

// start returns the positions of a path that is the glob's literal directory.
func (g *glob) start() states { return g.skip(1) }

// accept returns the position of a path that is matched.
func (g *glob) accept() states { return 1 << len(g.tail) }

// skip adds to s the positions behind each "**", which may cover no name at
// all. Two of them never follow each other.
func (g *glob) skip(s states) states { return s | (s&g.deep)<<1 }

// run returns the positions after rest, which is "" or begins with a slash.
func (g *glob) run(rest string) states {
	s := g.start()
	for rest != "" && s != 0 {
		name, more := rest[1:], ""
		if slash := strings.IndexByte(name, '/'); slash >= 0 {
			name, more = name[:slash], name[slash:]
		}
		s, rest = g.step(s, name), more
	}
	return s
}

// step returns the positions that a further name leads to from s.
func (g *glob) step(s states, name string) states {
	next := s & g.deep
	for left := s &^ g.deep &^ g.accept(); left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(uint64(left))
		if g.tail[i].match(name) {
			next |= 1 << (i + 1)
		}
	}
	return g.skip(next)
}

// progress says how far a glob is matched by a directory. It is all that
// decides which paths below the directory the glob covers; the zero value is
// that it covers none.
type progress struct {
	missing string // what the literal directory of the glob still wants, "/…"
	at      states
}

// reach returns the progress of g at dir.
func (g *glob) reach(dir string) progress {
	rest, inside := below(dir, g.prefix)
	if inside && g.kind != leading {
		return progress{at: g.simplify(g.run(rest) &^ g.accept())}
	}
	if missing, ok := below(g.prefix, dir); ok {
		return progress{missing: missing}
	}
	return progress{}
}

// simplify reduces s to the last "**" when it stands there at the end of the
// tail: that covers everything, whatever else is in s.
func (g *glob) simplify(s states) states {
	if last := s & g.deep & (g.accept() >> 1); last != 0 {
		return last
	}
	return s
}

// mayMatchChild reports whether there could be a name directly in dir that g
// covers.
func (g *glob) mayMatchChild(dir string) bool {
	r := g.reach(dir)
	if r.missing != "" {
		return strings.LastIndexByte(r.missing, '/') == 0 && g.start()&g.accept() != 0
	}
	next := r.at&g.deep | (r.at&^g.deep)<<1
	return g.skip(next)&g.accept() != 0
}
