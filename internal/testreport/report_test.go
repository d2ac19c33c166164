package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// The events of a run in which everything happens that can.
const events = `
{"Action":"start","Package":"m/good"}
{"Action":"run","Package":"m/good","Test":"TestA"}
{"Action":"output","Package":"m/good","Test":"TestA","Output":"not shown\n"}
{"Action":"pass","Package":"m/good","Test":"TestA","Elapsed":0.1}
{"Action":"pass","Package":"m/good","Test":"TestLong","Elapsed":12.3}
{"Action":"output","Package":"m/good","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"m/good","Test":"TestB","Output":"    b_test.go:12: needs root: really\n"}
{"Action":"output","Package":"m/good","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"m/good","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"m/good","Output":"ok  \tm/good\t0.2s\n"}
{"Action":"pass","Package":"m/good","Elapsed":0.2}
{"Action":"output","Package":"m/bad","Test":"TestC","Output":"    c_test.go:3: wrong\n"}
{"Action":"fail","Package":"m/bad","Test":"TestC","Elapsed":0.3}
{"Action":"output","Package":"m/bad","Test":"TestPanic","Output":"panic: dead\n"}
{"Action":"fail","Package":"m/bad","Elapsed":0.4}
{"Action":"build-output","ImportPath":"m/broken","Output":"x.go:1:1: syntax error\n"}
{"Action":"build-fail","ImportPath":"m/broken"}
{"Action":"fail","Package":"m/broken","Elapsed":0}
{"Action":"skip","Package":"m/empty","Elapsed":0}
go: a line that is no event
`

func TestRead(t *testing.T) {
	var out bytes.Buffer
	r, err := read("unit", strings.NewReader(events[1:]), &out)
	if err != nil {
		t.Fatalf("read() = %v", err)
	}
	r.Seconds = 61.2
	want := "skipped  TestB: needs root: really\nFAIL\tunit: 2 passed, 2 failed, 1 skipped in 1m1s"
	if got := r.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	want = "pass\tTestLong\t12s\nok\tm/good\t0.2s\n    c_test.go:3: wrong\npanic: dead\nFAIL\tm/bad\t0.4s\n" +
		"x.go:1:1: syntax error\nFAIL\tm/broken\t0.0s\ngo: a line that is no event\n"
	if got := out.String(); got != want {
		t.Errorf("printed\n%s, want\n%s", got, want)
	}
}

func TestRun(t *testing.T) {
	pass := `{"Action":"pass","Package":"m","Test":"TestA"}`
	fail := `{"Action":"fail","Package":"m","Test":"TestA"}`
	tests := []struct {
		script string
		want   int
	}{
		{"echo '" + pass + "'", 0},
		{"echo '" + fail + "'; exit 1", 1},
		{"echo '" + fail + "'", 1},
		{"echo '" + pass + "'; exit 1", 1}, // killed, or failed without saying so
		{"true", 1},                        // nothing ran
	}
	for _, tt := range tests {
		var out, errs bytes.Buffer
		if got := run([]string{"NAME", "sh", "-c", tt.script}, &out, &errs); got != tt.want {
			t.Errorf("run(%s) = %d, want %d\n%s%s", tt.script, got, tt.want, &out, &errs)
		}
	}
	for _, args := range [][]string{nil, {"NAME"}, {"-total", "/no/such/file"}, {"NAME", "/no/such/command"}, {"-bad"}} {
		var out, errs bytes.Buffer
		if got := run(args, &out, &errs); got == 0 || errs.Len() == 0 {
			t.Errorf("run(%q) = %d and said %q, want an error", args, got, &errs)
		}
	}
}

func TestTotal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tally")
	script := `echo '{"Action":"pass","Package":"m","Test":"TestA"}'; echo '{"Action":"skip","Package":"m","Test":"TestB"}'`
	var out, errs bytes.Buffer
	for _, name := range []string{"unit", "integration"} {
		if got := run([]string{"-tally", file, name, "sh", "-c", script}, &out, &errs); got != 0 {
			t.Fatalf("run(%s) = %d\n%s%s", name, got, &out, &errs)
		}
	}
	out.Reset()
	got := run([]string{"-total", file}, &out, &errs)
	want := "skipped  TestB: no reason given\nskipped  TestB: no reason given\nok\tall tests: 2 passed, 0 failed, 2 skipped in 0s\n"
	if got != 0 || out.String() != want {
		t.Errorf("run(-total) = %d and printed %q, want 0 and %q", got, out.String(), want)
	}
}
