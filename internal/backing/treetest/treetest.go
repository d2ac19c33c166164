// Package treetest is the conformance suite of backing.Tree: what every
// implementation does, and what none may ever do.
package treetest

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// All holds the suite by name. Each test wants a new, empty tree whose root the
// process may write, and a umask of 0. A test opens file descriptors of its
// own and counts those of the process, so tests do not run in parallel.
var All = map[string]func(t *testing.T, tree backing.Tree){
	"WalkRoot":         walkRoot,
	"WalkErrors":       walkErrors,
	"WalkLongPath":     walkLongPath,
	"EveryByteInNames": everyByteInNames,
	"LongNames":        longNames,
	"NamesAreOneStep":  namesAreOneStep,

	"Stat":              stat,
	"OpenRegularOnly":   openRegularOnly,
	"OpenAccess":        openAccess,
	"Create":            create,
	"CreateIsExclusive": createIsExclusive,
	"Mkdir":             mkdir,
	"SetGidDirectory":   setGidDirectory,
	"Mknod":             mknod,

	"ReadWrite":          readWrite,
	"WriteAtKeepsOffset": writeAtKeepsOffset,
	"Append":             appendEnd,
	"AppendLosesNothing": appendLosesNothing,
	"Truncate":           truncate,
	"TruncateAfterChmod": truncateAfterChmod,
	"TruncateNotRegular": truncateNotRegular,
	"Allocate":           allocate,
	"Sync":               fsync,
	"Flock":              flock,
	"FlockEndsAtClose":   flockEndsAtClose,

	"Chmod":         chmod,
	"ChmodOfLink":   chmodOfLink,
	"Chown":         chown,
	"ChownSetID":    chownSetID,
	"ActAs":         actAs,
	"ActAsInSetGID": actAsInSetGID,
	"Utimes":        utimes,
	"UtimesOfLink":  utimesOfLink,
	"ChangeTime":    changeTime,
	"Xattr":         xattr,
	"XattrErrors":   xattrErrors,
	"XattrOfLink":   xattrOfLink,

	"Symlink":          symlink,
	"LinksNotFollowed": linksNotFollowed,
	"HardLink":         hardLink,
	"HardLinkOfLink":   hardLinkOfLink,
	"HardLinkErrors":   hardLinkErrors,
	"Unlink":           unlink,
	"Rmdir":            rmdir,
	"Rename":           rename,
	"RenameReplaces":   renameReplaces,
	"RenameErrors":     renameErrors,
	"RenameToAnother":  renameToAnother,

	"ReadDir":       readDir,
	"ReadDirLarge":  readDirLarge,
	"ReadDirAfresh": readDirAfresh,
	"RemovedDir":    removedDir,
	"Statfs":        statfs,

	"UnlinkedFile":       unlinkedFile,
	"ObjectOutlivesName": objectOutlivesName,
	"Closed":             closed,
	"CloseDuringUse":     closeDuringUse,
	"NoLeak":             noLeak,

	"SwappedParent": swappedParent,
	"SwappedFile":   swappedFile,
}
