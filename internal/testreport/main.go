// Command testreport runs go test -json and says what a person wants to know of
// it: a line for each package, the output of what failed, and at the end how
// many tests there were and why some were skipped.
//
//	testreport -tally FILE NAME go test -json ./...
//	testreport -total FILE
//	testreport -holes
//
// The first form adds its numbers to FILE, the second prints the sum of them.
// The third runs the tests that cite a known hole, X-01 to X-15, and prints a
// table of them. All exit with 1 if anything failed or nothing ran.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("testreport", flag.ContinueOnError)
	flags.SetOutput(stderr)
	tally := flags.String("tally", "", "add the numbers of this run to `FILE`")
	total := flags.String("total", "", "print the sum of the runs in `FILE`")
	holes := flags.Bool("holes", false, "run the tests that try a known hole, and print what came of each")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *holes {
		if err := tryHoles(".", stdout, stderr); err != nil {
			fmt.Fprintln(stderr, "testreport:", err)
			return 1
		}
		return 0
	}
	var r report
	var err error
	switch {
	case *total != "" && flags.NArg() == 0:
		r, err = sum(*total, stdout)
	case flags.NArg() >= 2:
		r, err = test(flags.Arg(0), flags.Args()[1:], stdout, stderr)
		if err == nil && *tally != "" {
			err = r.appendTo(*tally)
		}
	default:
		err = errors.New("usage: testreport [-tally FILE] NAME COMMAND… | testreport -total FILE")
	}
	if err != nil {
		fmt.Fprintln(stderr, "testreport:", err)
		return 1
	}
	fmt.Fprintln(stdout, r)
	if r.Failed > 0 || r.Passed == 0 {
		return 1
	}
	return 0
}

// test runs the command and reports on what it prints.
func test(name string, command []string, stdout, stderr io.Writer) (report, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return report{}, err
	}
	if err := cmd.Start(); err != nil {
		return report{}, err
	}
	r, err := read(name, out, stdout)
	if waitErr := cmd.Wait(); waitErr != nil && r.Failed == 0 {
		r.Failed++
		fmt.Fprintf(stdout, "FAIL\t%s: %v\n", name, waitErr)
	}
	return r, err
}
