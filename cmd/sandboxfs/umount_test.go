package main

import (
	"strings"
	"testing"
)

func TestUmountRefuses(t *testing.T) {
	dir := tree(t, map[string]string{"plain/": "", "link": "->plain"})
	for name, want := range map[string]string{
		dir + "/plain":  dir + "/plain is not a mountpoint",
		dir + "/link/":  dir + "/plain is not a mountpoint",
		dir + "/absent": dir + "/absent: no such file or directory",
		"/proc":         "/proc is a mount of type proc and not one of sandboxfs; use umount",
	} {
		code, _, stderr := cli("umount", name)
		if code != exitFailed || stderr != "sandboxfs: "+want+"\n" {
			t.Errorf("umount %s = %d, %q, want %d, %q", name, code, stderr, exitFailed, want)
		}
	}
}

func TestUsersOf(t *testing.T) {
	proc := tree(t, map[string]string{
		"10/comm": "bash\n", "10/cwd": "->/mnt/a/src", "10/root": "->/",
		"9/comm": "vim\n", "9/cwd": "->/", "9/fd/3": "->/mnt/a/file", "9/fd/4": "->socket:[1]",
		"30/comm": "node\n", "30/maps": "7f00-7f01 r-xp 00000000 00:2f 12 /mnt/a/lib with blank.so\n7f02-7f03 rw-p 0 0:0 0 \n",
		"40/comm": "other\n", "40/cwd": "->/mnt/ab",
		"50/comm": "evil\x1b[2J\n", "50/root": "->/mnt/a",
		"self/cwd": "->/mnt/a", "mounts": "",
	})
	want := []process{{9, "vim"}, {10, "bash"}, {30, "node"}, {50, "evil\uFFFD[2J"}}
	got := usersOf(proc, "/mnt/a")
	if len(got) != len(want) {
		t.Fatalf("usersOf = %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("usersOf: process %d = %v, want %v", i, got[i], want[i])
		}
	}
}

func TestNameUsers(t *testing.T) {
	one := process{1, "sh"}
	for _, tt := range []struct {
		users []process
		want  string
	}{
		{nil, "a process that cannot be seen from here"},
		{[]process{one}, "sh (pid 1)"},
		{[]process{one, one, one, one, one, one, one}, strings.Repeat("sh (pid 1), ", 4) + "sh (pid 1) and 2 more"},
	} {
		if got := nameUsers(tt.users); got != tt.want {
			t.Errorf("nameUsers(%d processes) = %q, want %q", len(tt.users), got, tt.want)
		}
	}
}
