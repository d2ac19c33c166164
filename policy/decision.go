package policy

import (
	"time"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// Decision is what a rule says. The zero value is Deny, so that whatever was
// forgotten is refused.
type Decision uint8

// The decisions.
const (
	Deny Decision = iota
	Hide
	Ask
	Audit
	Allow

	NumDecisions int = iota
)

var decisionNames = [NumDecisions]string{"deny", "hide", "ask", "audit", "allow"}

// String returns the name that policies, events and metrics use.
func (d Decision) String() string { return decisionNames[d] }

// ParseDecision returns the decision of that name; "approve" is another name
// of ask.
func ParseDecision(name string) (Decision, bool) {
	if name == "approve" {
		return Ask, true
	}
	for i, n := range decisionNames {
		if n == name {
			return Decision(i), true
		}
	}
	return Deny, false
}

// strictness orders decisions: hide > deny > ask > audit > allow.
var strictness = [NumDecisions]uint8{Deny: 3, Hide: 4, Ask: 2, Audit: 1, Allow: 0}

// Stricter reports whether d restricts more than e.
func (d Decision) Stricter(e Decision) bool { return strictness[d] > strictness[e] }

// Permits reports whether the operation goes ahead without anybody being
// asked: true for Allow and Audit.
func (d Decision) Permits() bool { return d == Allow || d == Audit }

// Rule is one compiled rule of a policy. It is immutable.
type Rule struct {
	Name     string         // as written; "builtin:…" for those that no file holds
	Policy   string         // name of the policy that holds it; "" for built-in rules
	Pos      strictyaml.Pos // of the rule in its file
	Ops      OpSet
	Decision Decision
	Message  string        // shown to whoever is refused; may be ""
	Timeout  time.Duration // of Ask; 0 means the daemon's default
	Paths    []string      // its globs, variables replaced
}

// Verdict is the answer to "may this be done", with the rule that decided.
// Rule is never nil in a Verdict that this package returns. The zero Verdict
// is a denial.
type Verdict struct {
	Decision Decision
	Rule     *Rule
}

// The built-in rules. Those that gate adds (readonly and below) stand here too,
// so that every name that a refusal can carry is in one place.
var (
	DefaultDeny = &Rule{Name: "builtin:default-deny", Ops: AllOps, Message: "no rule of the policy allows it"}
	Traverse    = &Rule{Name: "builtin:traverse", Ops: Stat.Set(), Decision: Allow, Message: "leads to a path that a rule allows"}
	RootStat    = &Rule{Name: "builtin:root", Ops: Stat.Set(), Decision: Allow, Message: "the root of the view can always be stat-ed"}
	Synthesised = &Rule{Name: "builtin:synthesised", Ops: Stat.Set() | List.Set(), Decision: Allow, Message: "a directory that leads to a mount"}

	Unmounted     = &Rule{Name: "builtin:unmounted", Ops: AllOps, Message: "path not covered by any mount"}
	ReadonlyMount = &Rule{Name: "builtin:readonly-mount", Ops: ChangeOps, Message: "the mount is readonly"}
	Mountpoint    = &Rule{Name: "builtin:mountpoint", Ops: DeleteOps, Message: "the name is, or leads to, a mount's target"}
	CrossMount    = &Rule{Name: "builtin:cross-mount", Ops: AllOps, Message: "the two names are on different mounts"}
	Subtree       = &Rule{Name: "builtin:subtree", Ops: Rename.Set(), Message: "something would be allowed more, or could no longer be changed, at the new place; copy it instead"}
	NoApprover    = &Rule{Name: "builtin:no-approver", Ops: AllOps, Message: "the rule asks for approval and nobody is connected to give it"}
	Device        = &Rule{Name: "builtin:device", Ops: AllOps, Message: "device files cannot be made or opened in a view"}
	GitContent    = &Rule{Name: "builtin:guard:git", Ops: ChangeOps, Message: "git would run or read this on the host"}
	SymlinkEscape = &Rule{Name: "builtin:symlink", Ops: Readlink.Set() | Symlink.Set(), Message: "the link's target leaves the view, or the profile rejects all links"}
)
