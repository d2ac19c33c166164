// Command mutate shows that every gate is tested. It finds, in fs and fs/bazil,
// what stands between a caller and a file: the questions to the gate, the
// refusals, the operations that one request asks for, the checks of the second
// end, of handles and of what a reload tells the kernel. It replaces one at a
// time by "allowed", through the overlay of the go command, and runs the tests.
// A mutant that no test fails on is a gate that could be deleted unseen.
//
//	mutate [-list] [-only REGEXP] [-sample N] [-long] [-jobs N]
//
// It prints a line for each: file:line, the gate, and the test that failed or
// SURVIVED. It exits with 1 if one survives. Sources are not touched.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	list := flags.Bool("list", false, "print the gates and run nothing")
	only := flags.String("only", "", "take only the gates whose line in the table matches `REGEXP`")
	sample := flags.Int("sample", 0, "take `N` gates, spread over all of them; 0 takes all")
	long := flags.Bool("long", false, "try survivors against the model and the integration tests too")
	jobs := flags.Int("jobs", 2, "try `N` gates at a time")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	root, gates, err := chosen(*only, *sample)
	if err == nil && !*list {
		t := &trial{root: root, suites: suitesOf(*long), out: stdout}
		err = t.all(ctx, gates, *jobs)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mutate:", err)
		return 1
	}
	if *list {
		for _, g := range gates {
			fmt.Fprintln(stdout, g)
		}
	}
	return 0
}

// chosen returns the gates to try, and the root of the module that has them.
func chosen(only string, sample int) (root string, gates []gate, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return "", nil, err
	}
	if root, err = moduleRoot(); err != nil {
		return "", nil, err
	}
	if gates, err = find(root, rooms); err != nil {
		return "", nil, err
	}
	gates = slices.DeleteFunc(gates, func(g gate) bool { return !match.MatchString(g.String()) })
	return root, spread(gates, sample), nil
}

// spread takes n of the gates, at equal distances; all for 0.
func spread(gates []gate, n int) []gate {
	if n <= 0 || n >= len(gates) {
		return gates
	}
	out := make([]gate, 0, n)
	for i := range n {
		out = append(out, gates[i*len(gates)/n])
	}
	return out
}
