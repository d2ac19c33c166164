package integration

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestCommandLine has every command explain itself, and those that print data
// print it as JSON too.
func TestCommandLine(t *testing.T) {
	w := newWorld(t)
	w.write("root/f", "x")
	profile := w.profile(goodProfile)
	for _, name := range []string{"mount", "umount", "check", "explain", "resolve", "doctor", "version"} {
		out, _, code := sandboxfs(name, "--help")
		if code != 0 || !strings.Contains(out, "sandboxfs "+name) {
			t.Errorf("%s --help = exit %d %q, want its usage", name, code, out)
		}
	}
	for _, args := range [][]string{
		{"check", "--json", profile}, {"explain", "--json", profile, "read", "/f"}, {"resolve", "--json", profile, "/f"}, {"doctor", "--json"}, {"version", "--json"},
	} {
		out, errs, code := sandboxfs(args...)
		if code != 0 || !json.Valid([]byte(out)) {
			t.Errorf("%s = exit %d %q %q, want JSON", strings.Join(args, " "), code, out, errs)
		}
	}
}

// TestExplainAgreesWithTheMount has explain name the rule and the line that the
// event of the refusal names. S0-07.
func TestExplainAgreesWithTheMount(t *testing.T) {
	w := newWorld(t)
	w.write("root/.env", "x")
	m := w.view(rule("no-dotenv", "deny", "read, write", "/**/.env"), allowAll)
	wantOpenRefused := open(0)(m.Path + "/.env")
	if wantOpenRefused == nil {
		t.Fatal("open(/.env) = ok, want a refusal")
	}
	e := m.wantEvent("stat", "/.env", "no-dotenv")
	out, errs, code := sandboxfs("explain", w.path("profile.yaml"), "stat", "/.env")
	if code != 3 || !strings.Contains(out, "no-dotenv") || !strings.Contains(out, e.At) {
		t.Errorf("explain stat /.env = exit %d, want 3, no-dotenv and %s\n%s%s", code, e.At, out, errs)
	}
	if out, _, code := sandboxfs("explain", w.path("profile.yaml"), "write", "/free"); code != 0 {
		t.Errorf("explain write /free = exit %d, want 0\n%s", code, out)
	}
}

// TestMetricsEndpoint has /metrics carry what the contract names, with no path
// but a mount's target as a label, and /healthz answer. C-03.
func TestMetricsEndpoint(t *testing.T) {
	w := newWorld(t)
	w.write("root/some-file", "x")
	m := w.view(rule("no", "deny", "write", "/some-file"), allowAll)
	read(t, m.Path+"/some-file")
	if open(1)(m.Path+"/some-file") == nil {
		t.Fatal("open(/some-file, O_WRONLY) = ok, want a refusal")
	}
	base := "http://" + metricsURL.FindString(m.output.text())
	for _, path := range []string{"/metrics", "/healthz"} {
		resp, err := http.Get(base + path)
		must(t, err)
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("GET %s = %s, %v", path, resp.Status, err)
		}
		if strings.Contains(string(text), "some-file") {
			t.Errorf("GET %s names a file", path)
		}
		if path == "/healthz" {
			continue
		}
		for _, name := range []string{
			"sandboxfs_decisions_total{", "sandboxfs_rule_hits_total{", "sandboxfs_operation_duration_seconds_bucket{", "sandboxfs_bytes_total{",
			"sandboxfs_open_handles", "sandboxfs_nodes", "sandboxfs_policy_reloads_total{", "sandboxfs_policy_generation", "sandboxfs_build_info{", "go_goroutines", "process_resident_memory_bytes",
		} {
			if !strings.Contains(string(text), "\n"+name) {
				t.Errorf("GET /metrics has no %s", name)
			}
		}
	}
	if m.metric("sandboxfs_rule_hits_total", `policy="agent"`, `rule="no"`, `decision="deny"`) == 0 {
		t.Error(`sandboxfs_rule_hits_total{policy="agent",rule="no",decision="deny"} = 0 after a refusal`)
	}
}

// TestSocketAndLogFormat serves metrics on a unix socket too, and logs in JSON.
func TestSocketAndLogFormat(t *testing.T) {
	w := newWorld(t)
	w.policy("agent", allowAll)
	socket := w.path("s")
	m := w.mount(w.profile("root: ./root\npolicy: agent\npolicies: [./policies]\n"), flags("--socket", socket, "--log-format", "json"))
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	resp, err := client.Get("http://sandboxfs/healthz")
	must(t, err)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET /healthz on the socket = %s, want 200", resp.Status)
	}
	if mode := modeOf(t, socket); !strings.HasPrefix(mode, "0600") {
		t.Errorf("mode of the socket = %s, want 0600", mode)
	}
	m.reloaded(func() { w.policy("agent", rule("new", "deny", "read", "/x"), allowAll) })
	eventually(t, "a JSON line on the reload", func() error {
		for _, line := range m.output.lines("{") {
			if json.Valid([]byte(line)) {
				return nil
			}
		}
		return errors.New(m.output.text())
	})
	m.stop()
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket is still there after the end")
	}
}
