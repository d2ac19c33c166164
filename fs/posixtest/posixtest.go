// Package posixtest is a conformance suite for a mounted file system: what
// Linux does on one that keeps all the rules, asked by system calls in a
// directory. It knows nothing of what serves the directory.
//
// The process that runs a test must not be the one that serves the file system:
// a page fault, and an open that package os enters into its poller, hold up the
// whole Go runtime until they are answered.
//
// The process's umask is 0 and TestMain calls Child first. A test wants a
// directory of its own that is empty, belongs to the process and can be walked
// to by every user. Tests change what is true of the whole process, so that
// they do not run in parallel.
package posixtest

import "testing"

// All holds the tests that any user can run, by name.
var All = map[string]func(t *testing.T, dir string){
	"ChmodBits":         chmodBits,
	"ChmodSetUID":       chmodSetUID,
	"ChmodFollowsLink":  chmodFollowsLink,
	"Fchmod":            fchmod,
	"ModeOfMade":        modeOfMade,
	"Umask":             umask,
	"SetGroupDirectory": setGroupDirectory,
	"WriteClearsSetGID": writeClearsSetGID,
	"ChownToSelf":       chownToSelf,

	"UtimensExact":       utimensExact,
	"UtimensBefore1970":  utimensBefore1970,
	"UtimensAfter2106":   utimensAfter2106,
	"UtimensOmit":        utimensOmit,
	"UtimensNow":         utimensNow,
	"Futimens":           futimens,
	"TimesMove":          timesMove,
	"DirectoryTimesMove": directoryTimesMove,
	"AccessTime":         accessTime,
	"FailuresKeepTimes":  failuresKeepTimes,
	"RenameMovesTimes":   renameMovesTimes,

	"LinkSharesFile":    linkSharesFile,
	"LinkCoherence":     linkCoherence,
	"LinkCoherenceOpen": linkCoherenceOpen,
	"LinkErrors":        linkErrors,
	"LinkOfSymlink":     linkOfSymlink,
	"LinkOfDescriptor":  linkOfDescriptor,
	"LinkMany":          linkMany,
	"LinkOfSpecial":     linkOfSpecial,

	"MkdirErrors":      mkdirErrors,
	"DirectoryLinks":   directoryLinks,
	"RmdirErrors":      rmdirErrors,
	"RemovedDirectory": removedDirectory,
	"DeepTree":         deepTree,
	"MakeAndRemove":    makeAndRemove,

	"Mkfifo":       mkfifo,
	"MknodRegular": mknodRegular,
	"UnixSocket":   unixSocket,

	"OpenCreate":      openCreate,
	"OpenCreateKeeps": openCreateKeeps,
	"OpenTruncate":    openTruncate,
	"OpenDirectory":   openDirectory,
	"OpenNoFollow":    openNoFollow,
	"OpenPath":        openPath,
	"OpenAccessMode":  openAccessMode,
	"OpenMode0":       openMode0,
	"OpenDup":         openDup,
	"OpenSync":        openSync,
	"TemporaryFile":   temporaryFile,
	"Execute":         execute,
	"RunningProgram":  runningProgram,

	"RenameFile":          renameFile,
	"RenameOntoItself":    renameOntoItself,
	"RenameReplaces":      renameReplaces,
	"RenameIsAtomic":      renameIsAtomic,
	"RenameDirectory":     renameDirectory,
	"RenameOntoDirectory": renameOntoDirectory,
	"RenameErrors":        renameErrors,
	"RenameSymlink":       renameSymlink,
	"RenameSpecial":       renameSpecial,
	"RenameNoReplace":     renameNoReplace,
	"RenameExchange":      renameExchange,

	"SymlinkTargets": symlinkTargets,
	"SymlinkErrors":  symlinkErrors,
	"SymlinkWalk":    symlinkWalk,
	"SymlinkLoop":    symlinkLoop,

	"PathErrors":       pathErrors,
	"LongNames":        longNames,
	"EveryByte":        everyByte,
	"NamesAreBytes":    namesAreBytes,
	"Dots":             dots,
	"NameComesAndGoes": nameComesAndGoes,

	"TruncateSizes":      truncateSizes,
	"TruncateErrors":     truncateErrors,
	"TruncateAfterChmod": truncateAfterChmod,
	"Holes":              holes,
	"LargeOffset":        largeOffset,
	"TooLarge":           tooLarge,
	"Fallocate":          fallocate,
	"PunchHole":          punchHole,
	"ZeroRange":          zeroRange,
	"Seek":               seek,
	"SeekData":           seekData,

	"UnlinkedFile":            unlinkedFile,
	"ReplacedFile":            replacedFile,
	"UnlinkedByOtherName":     unlinkedByOtherName,
	"UnlinkedReader":          unlinkedReader,
	"UnlinkedPath":            unlinkedPath,
	"UnlinkSpecial":           unlinkSpecial,
	"DescriptorsOutliveNames": descriptorsOutliveNames,

	"TwoDescriptors": twoDescriptors,
	"AppendTwo":      appendTwo,
	"AppendParallel": appendParallel,
	"Vectors":        vectors,
	"LargeFile":      largeFile,
	"RandomWork":     randomWork,
	"Direct":         direct,
	"ParallelFiles":  parallelFiles,

	"MapShared":             mapShared,
	"MapPrivate":            mapPrivate,
	"MapOutlivesDescriptor": mapOutlivesDescriptor,
	"MapGrows":              mapGrows,
	"MapErrors":             mapErrors,
	"MapAppend":             mapAppend,
	"DirectAndMapped":       directAndMapped,

	"ListTypes":         listTypes,
	"ListErrors":        listErrors,
	"ListRewind":        listRewind,
	"SeekDirectory":     seekDirectory,
	"ListWhileChanging": listWhileChanging,
	"ListAndRemove":     listAndRemove,
	"ListingKeepsUp":    listingKeepsUp,
	"ManyNames":         manyNames,

	"Xattr":           xattr,
	"XattrErrors":     xattrErrors,
	"XattrLarge":      xattrLarge,
	"XattrDescriptor": xattrDescriptor,
	"XattrOfLink":     xattrOfLink,
	"AccessList":      accessList,

	"Flock":            flock,
	"FlockEnds":        flockEnds,
	"FlockProcesses":   flockProcesses,
	"FlockWaits":       flockWaits,
	"FlockInterrupted": flockInterrupted,
	"FlockDirectory":   flockDirectory,
	"RecordProcesses":  recordProcesses,
	"RecordEnds":       recordEnds,
	"RecordErrors":     recordErrors,
	"OpenFileLocks":    openFileLocks,

	"CopyFileRange": copyFileRange,
	"Sendfile":      sendfile,
	"Splice":        splice,
	"FileFlags":     fileFlags,

	"StatFields":   statFields,
	"BirthTime":    birthTime,
	"InodesDiffer": inodesDiffer,
	"Statfs":       statfs,
	"Access":       access,
	"StaleNever":   staleNever,
}

// Root holds the tests that need root: they change the owner of files, and act
// as several users.
var Root = map[string]func(t *testing.T, dir string){
	"Chown":                  chown,
	"ChownClearsSetGID":      chownClearsSetGID,
	"MknodDevice":            mknodDevice,
	"XattrTrusted":           xattrTrusted,
	"XattrCapability":        xattrCapability,
	"NewFilesBelongToCaller": newFilesBelongToCaller,
	"StickyDirectory":        stickyDirectory,
	"StickyOwners":           stickyOwners,
	"TimesByWriter":          timesByWriter,
	"ChangesOfOthersFiles":   changesOfOthersFiles,
	"OwnChanges":             ownChanges,
	"SetGIDOfForeignGroup":   setGIDOfForeignGroup,
	"ModeBits":               modeBits,
	"DirectoryBits":          directoryBits,
}
