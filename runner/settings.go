package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Settings are what all containers of a runner have in common. Zero values
// stand for the defaults.
type Settings struct {
	Image      string // default "sandboxfs-sandbox"
	Tag        string // default "latest"; not used where Image names a tag or a digest
	SocketPath string // default: DOCKER_HOST, else Docker's own
	Runtime    string // default: the engine's

	ReadOnly           bool     // the root file system; binds and tmpfs stay as they are
	UnconfinedSecurity bool     // no seccomp and no AppArmor profile
	CapAdd             []string // with or without CAP_; all others are dropped
	CapDrop            []string // wins over CapAdd

	IsolatedDNS []string // nil stands for public resolvers, an empty list for the engine's
	LocalDNS    []string // empty stands for the engine's

	Limits    Limits
	HostPaths HostPaths // where the engine sees other paths than this process
	StateDir  string    // directory for generated files, which the engine can see; needed for DNS servers
	Instance  string    // containers of other instances on the same engine are left alone
	Protected []Protected

	Count func(operation string, err error) // told of each "ensure", "remove", and "exec" that began or could not; may be nil
}

// Limits are the resources of one container.
type Limits struct {
	Pids   int64   // default 512
	Memory int64   // bytes, swap included; default 4 GiB
	CPUs   float64 // default 2, and never more than the engine has
	Tmpfs  int64   // bytes of each tmpfs; default a quarter of Memory
}

var defaults = Settings{
	Image:       "sandboxfs-sandbox",
	Tag:         "latest",
	IsolatedDNS: []string{"1.1.1.1", "8.8.8.8"},
	Limits:      Limits{Pids: 512, Memory: 4 << 30, CPUs: 2},
}

func (s Settings) withDefaults() Settings {
	fill(&s.Image, defaults.Image)
	fill(&s.Tag, defaults.Tag)
	if s.IsolatedDNS == nil {
		s.IsolatedDNS = defaults.IsolatedDNS
	}
	fill(&s.Limits.Pids, defaults.Limits.Pids)
	fill(&s.Limits.Memory, defaults.Limits.Memory)
	fill(&s.Limits.CPUs, defaults.Limits.CPUs)
	fill(&s.Limits.Tmpfs, s.Limits.Memory/4)
	s.CapAdd, s.CapDrop = capabilities(s.CapAdd), capabilities(s.CapDrop)
	s.CapAdd = slices.DeleteFunc(s.CapAdd, func(c string) bool { return slices.Contains(s.CapDrop, c) })
	return s
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// capabilities returns names sorted, without repetitions and without prefix.
func capabilities(names []string) []string {
	var caps []string
	for _, n := range names {
		caps = append(caps, strings.TrimPrefix(strings.ToUpper(n), "CAP_"))
	}
	slices.Sort(caps)
	return slices.Compact(caps)
}

func (s Settings) validate() error {
	switch {
	case s.SocketPath != "" && !filepath.IsAbs(s.SocketPath):
		return fmt.Errorf("docker socket %q is not an absolute path", s.SocketPath)
	case s.StateDir != "" && !filepath.IsAbs(s.StateDir):
		return fmt.Errorf("state directory %q is not an absolute path", s.StateDir)
	case s.Limits.Pids < 0 || s.Limits.Memory < 0 || s.Limits.CPUs < 0 || s.Limits.Tmpfs < 0:
		return errors.New("a limit of a container is negative")
	}
	return s.HostPaths.validate()
}

// Reference is the image with its tag, as the engine is asked for it.
func (s Settings) Reference() string { return s.withDefaults().image() }

// image is the reference of the image.
func (s Settings) image() string {
	last := s.Image[strings.LastIndexByte(s.Image, '/')+1:]
	if strings.ContainsAny(last, ":@") {
		return s.Image
	}
	return s.Image + ":" + s.Tag
}

// dns returns the servers of a network, and the name of that choice.
func (s Settings) dns(n Network) (profile string, servers []string) {
	switch {
	case n == NetworkIsolated && len(s.IsolatedDNS) > 0:
		return "public", s.IsolatedDNS
	case n == NetworkLocal && len(s.LocalDNS) > 0:
		return "private", s.LocalDNS
	}
	return "default", nil
}
