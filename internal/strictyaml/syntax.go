package strictyaml

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"
)

// syntax records that data is not YAML.
func (d *decoder) syntax(data []byte, err error) {
	message := regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(err.Error(), "")
	if strings.Contains(message, "expected alphabetic or numeric character") {
		message += `; a value that begins with * or & needs quotes, as in "*"`
	}
	line := brokenLine(data, err)
	first, indent := firstOf(data, line)
	if first == '\t' {
		message += "; YAML is indented with spaces, never with tabs"
	}
	d.problems.Add(Pos{File: d.file, Line: line, Col: indent + 1}, "not valid YAML: %s", message)
	d.problems[len(d.problems)-1].unread = d.top()
}

// firstOf returns the first byte of a line of data that is no space, 0 if there is
// none, and how many spaces stand before it. The first line is 1.
func firstOf(data []byte, line int) (first byte, indent int) {
	text := bytes.Split(data, []byte("\n"))[line-1]
	rest := bytes.TrimLeft(text, " ")
	if len(rest) > 0 {
		first = rest[0]
	}
	return first, len(text) - len(rest)
}

// brokenLine returns the first line that makes data fail with err. The line
// number that yaml.v3 (v3.0.1) puts into its message is often the one before,
// or that of the enclosing block, or none at all.
func brokenLine(data []byte, err error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	k := sort.Search(len(lines), func(k int) bool {
		e := parseAll(bytes.Join(lines[:k+1], nil))
		return e != nil && e.Error() == err.Error()
	})
	return min(k+1, len(lines))
}

// parseAll returns the error that parsing every document of data ends with.
func parseAll(data []byte) error {
	in := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := in.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
