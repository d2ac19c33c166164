package metrics

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func serve(t *testing.T, addr string, h http.Handler, log io.Writer) *Endpoint {
	t.Helper()
	e, err := Serve(addr, h, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatalf("Serve(%q) = %v", addr, err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestServe(t *testing.T) {
	reg := NewRegistry()
	New(reg, "v9")
	var sick error
	e := serve(t, "127.0.0.1:0", Handler(reg, func() error { return sick }), io.Discard)

	code, body := get(t, "http://"+e.Addr()+"/metrics")
	for _, want := range []string{`sandboxfs_build_info{version="v9"} 1`, "go_goroutines ", "process_open_fds "} {
		if code != 200 || !strings.Contains(body, want) {
			t.Errorf("GET /metrics = %d, want 200 with %q", code, want)
		}
	}
	if code, body := get(t, "http://"+e.Addr()+"/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("GET /healthz = %d %q, want 200 ok", code, body)
	}
	sick = errors.New("the mount does not answer")
	if code, body := get(t, "http://"+e.Addr()+"/healthz"); code != 503 || body != "the mount does not answer\n" {
		t.Errorf("GET /healthz = %d %q, want 503 and the reason", code, body)
	}
	if code, _ := get(t, "http://"+e.Addr()+"/"); code != 404 {
		t.Errorf("GET / = %d, want 404", code)
	}
}

func TestServeTakenPortThatWasAskedFor(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	addr := taken.Addr().String()
	_, err = Serve(addr, http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), addr+" is taken") || !strings.Contains(err.Error(), "--metrics off") {
		t.Errorf("Serve(%q) = %v, want an error that says it is taken and what to do", addr, err)
	}
}

func TestServeTakenDefaultPort(t *testing.T) {
	// Where this fails somebody else has the port, which is as good.
	if taken, err := net.Listen("tcp", DefaultAddr); err == nil {
		defer taken.Close()
	}
	var log bytes.Buffer
	e := serve(t, "", http.NotFoundHandler(), &log)
	if e.Addr() == DefaultAddr || !strings.HasPrefix(e.Addr(), "127.0.0.1:") {
		t.Errorf("Serve(\"\").Addr() = %s, want another port of 127.0.0.1", e.Addr())
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), e.Addr()) {
		t.Errorf("Serve(\"\") logged %q, want one warning with %s", log.String(), e.Addr())
	}
}

func TestServeBadAddress(t *testing.T) {
	if e, err := Serve("nonsense", http.NotFoundHandler(), slog.New(slog.DiscardHandler)); err == nil {
		e.Close()
		t.Error(`Serve("nonsense") succeeded, want an error`)
	}
}
