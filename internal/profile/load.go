package profile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/configs"
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/sysmounts"
)

// Load reads the profile in file. With problems the profile holds what was
// right, for Build to find its own; it is nil when nothing could be read.
func Load(file string) (*Profile, strictyaml.Problems) {
	at, err := filepath.Abs(file)
	if err != nil {
		return nil, strictyaml.Problems{{Pos: strictyaml.Pos{File: file}, Message: err.Error()}}
	}
	return load(file, at)
}

// load reads the profile at the absolute path at, which positions call file.
func load(file, at string) (*Profile, strictyaml.Problems) {
	data, problems := read(file, at)
	if len(problems) > 0 {
		return nil, problems
	}
	return loadData(file, at, data)
}

// loadData is load of what stands in the file.
func loadData(file, at string, data []byte) (*Profile, strictyaml.Problems) {
	if other, ok := mistaken[kindOf(data)]; ok {
		return nil, strictyaml.Problems{{Pos: strictyaml.Pos{File: file, Line: 1, Col: 1}, Message: other}}
	}
	d, problems := parse(file, data)
	if d.Pos.Line == 0 {
		return nil, problems
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	p, more := validate(withDefaults(d, name), around(filepath.Dir(at)))
	p.File = at
	p.reread = func() (*Profile, strictyaml.Problems) { return load(file, at) }
	return p, append(problems, more...).Sorted()
}

// mistaken says what to do with a file that is no profile but of another kind.
var mistaken = map[Kind]string{
	KindPolicy: "this is a policy and no profile; name it in one, as policy: NAME with its directory in policies",
	KindConfig: "this is a config and no profile; give the name of one of its profiles, and the file with --config",
}

// Workspace returns the built-in profile workspace as if it stood in dir, which
// is its root.
func Workspace(dir string) (*Profile, strictyaml.Problems) {
	var problems strictyaml.Problems
	at, err := filepath.Abs(dir)
	if err != nil {
		problems.Add(strictyaml.Pos{File: dir}, "%v", err)
		return nil, problems
	}
	if err := unix.Faccessat(unix.AT_FDCWD, at, unix.R_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		problems.Add(strictyaml.Pos{File: dir}, "the directory cannot be read: %v", err)
		return nil, problems
	}
	d, problems := parse(builtinWorkspace, configs.Workspace)
	p, more := validate(withDefaults(d, "workspace"), around(at))
	p.reread = func() (*Profile, strictyaml.Problems) { return Workspace(at) }
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

// read returns what stands at the path at, which positions call file.
func read(file, at string) (data []byte, problems strictyaml.Problems) {
	data, err := content(at)
	if errors.Is(err, unix.EISDIR) {
		problems.Add(strictyaml.Pos{File: file}, "is a directory; name the file in it that is meant")
	} else if err != nil {
		problems.Add(strictyaml.Pos{File: file}, "%v", reason(err))
	}
	return data, problems
}

// largest is the size up to which a profile or config is read, in bytes.
const largest = 16 << 20

// content returns what the file at holds. A pipe may stand there, but nobody is
// waited for to open its other end; nor is anything read that has no end.
func content(at string) ([]byte, error) {
	f, err := os.OpenFile(at, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, largest+1))
	if len(data) > largest {
		return nil, fmt.Errorf("holds more than %d MiB, which no profile, policy or config does", largest>>20)
	}
	return data, err
}

func around(dir string) surroundings {
	return surroundings{
		dir:    dir,
		lookup: os.LookupEnv,
		system: sysmounts.For(sysmounts.Detect()),
		packs:  configs.Packs,
	}
}
