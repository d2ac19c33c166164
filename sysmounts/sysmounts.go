// Package sysmounts knows the parts of a system that a command needs before it
// can run: which paths they are on each platform, which of them this host has,
// and what kind of environment the host is.
//
// They are shown readonly at their own paths, and no mount of a user stands at,
// above or inside one.
package sysmounts

import (
	"slices"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// PolicyName is the built-in policy that governs every system mount.
const PolicyName = "system-readonly"

// common is what every Unix has; it is all that an unknown one gets.
var common = []string{"/usr", "/bin", "/sbin", "/etc/hosts", "/etc/resolv.conf"}

var linux = []string{
	// Programs and libraries.
	"/usr",
	"/lib",
	"/lib64",
	"/bin",
	"/sbin",

	// Names and certificates.
	"/etc/hosts",
	"/etc/resolv.conf",
	"/etc/ssl/certs",
	"/etc/ca-certificates",

	// Devices that the daemon serves itself.
	"/dev/null",
	"/dev/zero",
	"/dev/urandom",
}

// linuxContainer is what images lean on besides.
var linuxContainer = []string{"/etc/alternatives"}

var darwin = []string{
	"/usr",
	"/bin",
	"/sbin",
	"/System/Library",
	"/Library/Frameworks",
	"/etc/hosts",
	"/etc/resolv.conf",
	"/opt/homebrew",
	"/usr/local/Cellar",
}

var windows = []string{
	`C:\Windows\System32`,
	`C:\Program Files`,
	`C:\Program Files (x86)`,
}

// For returns the host paths that are mounted in env, each at its own place.
// Which of them exist is for Existing to say.
func For(env Environment) []string {
	switch env.OS {
	case "linux":
		if env.Container {
			return slices.Concat(linux, linuxContainer)
		}
		return slices.Clone(linux)
	case "darwin":
		return slices.Clone(darwin)
	case "windows":
		return slices.Clone(windows)
	}
	return slices.Clone(common)
}

// Conflict returns the first of system that target is, lies above or lies
// inside, and whether there is one. Root lies above all of them and is no
// conflict: with a root, system mounts are there because they were asked for,
// and stand in front of it.
func Conflict(system []string, target vpath.Path) (string, bool) {
	if target == vpath.Root {
		return "", false
	}
	for _, s := range system {
		at, err := vpath.Parse(s)
		if err != nil {
			continue // a path of Windows, which no virtual path can meet
		}
		if at.Within(target) || target.Within(at) {
			return s, true
		}
	}
	return "", false
}
