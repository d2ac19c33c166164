package main

import (
	"cmp"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/profile"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/runner"
)

// hostPaths are the two names of the directory that the container engine's host
// shares with this process: of the environment, else of c, which may be nil.
func hostPaths(c *profile.Config) runner.HostPaths {
	p := runner.HostPaths{Root: os.Getenv("SANDBOX_ROOT"), HostRoot: os.Getenv("SANDBOX_HOST_PATH")}
	if p.Root == "" && c != nil {
		p.Root = c.SandboxRoot
		p.HostRoot = cmp.Or(p.HostRoot, c.SandboxHostPath)
	}
	return p
}

// loadConfig reads the config in file, "" being the default one; nil if there is
// none.
func loadConfig(file string) (*profile.Config, error) {
	load := profile.DefaultConfig
	if file != "" {
		load = func() (*profile.Config, strictyaml.Problems) { return profile.LoadConfig(file) }
	}
	c, problems := load()
	return c, problems.Err()
}

// sharedRuntimeDir is where records and mountpoints of this process are kept
// where the engine's host has other files: in the directory that it shares. ""
// says that there is none, or one in which others could put theirs instead.
func sharedRuntimeDir(uid int) string {
	c, err := loadConfig("")
	if err != nil {
		c = nil // the environment says it all the same
	}
	p := hostPaths(c)
	if p.Root == "" || !ownedBy(p.Root, uid) {
		return ""
	}
	var st unix.Stat_t
	if unix.Lstat(p.Root, &st) != nil || st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
		return ""
	}
	return p.Root + "/.sandboxfs"
}
