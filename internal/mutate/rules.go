package main

// rooms are the packages whose gates are taken away.
var rooms = []string{"fs", "fs/bazil"}

// allows says, of each function that answers yes or no, which answer lets the
// caller go on. A function of fs/gate*.go that is missing here is an error: a
// gate that is not known is not tried.
var allows = map[string]bool{
	// fs/gate*.go
	"warm":     true,
	"making":   true,
	"hides":    false,
	"mayGain":  false,
	"mayTell":  false,
	"mayStat":  true,
	"anyMaker": true,

	// overlay.View
	"Pinned":  false,
	"Alike":   true,
	"MayHide": false,

	// symbolic links, zones, handles, attributes, reloads
	"linkStays":    true,
	"linkMayStand": true,
	"stays":        true,
	"savesInZone":  true,
	"full":         false,
	"carried":      true,
	"differs":      false,
	"differ":       false,
	"allows":       true,
}

// checks are functions beside fs/gate*.go that answer with an errno, or an
// error, where the object or the place is not the one that was decided on.
var checks = map[string]string{
	"placed":       "allowErrno",
	"placedLately": "allowErrno",
	"killSetID":    "allowError",
}

// places are functions whose conditions tell a place, or an object, from the one
// that was decided on.
var places = []string{"dir", "placed", "placedLately", "same", "openDir"}

// verdicts are what decides, by name: what takes the place of a call.
var verdicts = map[string]string{
	"Decide":      "allowVerdict",
	"decide":      "allowVerdict",
	"decideBelow": "allowVerdict",
	"Allowed":     "allowOps",
	"allowed":     "allowOps",
	"gained":      "allowNone",
}

// told are the calls by which a reload, or another name, reaches the kernel.
var told = []string{"invalidate", "data", "entry", "narrowed"}

// guards are the mount options that hold something back.
var guards = []string{"DefaultPermissions", "LockingFlock"}

// answers declares what takes the place of a call, in each room. The arguments
// are still computed, so that nothing is unused.
const answers = `package %s

import (
	"syscall"

	"github.com/sandboxfs/sandboxfs/policy"
)

func allowErrno(...any) syscall.Errno     { return 0 }
func allowError(...any) error             { return nil }
func allowTrue(...any) bool               { return true }
func allowFalse(...any) bool              { return false }
func allowVerdict(...any) policy.Verdict  { return policy.Verdict{Decision: policy.Allow} }
func allowOps(...any) policy.OpSet        { return policy.AllOps }
func allowNone(...any) policy.OpSet       { return 0 }
func allowSame(_ any, err error) error    { return err }
func allowNothing(...any)                 {}
func allowLast[T any](t T, _ syscall.Errno) (T, syscall.Errno) { return t, 0 }
`
