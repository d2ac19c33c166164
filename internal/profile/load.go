package profile

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/sandboxfs/sandboxfs/configs"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/sysmounts"
)

// Load reads the profile in file. With problems the profile holds what was
// right, for Build to find its own; it is nil when nothing could be read.
func Load(file string) (*Profile, strictyaml.Problems) {
	data, at, problems := read(file)
	if len(problems) > 0 {
		return nil, problems
	}
	d, problems := parse(file, data)
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	p, more := validate(withDefaults(d, name), around(filepath.Dir(at)))
	p.File = at
	p.reload = func() (*Profile, strictyaml.Problems) { return Load(file) }
	return p, append(problems, more...).Sorted()
}

// Workspace returns the built-in profile workspace with dir as its root.
func Workspace(dir string) (*Profile, strictyaml.Problems) {
	var problems strictyaml.Problems
	at, err := filepath.Abs(dir)
	if err != nil {
		problems.Add(strictyaml.Pos{File: dir}, "%v", err)
		return nil, problems
	}
	d, problems := parse(builtinWorkspace, configs.Workspace)
	d.Root = strictyaml.String{V: at, Pos: strictyaml.Pos{File: dir}}
	p, more := validate(withDefaults(d, "workspace"), around(at))
	p.reload = func() (*Profile, strictyaml.Problems) { return Workspace(at) }
	return p, append(problems, more...).Sorted()
}

// builtinWorkspace is what positions call the file of the workspace profile.
const builtinWorkspace = "builtin/profiles/workspace.yaml"

// Find returns the profile that arg means: a directory as its own workspace, a
// file, or else the name of a profile in config. An empty config stands for the
// default ones.
func Find(arg, config string) (*Profile, strictyaml.Problems) {
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return Workspace(arg)
	case err == nil || strings.ContainsRune(arg, '/') || filepath.Ext(arg) != "":
		return Load(arg)
	}
	return Named(arg, config)
}

// Reload reads the profile again from where it came.
func (p *Profile) Reload() (*Profile, strictyaml.Problems) { return p.reload() }

// read returns what is in file, and its absolute path.
func read(file string) (data []byte, at string, problems strictyaml.Problems) {
	at, err := filepath.Abs(file)
	if err == nil {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		problems.Add(strictyaml.Pos{File: file}, "%v", reason(err))
	}
	return data, at, problems
}

func around(dir string) surroundings {
	return surroundings{
		dir:    dir,
		lookup: os.LookupEnv,
		system: sysmounts.For(sysmounts.Detect()),
		packs:  configs.Packs,
	}
}
