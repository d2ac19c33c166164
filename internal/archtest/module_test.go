package archtest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/sandboxfs/sandboxfs"

// pkg is one package of the module with its parsed files.
type pkg struct {
	path  string // below the module: "fs/bazil"
	name  string
	files []file
}

// file is one parsed file.
type file struct {
	name string // below the module's root
	test bool
	ast  *ast.File
}

var fset = token.NewFileSet()

// module returns the packages of the module. Files for other systems count.
var module = sync.OnceValues(func() ([]pkg, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Dir,GoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l struct {
			ImportPath, Name, Dir                              string
			GoFiles, TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
		}
		if err := d.Decode(&l); err == io.EOF {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		p := pkg{path: strings.TrimPrefix(l.ImportPath, modulePath+"/"), name: l.Name}
		for _, name := range slices.Concat(l.GoFiles, l.TestGoFiles, l.XTestGoFiles, l.IgnoredGoFiles) {
			full := filepath.Join(l.Dir, name)
			tree, err := parser.ParseFile(fset, full, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			short, err := filepath.Rel(root, full)
			if err != nil {
				return nil, err
			}
			p.files = append(p.files, file{short, strings.HasSuffix(name, "_test.go"), tree})
		}
		pkgs = append(pkgs, p)
	}
})

// packages returns the module or ends the test.
func packages(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := module()
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found %d packages, which cannot be all", len(pkgs))
	}
	return pkgs
}

// report fails the test with the place of pos and the reason.
func (f file) report(t *testing.T, pos token.Pos, format string, args ...any) {
	t.Helper()
	t.Errorf("%s:%d: "+format, append([]any{f.name, fset.Position(pos).Line}, args...)...)
}
