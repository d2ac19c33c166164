package fs

// NodeID names a node to the kernel. It is never used twice in the life of a
// server, so that no generation is needed.
type NodeID uint64

// RootID is the node of the view's root.
const RootID NodeID = 1

// HandleID names an open file or directory to the kernel.
type HandleID uint64

// Caller is the process on whose behalf the kernel asks. Pid is 0 for page
// write-back and for callers in a pid namespace that the daemon cannot see.
type Caller struct {
	Pid    uint32
	Uid    uint32
	Gid    uint32
	Thread Thread
}

// Thread is the transport's reader that a request is handled on.
type Thread interface {
	// Yield says that the request may take long: the transport reads on without
	// this goroutine. Calling it again does nothing.
	Yield()

	// Interrupted returns a channel that is closed when the kernel interrupts
	// the request. It must only be called after Yield.
	Interrupted() <-chan struct{}
}
