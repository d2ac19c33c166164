package backing

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Getxattr reads the attribute name into dst.
func (o *memObject) Getxattr(name string, dst []byte) (n int, err error) {
	err = o.do("Getxattr", name, func() error {
		if err := o.xattrAllowed(name); err != nil {
			return absent(err)
		}
		value, ok := o.node.xattrs[name]
		if !ok {
			return unix.ENODATA
		}
		n, err = fill(dst, value)
		return err
	})
	return n, err
}

// Setxattr sets the attribute name.
func (o *memObject) Setxattr(name string, value []byte, flags int) error {
	return o.change("Setxattr", name, func() error {
		if err := o.xattrAllowed(name); err != nil {
			return err
		}
		_, there := o.node.xattrs[name]
		switch {
		case len(value) > memXattrMax:
			return unix.E2BIG
		case flags&^(unix.XATTR_CREATE|unix.XATTR_REPLACE) != 0:
			return unix.EINVAL
		case there && flags&unix.XATTR_CREATE != 0:
			return unix.EEXIST
		case !there && flags&unix.XATTR_REPLACE != 0:
			return unix.ENODATA
		}
		if o.node.xattrs == nil {
			o.node.xattrs = map[string][]byte{}
		}
		o.node.xattrs[name] = slices.Clone(value)
		return nil
	})
}

// Listxattr reads the names of all attributes into dst, each with a NUL after it.
func (o *memObject) Listxattr(dst []byte) (n int, err error) {
	err = o.do("Listxattr", "", func() error {
		var names []byte
		for _, name := range slices.Sorted(maps.Keys(o.node.xattrs)) {
			names = append(names, name+"\x00"...)
		}
		n, err = fill(dst, names)
		return err
	})
	return n, err
}

// Removexattr removes the attribute name.
func (o *memObject) Removexattr(name string) error {
	return o.change("Removexattr", name, func() error {
		if err := o.xattrAllowed(name); err != nil {
			return err
		}
		if _, ok := o.node.xattrs[name]; !ok {
			return unix.ENODATA
		}
		delete(o.node.xattrs, name)
		return nil
	})
}

// xattrAllowed knows the namespaces: user attributes are for files and
// directories only.
func (o *memObject) xattrAllowed(name string) error {
	space, rest, _ := strings.Cut(name, ".")
	switch {
	case name == "" || len(name) > memNameMax:
		return unix.ERANGE
	case space != "user" && space != "trusted" && space != "security":
		return unix.EOPNOTSUPP
	case rest == "":
		return unix.EINVAL
	case space == "user" && !o.node.stat.IsDir() && o.node.kind() != unix.S_IFREG:
		return unix.EPERM
	}
	return nil
}

// absent turns "may not be set" into what reading it says.
func absent(err error) error {
	if err == unix.EPERM {
		return unix.ENODATA
	}
	return err
}

// fill copies value to dst as the xattr calls do.
func fill(dst, value []byte) (int, error) {
	switch {
	case len(dst) == 0:
		return len(value), nil
	case len(dst) < len(value):
		return 0, unix.ERANGE
	}
	return copy(dst, value), nil
}
