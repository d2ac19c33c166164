package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// TestCases runs the .case files of testdata; its README says how to write one.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.case")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files: %v", err)
	}
	for _, file := range files {
		t.Run(baseName(file), func(t *testing.T) { runCases(t, file) })
	}
}

func runCases(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n---\n")
	last := len(sections) - 1
	var layers []*Policy
	for _, s := range sections[:last] {
		layers = append(layers, mustCompile(t, s))
	}
	requests := 0
	for line := range strings.SplitSeq(sections[last], "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		requests++
		checkRequest(t, layers, line)
	}
	if requests == 0 {
		t.Errorf("%s holds no request", file)
	}
}

// checkRequest checks one line "op path -> decision rule".
func checkRequest(t *testing.T, layers []*Policy, line string) {
	t.Helper()
	i := strings.LastIndex(line, " -> ")
	opName, path, ok := strings.Cut(line[:max(i, 0)], " ")
	op, known := ParseOp(opName)
	if !ok || !known {
		t.Errorf("%q is not of the form: op path -> decision rule", line)
		return
	}
	got := Decide(layers, vpath.Path(path), op)
	if have := got.Decision.String() + " " + got.Rule.Name; have != line[i+4:] {
		t.Errorf("Decide(%s, %s) = %s, want %s", op, path, have, line[i+4:])
	}
	if allowed := Allowed(layers, vpath.Path(path)); allowed.Has(op) != (got.Decision == Allow) {
		t.Errorf("Allowed(%s) = %s, but Decide(%s) = %s", path, allowed, op, got.Decision)
	}
}

// mustCompile compiles the text of a policy; version and name may be left out.
func mustCompile(t testing.TB, text string) *Policy {
	t.Helper()
	if !strings.Contains("\n"+text, "\nversion:") {
		text = "version: 1\n" + text
	}
	f, problems := Parse("case.yaml", []byte(text))
	if problems != nil {
		t.Fatalf("Parse:\n%v", problems)
	}
	env := map[string]string{"HOME": "/home/u"}
	p, problems := f.Compile(Vars{Mount: "/w", Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
	if problems != nil {
		t.Fatalf("Compile:\n%v", problems)
	}
	return p
}
