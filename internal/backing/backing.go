// Package backing is the only one that touches user files. A Tree is an open
// root; everything below it is reached by names relative to open descriptors,
// beneath the root, and without following a symbolic link, so that no string
// that somebody else can change is ever walked twice.
//
// Modes are raw: the bits that a caller gives reach the system call, so a
// process that uses the package sets its umask to 0 first. Errors are bare
// syscall.Errno values, as the system call gave them, except those of Open and
// OpenFile, which name the path for a person to read.
//
// A directory that is moved out of the root while a Dir of it is open goes on
// being served by that Dir, as it is for every process that has it open; the
// next walk from the Tree no longer finds it.
package backing

// Tree is the source of one mount. It is safe for concurrent use.
type Tree interface {
	// Dir opens a directory below the root; rel "" is the root. It walks beneath
	// the root and follows no link (ELOOP) and no magic link. File systems that
	// the host has mounted below the root are crossed. A rel that is absolute or
	// holds an empty, "." or ".." component is EINVAL.
	Dir(rel string) (Dir, error)

	// Close lets go of the root. What was opened below it stays open.
	Close() error
}
