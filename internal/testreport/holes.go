package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The holes that are known of systems of this kind, X-01 to X-15.
const holes = 15

// absent says what a hole is in that this program does not have. Who builds it
// takes the line away, and the table fails until a test tries the hole.
var absent = map[string]string{
	"X-11": "there are no approvals to answer",
	"X-13": "there are no approvals to be held",
	"X-15": "there is no API beside /metrics and /healthz",
}

// attempt is a test that tries a hole.
type attempt struct{ hole, pkg, test string }

var (
	citation = regexp.MustCompile(`\bX-(\d\d)\b`)
	inName   = regexp.MustCompile(`^TestX(\d\d)_`)
)

// findAttempts returns the tests below root whose name, comment, or a comment
// that stands by itself in their file, cites a hole.
func findAttempts(root string) ([]attempt, error) {
	var found []attempt
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		found = append(found, attemptsIn(tree, "./"+filepath.ToSlash(pkg))...)
		return nil
	})
	slices.SortFunc(found, func(a, b attempt) int {
		return cmp.Or(strings.Compare(a.hole, b.hole), strings.Compare(a.pkg, b.pkg), strings.Compare(a.test, b.test))
	})
	return slices.Compact(found), err
}

func attemptsIn(tree *ast.File, pkg string) []attempt {
	alone := make(map[*ast.CommentGroup]bool)
	for _, c := range tree.Comments {
		alone[c] = true
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			delete(alone, n.Doc)
			for c := range alone {
				if n.Body != nil && n.Body.Pos() < c.Pos() && c.End() < n.Body.End() {
					delete(alone, c)
				}
			}
			return false
		case *ast.GenDecl:
			delete(alone, n.Doc)
		}
		return true
	})
	var found []attempt
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
			continue
		}
		cited := make(map[string]bool)
		for _, c := range append(slices.Collect(maps.Keys(alone)), f.Doc) {
			for _, m := range citation.FindAllStringSubmatch(c.Text(), -1) {
				cited["X-"+m[1]] = true
			}
		}
		if m := inName.FindStringSubmatch(f.Name.Name); m != nil {
			cited["X-"+m[1]] = true
		}
		for hole := range cited {
			found = append(found, attempt{hole, pkg, f.Name.Name})
		}
	}
	return found
}

// tryHoles runs every test that tries a hole and prints the table: the hole, who
// tried it, the test and what came of it.
func tryHoles(root string, stdout, stderr io.Writer) error {
	attempts, err := findAttempts(root)
	if err != nil {
		return err
	}
	tests := make(map[string][]string)
	for _, a := range attempts {
		if !slices.Contains(tests[a.pkg], a.test) {
			tests[a.pkg] = append(tests[a.pkg], a.test)
		}
	}
	results := make(map[string]map[string]string) // by package and test
	for _, pkg := range slices.Sorted(maps.Keys(tests)) {
		cmd := exec.Command("go", "test", "-json", "-count=1", "-timeout=20m", "-run=^("+strings.Join(tests[pkg], "|")+")$", pkg)
		cmd.Dir, cmd.Stderr = root, stderr
		out, err := cmd.Output() // a test that fails is in the table
		if results[pkg] = outcomes(out); len(results[pkg]) == 0 {
			return errors.Join(fmt.Errorf("no test of %s ran: %.500s", pkg, out), err)
		}
	}
	return printHoles(stdout, attempts, results)
}

// outcomes returns what became of each test in what go test -json prints.
func outcomes(out []byte) map[string]string {
	found := make(map[string]string)
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		var e event
		if json.Unmarshal(s.Bytes(), &e) == nil && e.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			found[e.Test] = e.Action
		}
	}
	return found
}

// actors are the callers as whom integration/attack runs one test after another.
var actors = []string{"host root", "host user", "container root", "container user"}

func printHoles(w io.Writer, attempts []attempt, results map[string]map[string]string) error {
	failed, tried := 0, make(map[string]bool)
	line := func(a attempt, actor, result string) {
		if result = cmp.Or(result, "not run"); result != "pass" {
			failed++
		}
		fmt.Fprintf(w, "%s  %-15s %-22s %-36s %s\n", a.hole, actor, a.pkg, a.test, result)
	}
	for _, a := range attempts {
		tried[a.hole] = true
		byActor := false
		for _, actor := range actors {
			if result := results[a.pkg][a.test+"/"+strings.ReplaceAll(actor, " ", "_")]; result != "" {
				line(a, actor, result)
				byActor = true
			}
		}
		if !byActor {
			line(a, "the test itself", results[a.pkg][a.test])
		}
	}
	for i := range holes {
		if hole := fmt.Sprintf("X-%02d", i+1); !tried[hole] {
			if why := absent[hole]; why != "" {
				fmt.Fprintf(w, "%s  not tried: %s\n", hole, why)
				continue
			}
			fmt.Fprintf(w, "%s  no test tries it\n", hole)
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d lines are not a pass", failed)
	}
	return nil
}
