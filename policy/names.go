package policy

import "strings"

// names is the set of the names in a path, a bit for each. Names may share a
// bit, so that what it lacks is not in the path, and what it has may be.
type names uint64

// namesIn returns the names in path, "" or "/…".
func namesIn(path string) names {
	var set names
	for path != "" {
		name, rest := path[1:], ""
		if slash := strings.IndexByte(name, '/'); slash >= 0 {
			name, rest = name[:slash], name[slash:]
		}
		set |= nameBit(name)
		path = rest
	}
	return set
}

// nameBit takes the bit from the length and three letters: reading the whole
// name would cost more than the globs that it passes over.
func nameBit(name string) names {
	n := len(name)
	if n == 0 {
		return 0
	}
	h := uint32(n)<<24 | uint32(name[0])<<16 | uint32(name[n/2])<<8 | uint32(name[n-1])
	return 1 << (h * 0x9E3779B1 >> 26)
}
