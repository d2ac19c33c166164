package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// event is one line of the audit file.
type event struct {
	Mount      string
	Operation  string
	Path       string
	To         string
	Decision   string
	Rule       string
	At         string
	Policy     string
	Errno      string
	Pid        uint32
	Uid        uint32
	Command    string
	Container  string
	Exec       string
	Generation uint64
}

// events returns the audit trail so far.
func (m *mount) events() []event {
	m.t.Helper()
	text, err := os.ReadFile(m.audit)
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	var list []event
	for line := range strings.Lines(string(text)) {
		var e event
		if !strings.HasSuffix(line, "\n") {
			break // still being written
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			m.t.Fatalf("%s: %v in %q", m.audit, err, line)
		}
		list = append(list, e)
	}
	return list
}

// wantEvent waits for an event of the operation on path that names rule, and
// returns the latest such.
func (m *mount) wantEvent(operation, path, rule string) event {
	m.t.Helper()
	var found event
	eventually(m.t, fmt.Sprintf("event {%s %s %s}", operation, path, rule), func() error {
		list := m.events()
		for i := len(list) - 1; i >= 0; i-- {
			if e := list[i]; e.Operation == operation && e.Rule == rule && (e.Path == path || e.To == path) {
				found = e
				return nil
			}
		}
		return fmt.Errorf("not among %d events, the last of which are %+v", len(list), list[max(0, len(list)-3):])
	})
	return found
}

// metric returns the sum of the samples of that name which carry all the
// labels, each written as name="value".
func (m *mount) metric(name string, labels ...string) float64 {
	m.t.Helper()
	address := metricsURL.FindString(m.output.text())
	if address == "" {
		m.t.Fatalf("no metrics address was printed:\n%s", m.output.text())
	}
	resp, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		m.t.Fatalf("GET /metrics = %s, %v", resp.Status, err)
	}
	return sumSamples(m, string(text), name, labels)
}

// sumSamples adds up samples of the Prometheus text format.
func sumSamples(m *mount, text, name string, labels []string) float64 {
	sum := 0.0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		series, set, _ := strings.Cut(line[:space], "{")
		if series != name || !hasAll(set, labels) {
			continue
		}
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			m.t.Fatalf("metric %q: %v", line, err)
		}
		sum += value
	}
	return sum
}

// hasAll reports whether s holds every one of parts.
func hasAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// reloaded runs edit and waits until the daemon serves the policies that it
// wrote.
func (m *mount) reloaded(edit func()) {
	m.t.Helper()
	before := m.metric("sandboxfs_policy_generation")
	edit()
	eventually(m.t, "policy reload", func() error {
		if now := m.metric("sandboxfs_policy_generation"); now <= before {
			return fmt.Errorf("sandboxfs_policy_generation is still %v", now)
		}
		return nil
	})
}
