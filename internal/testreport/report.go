package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// slow is how long a test runs before its end is worth a line.
const slow = 10.0

// report is the result of one run, or the sum of several.
type report struct {
	Name    string
	Passed  int
	Failed  int
	Skipped []skip
	Seconds float64
}

// skip is a test that did not run, and why.
type skip struct{ Test, Reason string }

// String returns the closing lines: the skipped tests, then the numbers.
func (r report) String() string {
	var b strings.Builder
	for _, s := range r.Skipped {
		fmt.Fprintf(&b, "skipped  %s: %s\n", s.Test, s.Reason)
	}
	word := "ok"
	if r.Failed > 0 || r.Passed == 0 {
		word = "FAIL"
	}
	fmt.Fprintf(&b, "%s\t%s: %d passed, %d failed, %d skipped in %v", word, r.Name, r.Passed, r.Failed, len(r.Skipped),
		time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	return b.String()
}

// event is a line of go test -json (go doc test2json).
type event struct {
	Action     string
	Package    string
	Test       string
	Output     string
	ImportPath string // of what did not build
	Elapsed    float64
}

// reader turns events into a report, and prints what cannot wait for its end.
type reader struct {
	report
	w      io.Writer
	output map[string]*strings.Builder // of what is under way, by package and test
	failed map[string]bool             // packages with a test that failed
}

// read reports on the events of r. A line that is no event is passed on.
func read(name string, r io.Reader, w io.Writer) (report, error) {
	rd := &reader{report: report{Name: name}, w: w,
		output: make(map[string]*strings.Builder), failed: make(map[string]bool)}
	begin := time.Now()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			rd.line(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return rd.report, err
		}
	}
	rd.Seconds = time.Since(begin).Seconds()
	return rd.report, nil
}

func (r *reader) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		fmt.Fprint(r.w, line)
		return
	}
	switch {
	case e.Action == "output":
		r.keep(e.Package+" "+e.Test, e.Output)
	case e.Action == "build-output":
		fmt.Fprint(r.w, e.Output)
	case e.Test != "":
		r.test(e)
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		r.pkg(e)
	}
}

// test notes the end of one test.
func (r *reader) test(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "pass":
		r.Passed++
	case "fail":
		r.Failed++
		r.failed[e.Package] = true
		fmt.Fprint(r.w, r.text(key))
	case "skip":
		r.Skipped = append(r.Skipped, skip{e.Test, reason(r.text(key))})
	default:
		return
	}
	if e.Elapsed >= slow && !strings.Contains(e.Test, "/") {
		fmt.Fprintf(r.w, "%s\t%s\t%.0fs\n", e.Action, e.Test, e.Elapsed)
	}
	delete(r.output, key)
}

// pkg notes the end of a package. One that fails without a test that did (it
// does not build, a panic, a time limit) counts as one failure.
func (r *reader) pkg(e event) {
	switch e.Action {
	case "pass":
		fmt.Fprintf(r.w, "ok\t%s\t%.1fs\n", e.Package, e.Elapsed)
	case "fail":
		if !r.failed[e.Package] {
			r.Failed++
		}
		fmt.Fprint(r.w, r.rest(e.Package))
		fmt.Fprintf(r.w, "FAIL\t%s\t%.1fs\n", e.Package, e.Elapsed)
	}
	r.rest(e.Package)
}

func (r *reader) keep(key, text string) {
	b := r.output[key]
	if b == nil {
		b = new(strings.Builder)
		r.output[key] = b
	}
	b.WriteString(text)
}

func (r *reader) text(key string) string {
	if b := r.output[key]; b != nil {
		return b.String()
	}
	return ""
}

// rest takes what a package printed outside of the tests that ended.
func (r *reader) rest(pkg string) string {
	var b strings.Builder
	for key, text := range r.output {
		if strings.HasPrefix(key, pkg+" ") {
			b.WriteString(text.String())
			delete(r.output, key)
		}
	}
	return b.String()
}

// reason returns what a skipped test said last, without its file and line.
func reason(output string) string {
	said := "no reason given"
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") || line == "" {
			continue
		}
		if _, after, ok := strings.Cut(line, ".go:"); ok {
			if _, text, ok := strings.Cut(after, ": "); ok {
				line = text
			}
		}
		said = line
	}
	return said
}

// appendTo adds the report to a file, as one line.
func (r report) appendTo(file string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(b, '\n'))
	return err
}

// sum returns the sum of the reports in a file.
func sum(file string, w io.Writer) (report, error) {
	f, err := os.Open(file)
	if err != nil {
		return report{}, err
	}
	defer f.Close()
	all := report{Name: "all tests"}
	for d := json.NewDecoder(f); ; {
		var r report
		if err := d.Decode(&r); err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, fmt.Errorf("%s: %w", file, err)
		}
		all.Passed += r.Passed
		all.Failed += r.Failed
		all.Skipped = append(all.Skipped, r.Skipped...)
		all.Seconds += r.Seconds
	}
}
