package treetest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
)

// actAs has everything that is made for another belong to that other from the
// start, also where that other could make nothing, and the process be itself
// again afterwards.
func actAs(t *testing.T, tree backing.Tree) {
	root := rootOf(t, tree)
	if os.Geteuid() != 0 {
		if _, host := tree.(*backing.Memory); !host {
			err := root.As(4321, 5432, func() error { return root.MkdirAt("d", 0o755) })
			check(t, err, unix.EPERM, "As(4321, 5432) without privilege")
			return
		}
	}
	check(t, root.Chmod(0o700), nil, "Chmod")
	makers := map[string]func() error{
		"dir":  func() error { return root.MkdirAt("dir", 0o755) },
		"fifo": func() error { return root.MknodAt("fifo", unix.S_IFIFO|0o644) },
		"link": func() error { return root.SymlinkAt("to", "link") },
		"file": func() error {
			f, err := root.CreateAt("file", unix.O_RDWR, 0o600)
			if err == nil {
				f.Close()
			}
			return err
		},
	}
	for name, make := range makers {
		check(t, root.As(4321, 5432, make), nil, "As(4321, 5432, %s)", name)
		if st := describeAt(t, root, name); st.Uid != 4321 || st.Gid != 5432 {
			t.Errorf("%s made for 4321:5432 belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	check(t, root.As(4321, 5432, func() error { return unix.EDOM }), unix.EDOM, "As with an error")
	check(t, root.MkdirAt("own", 0o755), nil, "MkdirAt")
	if st, self := describeAt(t, root, "own"), describeAt(t, root, "dir"); st.Uid == self.Uid {
		t.Errorf("own belongs to %d after As", st.Uid)
	}
}

// actAsInSetGID has the group of a set-gid directory stay.
func actAsInSetGID(t *testing.T, tree backing.Tree) {
	if _, memory := tree.(*backing.Memory); !memory && os.Geteuid() != 0 {
		return // actAs shows that such a process acts for nobody
	}
	d := makeDir(t, rootOf(t, tree), "d")
	check(t, d.Chown(-1, 777), nil, "Chown")
	check(t, d.Chmod(0o2777), nil, "Chmod")
	check(t, d.As(4321, 5432, func() error { return d.MkdirAt("sub", 0o755) }), nil, "As")
	if st := describeAt(t, d, "sub"); st.Uid != 4321 || st.Gid != 777 || st.Mode&unix.S_ISGID == 0 {
		t.Errorf("sub = %d:%d mode %o, want 4321:777 and set-gid", st.Uid, st.Gid, st.Mode)
	}
}
