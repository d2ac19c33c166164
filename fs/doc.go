// Package fs serves a view. A Server owns the node ids, the handles and what
// the kernel has been told; it knows nothing of the wire. Every operation has
// the same five steps: gate, act on the backing, update the server's own state,
// fill the reply, return an errno.
//
// The gate (gate.go) is the only caller of overlay.View.Decide, Allowed and
// Permitted. There is no second check anywhere.
//
// Lock order: the listing or the flock of a handle, Server.moves, Server.mu, and
// then one of node.watch.mu, dirCache.mu and those of the tables of inodes,
// handles, listings, locks and notifications, under none of which another is
// taken. No lock but Server.moves, and of a handle that of its listing and that
// of its flock, is held during a system call on the backing, close(2) apart, or a
// call of the Recorder, and none during a notification to the kernel.
package fs
