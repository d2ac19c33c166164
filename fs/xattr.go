package fs

import (
	"bytes"
	"strings"
	"syscall"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/policy"
)

// The kernel's limits, xattr(7).
const (
	maxXattrValue = 64 << 10
	maxXattrList  = 64 << 10
)

// carried reports whether a view carries attributes of that name. Only those of
// users are: trusted ones belong to the host's administrator, security ones give
// a file powers on the host (and mean nothing on a nosuid mount), and access
// control lists are not negotiated with the kernel, so that they would lie.
func carried(name string) bool { return strings.HasPrefix(name, "user.") }

// absent is the answer for an attribute that is not carried. The kernel asks
// for security.capability before the first write of every file, whoever
// writes; the answer tells nothing, so that nobody is asked.
func absent(name string) syscall.Errno {
	if strings.HasPrefix(name, "security.") {
		return syscall.ENODATA
	}
	return syscall.ENOTSUP
}

// Getxattr returns the value of an extended attribute.
func (s *Server) Getxattr(c *Caller, num NodeID, name string) ([]byte, syscall.Errno) {
	if !carried(name) {
		return nil, absent(name)
	}
	n, errno := s.node(num)
	if errno != 0 {
		return nil, errno
	}
	if errno := s.gate(c, n, policy.Getxattr); errno != 0 {
		return nil, errno
	}
	if n.kind == kindSynth || n.kind == kindDevice {
		return nil, syscall.ENOTSUP
	}
	return s.readXattr(n, func(o backing.Object, dst []byte) (int, error) { return o.Getxattr(name, dst) })
}

// Listxattr returns the names of the extended attributes that a view shows,
// each ended by a NUL.
func (s *Server) Listxattr(c *Caller, num NodeID) ([]byte, syscall.Errno) {
	n, errno := s.node(num)
	if errno != 0 {
		return nil, errno
	}
	if errno := s.gate(c, n, policy.Getxattr); errno != 0 {
		return nil, errno
	}
	if n.kind == kindSynth || n.kind == kindDevice {
		return nil, 0
	}
	all, errno := s.readXattr(n, backing.Object.Listxattr)
	if errno != 0 {
		return nil, errno
	}
	var shown []byte
	for name := range bytes.SplitAfterSeq(all, []byte{0}) {
		if carried(string(bytes.TrimSuffix(name, []byte{0}))) {
			shown = append(shown, name...)
		}
	}
	return shown, 0
}

// readXattr calls read with a buffer that is large enough.
func (s *Server) readXattr(n *node, read func(o backing.Object, dst []byte) (int, error)) ([]byte, syscall.Errno) {
	var out []byte
	errno := s.withObject(n, func(o backing.Object) error {
		buf := make([]byte, 512)
		got, err := read(o, buf)
		if err == syscall.ERANGE {
			buf = make([]byte, max(maxXattrValue, maxXattrList))
			got, err = read(o, buf)
		}
		if err != nil {
			return err
		}
		out = buf[:got]
		return nil
	})
	return out, errno
}

// Setxattr sets an extended attribute; flags as setxattr(2).
func (s *Server) Setxattr(c *Caller, num NodeID, name string, value []byte, flags int) syscall.Errno {
	return s.changeXattr(c, num, name, func(o backing.Object) error { return o.Setxattr(name, value, flags) })
}

// Removexattr removes an extended attribute.
func (s *Server) Removexattr(c *Caller, num NodeID, name string) syscall.Errno {
	return s.changeXattr(c, num, name, func(o backing.Object) error { return o.Removexattr(name) })
}

func (s *Server) changeXattr(c *Caller, num NodeID, name string, act func(backing.Object) error) syscall.Errno {
	n, errno := s.node(num)
	if errno != 0 {
		return errno
	}
	if errno := s.gate(c, n, policy.Setxattr); errno != 0 {
		return errno
	}
	if !carried(name) || n.kind == kindSynth || n.kind == kindDevice {
		return syscall.ENOTSUP
	}
	n.watch.own()
	return s.withObject(n, act)
}
