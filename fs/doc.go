// Package fs serves a view. A Server owns the node ids, the handles and what
// the kernel has been told; it knows nothing of the wire. Every operation has
// the same five steps: gate, act on the backing, update the server's own state,
// fill the reply, return an errno.
//
// The gate (gate.go) is the only caller of overlay.View.Decide, Allowed and
// Resolve. There is no second check anywhere.
//
// Lock order: Server.mu, then node.watch.mu, then dirCache.mu. Handles have a
// lock of their own, which is never held while another is taken. No lock is
// held during a system call on the backing, a call of the Recorder or a
// notification to the kernel.
package fs
