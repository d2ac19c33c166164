package policy

import "strings"

// Op is one operation that a rule can speak of. The coarse operations read,
// write, create and delete include finer ones (see Covers); each fine one can
// also be named alone.
type Op uint8

// The operations, coarse ones first in their group. The order is the order of
// documentation and of metric labels.
const (
	Read Op = iota
	Open
	Stat
	List
	Readlink
	Getxattr
	Lock
	Exec // execve(2) of the file, known by FMODE_EXEC in the open flags

	Write
	Truncate
	Chmod
	Chown
	Utimes
	Setxattr

	Create
	Mkdir
	Symlink
	Link
	Mknod

	Delete
	Unlink
	Rmdir
	Rename // of the old name

	NumOps int = iota
)

var opNames = [NumOps]string{
	"read", "open", "stat", "list", "readlink", "getxattr", "lock", "exec",
	"write", "truncate", "chmod", "chown", "utimes", "setxattr",
	"create", "mkdir", "symlink", "link", "mknod",
	"delete", "unlink", "rmdir", "rename",
}

// String returns the name that policies use.
func (op Op) String() string { return opNames[op] }

// ParseOp returns the operation of that name.
func ParseOp(name string) (Op, bool) {
	for i, n := range opNames {
		if n == name {
			return Op(i), true
		}
	}
	return 0, false
}

// OpSet is a set of operations, one bit each.
type OpSet uint32

// Groups of operations.
const (
	AllOps    OpSet = 1<<NumOps - 1
	ReadOps   OpSet = 1<<Write - 1
	WriteOps  OpSet = (1<<Create - 1) &^ ReadOps
	CreateOps OpSet = (1<<Delete - 1) &^ ReadOps &^ WriteOps
	DeleteOps OpSet = AllOps &^ ReadOps &^ WriteOps &^ CreateOps

	// ChangeOps are those that a readonly mount refuses with EROFS.
	ChangeOps OpSet = WriteOps | CreateOps | DeleteOps
)

// Covers returns the operations that a rule naming op speaks of: the whole
// group for read, write, create and delete, op alone otherwise.
func (op Op) Covers() OpSet {
	switch op {
	case Read:
		return ReadOps
	case Write:
		return WriteOps
	case Create:
		return CreateOps
	case Delete:
		return DeleteOps
	}
	return op.Set()
}

// Set returns the set of op alone.
func (op Op) Set() OpSet { return 1 << op }

// Has reports whether op is in s.
func (s OpSet) Has(op Op) bool { return s&(1<<op) != 0 }

// String lists the names of the operations in s, with commas.
func (s OpSet) String() string {
	var names []string
	for op := range Op(NumOps) {
		if s.Has(op) {
			names = append(names, op.String())
		}
	}
	return strings.Join(names, ",")
}
