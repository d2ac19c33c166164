// Package bazil is the transport over bazil.org/fuse: it turns kernel messages
// into calls of fs.Server and its answers back, and knows no policy and no path.
//
// It uses the library's fuse.Conn to mount and to read requests, never its
// fs.Serve, which costs a goroutine for each request. Replies are written to
// the device directly: the library's attributes lose the sticky bit and times
// before 1970, and its reads copy the data once more.
package bazil
