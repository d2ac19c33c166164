package fs

import (
	"io"
	"log/slog"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/metrics"
)

// TestCloseGivesItsCountsBack ends one of two servers that count together, with
// a file and a directory still open: what is shown is what the other has.
func TestCloseGivesItsCountsBack(t *testing.T) {
	registry := metrics.NewRegistry()
	m := metrics.New(registry, "test")
	serve := func() *Server {
		s, err := NewServer(Config{
			View: viewOf(t, allowAll), Trees: []backing.Tree{backing.NewMemory()},
			Recorder: &recorder{}, Metrics: m, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		var e Entry
		var o Opened
		want(t, s.Create(caller(), RootID, "file", unix.O_RDWR, 0o644, &e, &o), 0, "create")
		want(t, s.Opendir(caller(), RootID, &o), 0, "opendir")
		return s
	}
	one, other := serve(), serve()
	shows := func(nodes, handles float64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		wanted := map[string]float64{"sandboxfs_nodes": nodes, "sandboxfs_open_handles": handles}
		for _, f := range families {
			if n, ok := wanted[f.GetName()]; ok && f.GetMetric()[0].GetGauge().GetValue() != n {
				t.Errorf("%s = %v, want %v", f.GetName(), f.GetMetric()[0].GetGauge().GetValue(), n)
			}
		}
	}
	shows(2, 4)
	one.Close()
	shows(1, 2)
	other.Close()
	shows(0, 0)
}
