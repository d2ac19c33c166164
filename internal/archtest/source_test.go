package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// One door: what decides is called from the gate, and from explain and check by
// way of overlay.Explain. A self-test asks what a view permits, to try the rest.
func TestOnlyTheGateDecides(t *testing.T) {
	const reason = "a second place that decides is one that is forgotten; ask in fs/gate.go, or overlay.Explain"
	decides := []string{"Decide", "Allowed", "Permitted", "OwnRule", "CanRead", "CanWrite"}
	for _, p := range packages(t) {
		if slices.Contains([]string{"overlay", "policy", "internal/selftest"}, p.path) {
			continue
		}
		eachSource(p, func(f file) {
			if gate, _ := path.Match("fs/gate*.go", f.name); gate {
				return
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(decides, sel.Sel.Name) {
						f.report(t, sel.Sel.Pos(), "%s is called outside of the gate: %s", sel.Sel.Name, reason)
					}
				}
				return true
			})
		})
	}
}

// The errnos of a refusal are answers of one file. To compare with one is no
// answer; a conformance suite names what a file system gives; backing hands on those of the system calls that it makes.
func TestOnlyErrnoNamesRefusals(t *testing.T) {
	const reason = "refusals are worded in fs/errno.go alone, so that one table says what a caller sees"
	for _, p := range packages(t) {
		if strings.HasPrefix(p.path, "internal/backing") || p.path == "fs/posixtest" {
			continue
		}
		eachSource(p, func(f file) {
			if f.name == "fs/errno.go" {
				return
			}
			eachAnswer(f.ast, func(id *ast.Ident) {
				if slices.Contains([]string{"EACCES", "EPERM", "EROFS"}, id.Name) {
					f.report(t, id.Pos(), "%s is named outside of fs/errno.go: %s", id.Name, reason)
				}
			})
		})
	}
}

// eachAnswer calls do for every identifier that is no operand of a comparison.
func eachAnswer(root ast.Node, do func(*ast.Ident)) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			return n.Op != token.EQL && n.Op != token.NEQ
		case *ast.CallExpr:
			sel, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || sel.Sel.Name != "Is"
		case *ast.CaseClause:
			for _, s := range n.Body {
				eachAnswer(s, do)
			}
			return false
		case *ast.Ident:
			do(n)
		}
		return true
	})
}

var placeholder = regexp.MustCompile(`(?i)skeleton|todo|implement`)

func TestNothingIsASkeleton(t *testing.T) {
	for _, p := range packages(t) {
		eachSource(p, func(f file) {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				fun, _ := call.Fun.(*ast.Ident)
				text, _ := call.Args[0].(*ast.BasicLit)
				if fun != nil && fun.Name == "panic" && text != nil && placeholder.MatchString(text.Value) {
					f.report(t, call.Pos(), "panic(%s): a function that is there works, and one that does not is not there", text.Value)
				}
				return true
			})
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for _, p := range packages(t) {
		documented := slices.ContainsFunc(p.files, func(f file) bool { return f.ast.Doc != nil && !f.test })
		if !documented {
			t.Errorf("%s: package has no doc comment; its first sentence is what a newcomer reads", p.path)
		}
	}
}

func TestNoPackageForEverything(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base"}, p.name) {
			t.Errorf("%s: a package named %s attracts what belongs elsewhere; name it after the noun that it holds", p.path, p.name)
		}
	}
}

// eachSource calls do for the files that are no tests.
func eachSource(p pkg, do func(f file)) {
	for _, f := range p.files {
		if !f.test {
			do(f)
		}
	}
}
