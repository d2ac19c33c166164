package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// gate is one thing that holds a caller back, and how to take it away.
type gate struct {
	file string // below the root of the module
	line int
	in   string // the function that holds it
	what string
	room string
	text []byte // the file without it
}

func (g gate) String() string {
	return fmt.Sprintf("%s:%d\t%s: %s", g.file, g.line, g.in, g.what)
}

// room is a parsed package.
type room struct {
	dir     string
	fset    *token.FileSet
	files   map[string]*ast.File // by path below the root
	sources map[string][]byte
	errnos  map[string]int // gates that end in an errno: how many results they have
	found   []gate
}

// find returns the gates of the given packages, in the order of their lines.
func find(root string, dirs []string) ([]gate, error) {
	var all []gate
	for _, dir := range dirs {
		r, err := parse(root, dir)
		if err != nil {
			return nil, err
		}
		if err := r.learn(); err != nil {
			return nil, err
		}
		for _, name := range sorted(r.files) {
			r.visit(name, r.files[name])
		}
		all = append(all, r.found...)
	}
	sort.SliceStable(all, func(i, j int) bool {
		if all[i].file != all[j].file {
			return all[i].file < all[j].file
		}
		return all[i].line < all[j].line
	})
	return all, nil
}

func parse(root, dir string) (*room, error) {
	r := &room{dir: dir, fset: token.NewFileSet(), files: make(map[string]*ast.File),
		sources: make(map[string][]byte), errnos: make(map[string]int)}
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		short := path.Join(dir, filepath.Base(name))
		tree, err := parser.ParseFile(r.fset, short, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		r.files[short], r.sources[short] = tree, text
	}
	if len(r.files) == 0 {
		return nil, fmt.Errorf("%s holds no Go files", dir)
	}
	return r, nil
}

// isDoor reports whether a file holds the gate itself.
func isDoor(file string) bool {
	ok, _ := path.Match("fs/gate*.go", file)
	return ok
}

// learn finds the functions that are gates: those of fs/gate*.go, and all that
// are called gate….
func (r *room) learn() error {
	for file, tree := range r.files {
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Type.Results == nil || !isDoor(file) && !strings.HasPrefix(f.Name.Name, "gate") {
				continue
			}
			results := f.Type.Results.List
			name := f.Name.Name
			switch last := source(r, results[len(results)-1].Type); last {
			case "syscall.Errno":
				r.errnos[name] = len(results)
			case "bool":
				if _, ok := allows[name]; !ok {
					return fmt.Errorf("%s: say in internal/mutate/rules.go which answer of %s allows", r.fset.Position(f.Pos()), name)
				}
			case "policy.Verdict", "policy.OpSet":
				if _, ok := verdicts[name]; !ok && name != "stricter" {
					return fmt.Errorf("%s: say in internal/mutate/rules.go what %s answers where all is allowed", r.fset.Position(f.Pos()), name)
				}
			}
		}
	}
	return nil
}

// source returns the text of a node.
func source(r *room, n ast.Node) string {
	p, end := r.fset.Position(n.Pos()), r.fset.Position(n.End())
	return string(r.sources[p.Filename][p.Offset:end.Offset])
}

// replace notes a gate whose taking away puts text in the place of n.
func (r *room) replace(in string, n ast.Node, what, text string) {
	p, end := r.fset.Position(n.Pos()), r.fset.Position(n.End())
	old := r.sources[p.Filename]
	r.found = append(r.found, gate{
		file: p.Filename, line: p.Line, in: in, what: strings.Join(strings.Fields(what), " "), room: r.dir,
		text: slices.Concat(old[:p.Offset], []byte(text), old[end.Offset:]),
	})
}

// drop notes a gate whose taking away removes n and the comma behind it.
func (r *room) drop(in string, n ast.Node, what string) {
	p, end := r.fset.Position(n.Pos()), r.fset.Position(n.End())
	old := r.sources[p.Filename]
	rest := strings.TrimLeft(strings.TrimPrefix(string(old[end.Offset:]), ","), " ")
	r.found = append(r.found, gate{
		file: p.Filename, line: p.Line, in: in, what: what, room: r.dir,
		text: slices.Concat(old[:p.Offset], []byte(rest)),
	})
}

func sorted[T any](m map[string]T) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// moduleRoot returns the directory of go.mod.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	if mod := strings.TrimSpace(string(out)); filepath.Base(mod) == "go.mod" {
		return filepath.Dir(mod), nil
	}
	return "", fmt.Errorf("run it inside of the module")
}
