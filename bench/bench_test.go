package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRequests(t *testing.T) {
	page := "sandboxfs_requests_total{operation=\"read\"} 5\nsandboxfs_requests_total{operation=\"lookup\"} 1.2e+07\nother 1\n"
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(page)) }))
	defer daemon.Close()
	c := &candidate{metrics: strings.TrimPrefix(daemon.URL, "http://")}
	got, err := c.requests()
	if err != nil {
		t.Fatalf("requests() = %v", err)
	}
	if want := "lookup 11999999, read 5"; got.since(requests{"lookup": 1}).String() != want {
		t.Errorf("since(lookup 1) = %v, want %s", got.since(requests{"lookup": 1}), want)
	}
	if got, err := new(candidate).requests(); got.since(got) != nil || err != nil {
		t.Errorf("requests() without metrics = %v, %v, want none", got, err)
	}
}

// Two machines compare the same work.
func TestArchiveIsTheSameEveryTime(t *testing.T) {
	dir := t.TempDir()
	var archives [2][]byte
	for i := range archives {
		file := filepath.Join(dir, "a.tar")
		if err := writeArchive(file, 250); err != nil {
			t.Fatal(err)
		}
		var err error
		if archives[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("writeArchive() wrote two different archives")
	}
}

func TestRow(t *testing.T) {
	ms := func(n ...time.Duration) (times []time.Duration) {
		for _, d := range n {
			times = append(times, d*time.Millisecond)
		}
		return times
	}
	candidates := []*candidate{{name: "beside"}, {name: "sandboxfs"}}
	r := &result{work: work{name: "find"}, times: [][]time.Duration{ms(9, 1, 2), ms(30, 5, 1)}}
	if got, want := r.row(candidates), "| find | 0.002 | 0.005 | 2.50 |"; got != want {
		t.Errorf("row() = %s, want %s", got, want)
	}
	r.work.each = 10
	if got, want := r.row(candidates), "| find | 2000.0 | 5000.0 | 2.50 |"; got != want {
		t.Errorf("row() of single steps = %s, want %s", got, want)
	}
}
