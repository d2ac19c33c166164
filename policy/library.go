package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// Library holds policies by name.
type Library struct {
	files  map[string]*File
	broken map[string]bool
	unread bool // a directory, of which nobody knows what it holds
}

// LoadLibrary reads the policies of builtin, and every *.yaml and *.yml file of
// dirs, hidden ones left out. A directory that comes twice is read once. What
// is wrong comes back as problems; the library holds all that is right. No file
// may take the name of a built-in policy or of another file.
func LoadLibrary(dirs []string, builtin fs.FS) (*Library, strictyaml.Problems) {
	lib := &Library{files: map[string]*File{}, broken: map[string]bool{}}
	problems := lib.addAll(builtin, "builtin/policies")
	read := map[string]bool{}
	for _, dir := range dirs {
		if dir = filepath.Clean(dir); !read[dir] {
			read[dir] = true
			problems = append(problems, lib.addAll(os.DirFS(dir), dir)...)
		}
	}
	return lib, problems.Sorted()
}

// File returns the policy of that name.
func (l *Library) File(name string) (*File, bool) {
	f, ok := l.files[name]
	return f, ok
}

// Names returns the names of all policies, sorted.
func (l *Library) Names() []string { return slices.Sorted(maps.Keys(l.files)) }

// Broken reports whether there is a file for the policy of that name which
// cannot be used, or could be in a directory that cannot be read, as a problem
// of LoadLibrary says.
func (l *Library) Broken(name string) bool { return l.broken[name] || l.unread }

// addAll adds the policies that stand directly in dir, shown as at in positions.
func (l *Library) addAll(dir fs.FS, at string) strictyaml.Problems {
	var problems strictyaml.Problems
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		l.unread = true
		problems.Add(strictyaml.Pos{File: at}, "the directory of policies cannot be read: %v", cause(err))
	}
	for _, e := range entries {
		if ext := path.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			problems = append(problems, l.add(dir, e.Name(), path.Join(at, e.Name()))...)
		}
	}
	return problems
}

// add adds the policy in the file name of dir.
func (l *Library) add(dir fs.FS, name, at string) strictyaml.Problems {
	f, problems := read(dir, name, at)
	if len(problems) == 0 {
		if other, taken := l.files[f.Name]; taken {
			problems.Add(f.at, "the name %q is taken by %s; choose another", f.Name, other.Path)
			return problems
		}
		l.files[f.Name] = f
		return nil
	}
	l.broken[baseName(name)] = true
	return problems
}

// largest is the size up to which a policy is read, in bytes.
const largest = 16 << 20

func read(dir fs.FS, name, at string) (*File, strictyaml.Problems) {
	var problems strictyaml.Problems
	mode, err := fs.Stat(dir, name)
	if err == nil && !mode.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	} else if err == nil && mode.Size() > largest {
		err = fmt.Errorf("it is larger than %d MiB", largest>>20)
	}
	var data []byte
	if err == nil {
		data, err = fs.ReadFile(dir, name)
	}
	if err != nil {
		problems.Add(strictyaml.Pos{File: at}, "the policy cannot be read: %v", cause(err))
		return nil, problems
	}
	return Parse(at, data)
}

// cause returns err without the path that the position shows already.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
