package overlay

import "github.com/sandboxfs/sandboxfs/policy"

// FileID is st_dev and st_ino of a file or directory of the host.
type FileID struct{ Dev, Ino uint64 }

// WithOwn returns v with rules for files that the view itself is made of. They
// hold under whatever name such a file is found: the layers know its path, and
// the host can show it at another one by a bind mount or a hard link.
func (v *View) WithOwn(rules map[FileID]*policy.Rule) *View {
	w := *v
	w.own = rules
	return &w
}

// OwnRule returns the rule for a file that the view itself is made of, nil for
// any other.
func (v *View) OwnRule(id FileID) *policy.Rule { return v.own[id] }
