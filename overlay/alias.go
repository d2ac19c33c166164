package overlay

import (
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// alias is another name for a path, and the mount that governs that name.
type alias struct {
	mount *Mount
	path  vpath.Path
}

// Aliases returns the other virtual paths that lead to the same host path as p
// because sources overlap; nil (and no work) where none do. It compares the
// text of the sources: hard links, and mounts that the host itself made, are
// not known here.
func (v *View) Aliases(p vpath.Path) []vpath.Path {
	m := v.governing(p)
	if m == nil {
		return nil
	}
	var paths []vpath.Path
	for _, a := range v.aliases(m, p) {
		paths = append(paths, a.path)
	}
	return paths
}

// aliases returns the other names of p, which m governs. The set is complete:
// all names of one host path are found from that path, so that an alias has no
// further aliases.
func (v *View) aliases(m *Mount, p vpath.Path) []alias {
	if len(m.peers) == 0 {
		return nil
	}
	host := m.host(p)
	var found []alias
	for _, peer := range m.peers {
		if a, ok := v.through(peer, host); ok {
			found = append(found, alias{peer, a})
		}
	}
	return found
}

// through returns the path at which m shows host, and false where it shows it
// nowhere: host is outside its source, or a deeper mount stands in front.
func (v *View) through(m *Mount, host string) (vpath.Path, bool) {
	rel, ok := below(host, m.Source)
	if !ok || rel != "" && m.Kind == KindFile {
		return "", false
	}
	p := vpath.Path("/"+rel).Rebase(vpath.Root, m.Target)
	return p, v.governing(p) == m
}

// below returns what follows source in host ("" for source itself), by whole
// components.
func below(host, source string) (rel string, ok bool) {
	if host == source {
		return "", true
	}
	if source != "/" {
		source += "/"
	}
	return strings.CutPrefix(host, source)
}

// findPeers fills Mount.peers. Two mounts are peers when the source of one is
// shown by the other. A link and a device have no peers: a link is read, not
// followed, and a device is the daemon's own.
func (v *View) findPeers() {
	for i := range v.mounts {
		for j := range v.mounts[:i] {
			a, b := &v.mounts[i], &v.mounts[j]
			if v.shows(a, b) || v.shows(b, a) {
				a.peers = append(a.peers, b)
				b.peers = append(b.peers, a)
			}
		}
	}
}

// shows reports whether m shows the source of other.
func (v *View) shows(m, other *Mount) bool {
	if m.Kind > KindFile || other.Kind > KindFile {
		return false
	}
	_, ok := v.through(m, other.Source)
	return ok
}
