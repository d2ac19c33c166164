package main

import (
	"fmt"
	"strings"

	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

// cure says what to change for the operation to be allowed.
func cure(e explained) string {
	how := change(e)
	if e.dir == "" { // a directory stands for a profile
		how = fmt.Sprintf("write a profile with root: %s and policy: %s, then %s", oneLine(e.Place.Mount.Source), e.Place.Mount.Policy, how)
	}
	return how
}

func change(e explained) string {
	rule := e.Verdict.Rule
	switch {
	case rule == policy.Unmounted:
		return fmt.Sprintf("add a mount with the target %s or one above it", e.Place.Path)
	case rule == policy.ReadonlyMount && readonlyMount(e).System:
		return "add a rw mount of what is to change at another path; system mounts stay readonly"
	case rule == policy.ReadonlyMount:
		return fmt.Sprintf("take readonly away from the mount %s", readonlyMount(e).Target)
	case strings.HasPrefix(rule.Name, "builtin:guard:"):
		return fmt.Sprintf("leave %q out of guards in the profile", strings.TrimPrefix(rule.Name, "builtin:guard:"))
	case rule.Name == "builtin:self":
		return "move the profile, policies and audit file out of what is mounted"
	case rule == policy.DefaultDeny:
		return fmt.Sprintf("add a rule with operations: [%s] and decision: allow to %s", e.Op, deciding(e))
	case rule == policy.Mountpoint:
		return "take the mount out of the profile"
	case rule == policy.SymlinkEscape:
		return "set symlinks: follow or inside in the profile"
	case strings.HasPrefix(rule.Name, "builtin:approval-"):
		word := strings.TrimPrefix(rule.Name, "builtin:approval-")
		return fmt.Sprintf("give the zone %s mode: rw and approval: {%s: preApproved}", e.Place.Mount.Target, word)
	case strings.HasPrefix(rule.Pos.File, "builtin/"):
		return fmt.Sprintf("name another policy than %s in the profile", rule.Policy)
	case e.Verdict.Decision == policy.Ask:
		return fmt.Sprintf("change the rule %s to allow; nobody can approve it yet (%s)", e.ruleName(rule), policy.NoApprover.Name)
	}
	return fmt.Sprintf("change the rule %s, or put a rule before it that allows %s", e.ruleName(rule), e.Op)
}

// readonlyMount is the first mount that refuses for being readonly: that of the
// path, or of another name of it.
func readonlyMount(e explained) *overlay.Mount {
	for _, n := range e.Names {
		if n.ReadOnly {
			return n.Mount
		}
	}
	return e.Place.Mount
}

// deciding names the policy that the verdict comes from.
func deciding(e explained) string {
	for _, n := range e.Names {
		for _, l := range n.Layers {
			if l.Decides {
				return "the policy " + l.Policy.Name
			}
		}
	}
	return "the policy"
}
