package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestAttemptsIn(t *testing.T) {
	tree, err := parser.ParseFile(token.NewFileSet(), "x_test.go", `package x

// All of this file. X-05.

// TestA does it. X-01, S1-09.
func TestA(t *testing.T) {
	// X-02 is tried elsewhere
}

// helper X-03
func helper() {}

func TestX07_B(t *testing.T) {}
`, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[attempt]bool)
	for _, a := range attemptsIn(tree, "./x") {
		got[a] = true
	}
	want := []attempt{{"X-01", "./x", "TestA"}, {"X-05", "./x", "TestA"}, {"X-05", "./x", "TestX07_B"}, {"X-07", "./x", "TestX07_B"}}
	for _, a := range want {
		if !got[a] {
			t.Errorf("not found: %v", a)
		}
	}
	if len(got) != len(want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func TestPrintHoles(t *testing.T) {
	attempts := []attempt{{"X-01", "./a", "TestX01_Links"}, {"X-02", "./a", "TestMoves"}, {"X-03", "./a", "TestLost"}}
	results := map[string]map[string]string{"./a": outcomes([]byte(
		`{"Action":"pass","Test":"TestX01_Links"}` + "\n" + `{"Action":"pass","Test":"TestX01_Links/host_root"}` + "\n" +
			`{"Action":"fail","Test":"TestX01_Links/container_user"}` + "\n" + `{"Action":"output","Test":"TestMoves","Output":"x"}` + "\n" +
			`{"Action":"pass","Test":"TestMoves"}` + "\n"))}
	var out strings.Builder
	err := printHoles(&out, attempts, results)
	for _, line := range []string{
		"X-01  host root       ./a                    TestX01_Links                        pass\n",
		"X-01  container user  ./a                    TestX01_Links                        fail\n",
		"X-02  the test itself ./a                    TestMoves                            pass\n",
		"X-03  the test itself ./a                    TestLost                             not run\n",
		"X-14  no test tries it\n",
		"X-15  not tried: there is no API beside /metrics and /healthz\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no line %q in\n%s", line, &out)
		}
	}
	if err == nil || !strings.HasPrefix(err.Error(), "11 lines") {
		t.Errorf("printHoles = %v, want an error that counts 2 results and 9 holes", err)
	}
}
