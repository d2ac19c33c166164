package backing

import "golang.org/x/sys/unix"

// Getxattr reads the attribute name into dst.
func (o *hostObject) Getxattr(name string, dst []byte) (int, error) {
	return o.size(func(fd int) (int, error) { return unix.Getxattr(procPath(fd), name, dst) })
}

// Setxattr sets the attribute name.
func (o *hostObject) Setxattr(name string, value []byte, flags int) error {
	return o.use(func(fd int) error { return unix.Setxattr(procPath(fd), name, value, flags) })
}

// Listxattr reads the names of all attributes into dst, each with a NUL after it.
func (o *hostObject) Listxattr(dst []byte) (int, error) {
	return o.size(func(fd int) (int, error) { return unix.Listxattr(procPath(fd), dst) })
}

// Removexattr removes the attribute name.
func (o *hostObject) Removexattr(name string) error {
	return o.use(func(fd int) error { return unix.Removexattr(procPath(fd), name) })
}

// size is use for calls that return a number of bytes, which the unix package
// sets to -1 on errors.
func (o *hostObject) size(call func(fd int) (int, error)) (n int, err error) {
	err = o.use(func(fd int) error {
		n, err = call(fd)
		return err
	})
	return max(n, 0), err
}
