package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// result is what was measured of one work.
type result struct {
	work     work
	times    [][]time.Duration // by candidate, then by round
	requests requests          // that the view's daemon saw in the last round
}

// measure does every work on every candidate, in rounds, so that a slow moment
// of the machine does not fall on one candidate alone.
func measure(ctx context.Context, candidates []*candidate, works []work, rounds int) ([]*result, error) {
	results := make([]*result, len(works))
	for i, w := range works {
		results[i] = &result{work: w, times: make([][]time.Duration, len(candidates))}
	}
	for round := range rounds {
		for _, r := range results {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, rounds, r.work.name)
			for i := range candidates {
				i = (i + round) % len(candidates)
				took, requests, err := r.work.take(ctx, candidates[i])
				if err != nil {
					return nil, err
				}
				r.times[i] = append(r.times[i], took)
				if requests != nil {
					r.requests = requests
				}
			}
		}
	}
	return results, nil
}

func median(times []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2]
}

// printTables prints the medians, how the view compares, and what it was asked.
func printTables(w io.Writer, t trees, s scale, candidates []*candidate, results []*result) {
	fmt.Fprintf(w, "\n%s. Medians of %d rounds on %d files of the standard library; cold is a fresh mount over a warm backing directory. Single steps in µs, the rest in seconds.\n\n",
		machine(), s.rounds, t.files)
	head, rule := "| |", "|---|"
	for _, c := range candidates {
		head, rule = head+" "+c.name+" |", rule+"---:|"
	}
	for _, c := range candidates {
		if c.name != "sandboxfs" {
			head, rule = head+" sandboxfs / "+c.name+" |", rule+"---:|"
		}
	}
	fmt.Fprintf(w, "%s\n%s\n", head, rule)
	for _, r := range results {
		fmt.Fprintln(w, r.row(candidates))
	}
	fmt.Fprint(w, "\nRequests that reached the daemon of sandboxfs:\n\n| | |\n|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(w, "| %s | %v |\n", r.work.name, r.requests)
	}
}

func (r *result) row(candidates []*candidate) string {
	row := "| " + r.work.name + " |"
	var view time.Duration
	for i, c := range candidates {
		m := median(r.times[i])
		if c.name == "sandboxfs" {
			view = m
		}
		if r.work.each > 0 {
			row += fmt.Sprintf(" %.1f |", float64(m)/float64(time.Microsecond))
		} else {
			row += fmt.Sprintf(" %.3f |", m.Seconds())
		}
	}
	for i, c := range candidates {
		if c.name != "sandboxfs" {
			row += fmt.Sprintf(" %.2f |", float64(view)/float64(median(r.times[i])))
		}
	}
	return row
}
