// Package policy decides. A Policy is an immutable list of rules over virtual
// paths; Decide gives the most restrictive verdict of a list of policies. The
// package does no I/O once a policy is loaded, holds no lock, reads no clock
// and logs nothing.
package policy

import "github.com/sandboxfs/sandboxfs/internal/vpath"

// SKELETON: the signatures below are fixed, their files and bodies are not.

// Policy is a compiled list of rules. It can only come from a File or from
// Builtin, so that a nil or empty one cannot allow anything.
type Policy struct {
	Name        string
	Description string
	Rules       []*Rule
}

// glob is one compiled pattern.
type glob struct{ pattern string }

// Decide returns the most restrictive verdict that any of layers has for op on
// p (hide > deny > ask > audit > allow); of equal ones the first layer's. No
// layers at all is a denial (DefaultDeny). If the verdict of Stat is hide, the
// verdict of every operation is hide. A hide rule that decides another op
// while stat is not hidden counts as Deny.
func Decide(layers []*Policy, p vpath.Path, op Op) Verdict { panic("skeleton") }

// Allowed returns the operations whose verdict on p is a plain Allow: what a
// node may cache. For each op it holds Decide(layers, p, op).Decision == Allow.
func Allowed(layers []*Policy, p vpath.Path) OpSet { panic("skeleton") }

// Alike reports whether no rule of layers can tell a path below a from the
// same path below b, for every relative path there could be. False means "not
// proven".
func Alike(layers []*Policy, a, b vpath.Path) bool { panic("skeleton") }

// MayHide reports whether some rule of layers could hide a name directly in
// dir. It may say true for a directory where no such name exists.
func MayHide(layers []*Policy, dir vpath.Path) bool { panic("skeleton") }
