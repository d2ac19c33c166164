package profile

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/expand"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// Config is the part of the daemon's config that holds profiles.
type Config struct {
	File  string   // as it was named
	Names []string // of its profiles, sorted

	// A directory as this process has it, and as the container engine's host
	// has it; "" where the config does not say.
	SandboxRoot, SandboxHostPath string

	Docker *Docker // for all profiles, where they are silent; nil where the config has no such block

	at       string // absolute path of File
	policies []strictyaml.String
	profiles map[string]document
}

// configDocument is a config as it is written.
type configDocument struct {
	Pos strictyaml.Pos

	Version       strictyaml.Value[int] `yaml:"version"`
	Policies      []strictyaml.String   `yaml:"policies"`
	MountProfiles map[string]document   `yaml:"mount_profiles"`

	SandboxRoot     strictyaml.String `yaml:"sandbox_root"`
	SandboxHostPath strictyaml.String `yaml:"sandbox_host_path"`

	Docker *Docker `yaml:"docker"`
}

// defaultPolicies is the directory beside a config that is read for policies
// when it is there and the config names no other.
const defaultPolicies = "policies"

// LoadConfig reads the config in file. It looks at what its profiles say only
// when one is asked for, so that one with a missing source does not stand in
// the way of the others.
func LoadConfig(file string) (*Config, strictyaml.Problems) {
	at, err := filepath.Abs(file)
	if err != nil {
		return nil, strictyaml.Problems{{Pos: strictyaml.Pos{File: file}, Message: err.Error()}}
	}
	return loadConfig(file, at)
}

// loadConfig reads the config at the absolute path at, which positions call
// file.
func loadConfig(file, at string) (*Config, strictyaml.Problems) {
	data, problems := read(file, at)
	if len(problems) > 0 {
		return nil, problems
	}
	return loadConfigData(file, at, data)
}

// loadConfigData is loadConfig of what stands in the file.
func loadConfigData(file, at string, data []byte) (*Config, strictyaml.Problems) {
	var d configDocument
	problems := strictyaml.Decode(file, data, &d)
	if d.Version.Set() && d.Version.V != defaults.version {
		problems.Add(d.Version.Pos, "version %d is not known; this release reads version %d", d.Version.V, defaults.version)
	}
	c := &Config{
		File:     file,
		at:       at,
		Names:    slices.Sorted(maps.Keys(d.MountProfiles)),
		Docker:   d.Docker,
		policies: d.Policies,
		profiles: d.MountProfiles,
	}
	c.SandboxRoot = hostDirectory("sandbox_root", d.SandboxRoot, &problems)
	c.SandboxHostPath = hostDirectory("sandbox_host_path", d.SandboxHostPath, &problems)
	d.Docker.validate(&problems)
	beside := filepath.Join(filepath.Dir(at), defaultPolicies)
	if info, err := os.Stat(beside); d.Policies == nil && err == nil && info.IsDir() {
		c.policies = []strictyaml.String{{V: beside, Pos: d.Pos}}
	}
	return c, problems.Sorted()
}

// hostDirectory reads s as an absolute path that is clean, "" if it is not set.
func hostDirectory(key string, s strictyaml.String, problems *strictyaml.Problems) string {
	if !s.Set() {
		return ""
	}
	name, err := expand.Path(s.V, os.LookupEnv)
	switch {
	case err != nil:
		problems.Add(s.Pos, "%s: %v", key, err)
	case !filepath.IsAbs(name) || filepath.Clean(name) != name:
		problems.Add(s.Pos, "%s: %q is not a clean absolute path", key, name)
	}
	return name
}

// Profile returns the profile of that name, nil where there is none. Paths in
// it are relative to the config; its policies come besides the config's own.
func (c *Config) Profile(name string) (*Profile, strictyaml.Problems) {
	d, ok := c.profiles[name]
	if !ok {
		var problems strictyaml.Problems
		problems.Add(strictyaml.Pos{File: c.File}, "there is no profile %q; it has %s", name, orNone(c.Names))
		return nil, problems
	}
	d.Policies = slices.Concat(c.policies, d.Policies)
	p, problems := validate(withDefaults(d, name), around(filepath.Dir(c.at)))
	p.File = c.at
	p.reread = func() (*Profile, strictyaml.Problems) {
		again, problems := loadConfig(c.File, c.at)
		if len(problems) > 0 {
			return nil, problems
		}
		return again.Profile(name)
	}
	return p, problems
}

// Named returns the profile of that name in the config file, or in the default
// ones when config is empty: that of the user, then that of the machine.
func Named(name, config string) (*Profile, strictyaml.Problems) {
	config = cmp.Or(config, defaultConfig())
	if config == "" {
		var problems strictyaml.Problems
		problems.Add(strictyaml.Pos{File: name}, "there is no such file or directory, and no config that could hold a profile of that name (%s)",
			strings.Join(defaultConfigs(os.LookupEnv), ", "))
		return nil, problems
	}
	c, problems := LoadConfig(config)
	if len(problems) > 0 {
		return nil, problems
	}
	return c.Profile(name)
}

// DefaultConfig reads the config that holds when none is named, nil if there is
// none.
func DefaultConfig() (*Config, strictyaml.Problems) {
	file := defaultConfig()
	if file == "" {
		return nil, nil
	}
	return LoadConfig(file)
}

// defaultConfig is the file of DefaultConfig, "" if there is none.
func defaultConfig() string {
	for _, file := range defaultConfigs(os.LookupEnv) {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}

// defaultConfigs are the places of a config, the first that exists is taken.
func defaultConfigs(lookup func(string) (string, bool)) []string {
	var dirs []string
	if dir, _ := lookup("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		dirs = append(dirs, dir)
	} else if home, _ := lookup("HOME"); filepath.IsAbs(home) {
		dirs = append(dirs, filepath.Join(home, ".config"))
	}
	dirs = append(dirs, "/etc")
	for i, dir := range dirs {
		dirs[i] = filepath.Join(dir, "sandboxfs", "config.yaml")
	}
	return dirs
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
