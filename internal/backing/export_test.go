package backing

import "golang.org/x/sys/unix"

// What follows opens the ways for older kernels to tests on newer ones.

// OpenWithoutOpenat2 is Open on a kernel that has no openat2.
func OpenWithoutOpenat2(dir string) (Tree, error) {
	tree, err := Open(dir)
	if err == nil {
		tree.(*hostTree).openat2 = false
	}
	return tree, err
}

// ChmodProc is Chmod without fchmodat2.
func ChmodProc(o Object, mode uint32) error {
	return o.(*hostObject).use(func(fd int) error { return chmodProc(fd, mode) })
}

// UtimesProc is Utimes without AT_EMPTY_PATH.
func UtimesProc(o Object, atime, mtime unix.Timespec) error {
	return o.(*hostObject).use(func(fd int) error { return utimesProc(fd, []unix.Timespec{atime, mtime}) })
}

// AppendReopened is Append without RWF_APPEND.
func AppendReopened(f File, p []byte) (int, error) {
	file := f.(*hostFile)
	return file.size(func(fd int) (int, error) { return appendReopened(fd, p) })
}
