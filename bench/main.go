// Command bench compares a sandboxfs view, with its policy on, with two other
// loopback file systems (bindfs, and the example of go-fuse) and with the
// backing directory itself, and a command in a container with docker alone. It
// runs the same work on each in turn, several times, and prints the medians as
// Markdown.
//
//	bench [-full] [-containers] [-rounds N] [-dir DIR] SANDBOXFS LOOPBACK
//
// The arguments are the two programs that are built from source; bindfs is the
// installed one. scripts/bench.sh builds and installs what is needed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// scale is how much work there is.
type scale struct {
	rounds int
	copies int // of the source of the standard library
	small  int // files in the archive
	micro  int // files that are created, stat-ed and opened one by one
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	s := scale{copies: 1, small: 10_000, micro: 2000}
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&s.rounds, "rounds", 3, "how often everything is measured")
	full := flags.Bool("full", false, "six copies of the source of the standard library instead of one, and more of the rest")
	only := flags.Bool("containers", false, "compare containers alone")
	parent := flags.String("dir", "", "directory for the trees (default: the one for temporary files)")
	flags.Parse(args)
	if flags.NArg() != 2 || s.rounds < 1 {
		return fmt.Errorf("usage: bench [-full] [-containers] [-rounds N] [-dir DIR] SANDBOXFS LOOPBACK")
	}
	if *full {
		s.copies, s.small, s.micro = 6, 20_000, 10_000
	}
	dir, err := os.MkdirTemp(*parent, "sandboxfs-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if *only {
		return compareContainers(ctx, os.Stdout, dir, flags.Arg(0), s.rounds)
	}

	t := trees{backing: filepath.Join(dir, "backing"), archive: filepath.Join(dir, "small.tar")}
	if err := t.make(ctx, s); err != nil {
		return err
	}
	candidates, err := newCandidates(dir, t.backing, flags.Arg(0), flags.Arg(1))
	if err != nil {
		return err
	}
	defer func() {
		if stopErr := stopAll(candidates); err == nil {
			err = stopErr
		}
	}()
	results, err := measure(ctx, candidates, works(t, s), s.rounds)
	if err != nil {
		return err
	}
	printTables(os.Stdout, t, s, candidates, results)
	return compareContainers(ctx, os.Stdout, dir, flags.Arg(0), s.rounds)
}
