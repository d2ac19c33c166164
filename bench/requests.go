package main

import (
	"bufio"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// requests are those that reached the daemon, by FUSE operation.
type requests map[string]int

// requests asks the daemon; nil for a candidate that does not count them.
func (c *candidate) requests() (requests, error) {
	if c.metrics == "" {
		return nil, nil
	}
	resp, err := http.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	found := make(requests)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), `sandboxfs_requests_total{operation="`)
		if !ok {
			continue
		}
		op, value, _ := strings.Cut(rest, `"} `)
		var n float64 // large counts are written with an exponent
		if _, err := fmt.Sscan(value, &n); err != nil {
			return nil, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
		found[op] = int(n)
	}
	return found, lines.Err()
}

// since returns what was added; nil if r is.
func (r requests) since(before requests) requests {
	if r == nil {
		return nil
	}
	diff := make(requests)
	for op, n := range r {
		if n > before[op] {
			diff[op] = n - before[op]
		}
	}
	return diff
}

// String lists the operations, the most frequent first.
func (r requests) String() string {
	ops := make([]string, 0, len(r))
	for op := range r {
		ops = append(ops, op)
	}
	slices.SortFunc(ops, func(a, b string) int { return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a, b)) })
	for i, op := range ops {
		ops[i] = fmt.Sprintf("%s %d", op, r[op])
	}
	return strings.Join(ops, ", ")
}
