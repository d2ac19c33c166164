package metrics

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// DefaultAddr is where metrics are served when no address was asked for.
const DefaultAddr = "127.0.0.1:9464"

// Handler answers GET /metrics with what g gathers, and GET /healthz with 200
// while healthy returns nil and with 503 and the error's text otherwise.
func Handler(g prometheus.Gatherer, healthy func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(g, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if err := healthy(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// Endpoint is a running HTTP server.
type Endpoint struct {
	listener net.Listener
	server   *http.Server
}

// Serve answers with h at addr until Close. The empty addr asks for nothing in
// particular: DefaultAddr, or, with one warning, any free port of the loopback
// where that is taken. An addr that was asked for and is taken is an error.
func Serve(addr string, h http.Handler, log *slog.Logger) (*Endpoint, error) {
	l, err := listen(addr, log)
	if err != nil {
		return nil, err
	}
	return ServeOn(l, h, log), nil
}

// ServeOn answers with h on l, which it takes over, until Close.
func ServeOn(l net.Listener, h http.Handler, log *slog.Logger) *Endpoint {
	e := &Endpoint{l, &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}}
	go func() {
		if err := e.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are no longer served", "addr", e.Addr(), "err", err)
		}
	}()
	return e
}

// Addr returns the address that it listens on: "host:port", or a socket's path.
func (e *Endpoint) Addr() string { return e.listener.Addr().String() }

// Close stops the server at once and frees its address.
func (e *Endpoint) Close() error { return e.server.Close() }

func listen(addr string, log *slog.Logger) (net.Listener, error) {
	if addr != "" {
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("metrics address %s is taken by another process; name a free one with --metrics HOST:PORT, or --metrics off", addr)
		}
		if err != nil {
			return nil, fmt.Errorf("serve metrics: %w", err)
		}
		return l, nil
	}
	l, err := net.Listen("tcp", DefaultAddr)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	l, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	log.Warn("metrics port is taken, serving on a free one", "taken", DefaultAddr, "addr", l.Addr().String())
	return l, nil
}
