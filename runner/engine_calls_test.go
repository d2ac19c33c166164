package runner

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/client"
)

// counter stands before the engine and notes what it is asked.
type counter struct {
	mu    sync.Mutex
	calls []string // guarded by mu
}

// variable is the part of a request that differs each time.
var variable = regexp.MustCompile(`^/v[0-9.]+|[0-9a-f]{64}|sandboxfs-s-[0-9a-f]+|\?.*`)

// countCalls returns a counter of what the engine is asked by way of a socket.
func countCalls(t *testing.T) (*counter, string) {
	t.Helper()
	c := new(counter)
	engine := engineClient(t)
	there, err := client.ParseHostURL(engine.DaemonHost())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, there.Scheme, there.Host+there.Path)
	}}
	socket := t.TempDir() + "/socket"
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.calls = append(c.calls, r.Method+" "+variable.ReplaceAllString(r.URL.Path, ""))
		c.mu.Unlock()
		proxy.ServeHTTP(w, r)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return c, socket
}

// take returns the calls since the last time. What is asked until the answer
// changes counts once.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := slices.Compact(c.calls)
	c.calls = nil
	return calls
}

// An engine takes milliseconds for an answer, so what is asked for each command
// is no more than what docker exec asks.
func TestEngineCalls(t *testing.T) {
	count, socket := countCalls(t)
	r := newRig(t, func(s *Settings) { s.SocketPath = socket })
	run := func() {
		t.Helper()
		r.wantOutput(r.ensure(r.spec()), "echo x", "x")
	}
	run()
	first := count.take()
	run()
	again := count.take()
	inspect := []string{"GET /images/" + testImage + ":" + testTag + "/json", "GET /containers//json"}
	execute := []string{"POST /containers//exec", "POST /exec//start", "GET /exec//json"}
	for _, tt := range []struct {
		what      string
		got, want []string
	}{
		{"make and use", first, slices.Concat([]string{"HEAD /_ping"}, inspect, []string{"GET /info", "POST /containers/create", "POST /containers//start", "GET /version"}, execute)},
		{"use again", again, slices.Concat(inspect, execute)},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("calls to %s:\n\t%s\nwant\n\t%s", tt.what, strings.Join(tt.got, "\n\t"), strings.Join(tt.want, "\n\t"))
		}
	}
}
