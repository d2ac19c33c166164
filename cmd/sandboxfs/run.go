package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// The exit codes, a contract with scripts.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitDenied = 3
)

// status ends a command with an exit code when all there is to say has been
// printed already.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// usageError is a mistake on the command line that a command finds itself.
type usageError struct{ error }

// app is one run of the program: its streams, and how far it came.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	out            *output // stdout, for what commands print

	began bool // the command line was understood
}

// output remembers that something could not be written, so that a full disk does
// not pass for success.
type output struct {
	io.Writer
	err error // the first one
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// run executes one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, out: &output{Writer: stdout}}
	root := a.rootCommand()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if a.out.err != nil {
		a.began = true // --help and --version end before that
		if err == nil {
			err = fmt.Errorf("not all could be printed: %w", a.out.err)
		}
	}
	return a.exitCode(cmd.CommandPath(), err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:     "sandboxfs",
		Version: version,
		Short:   "A file system to put under an agent: every operation is checked against policies",
		Long: "sandboxfs serves directories of the host as one file system, and checks every\n" +
			"operation on it against policies written in YAML.",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRun:  func(*cobra.Command, []string) { a.began = true },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.out)
	root.SetErr(a.stderr)
	root.SetHelpCommand(a.helpCommand())
	root.AddCommand(
		a.mountCommand(), a.umountCommand(), a.checkCommand(), a.explainCommand(),
		a.runCommand(), a.execCommand(), a.gcCommand(), a.resolveCommand(), a.selftestCommand(), a.doctorCommand(), a.completionCommand(), a.versionCommand(),
	)
	return root
}

// wants checks that a command line has one argument for each of names. The last
// one may be repeated if it ends in "…", and left out if it is in brackets. No
// argument is empty: it would be a variable that is not set.
func wants(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		least, most := len(names), len(names)
		switch last := strings.Join(names[max(len(names)-1, 0):], ""); {
		case strings.HasSuffix(last, "…"):
			most = math.MaxInt
		case strings.HasPrefix(last, "["):
			least--
		}
		if i := slices.Index(args, ""); i >= 0 && i < most {
			return fmt.Errorf("%s: %s is empty", cmd.Name(), names[min(i, len(names)-1)])
		}
		if least <= len(args) && len(args) <= most {
			return nil
		}
		plural := "s"
		if len(args) == 1 {
			plural = ""
		}
		return fmt.Errorf("%s wants %s, not %d argument%s", cmd.Name(), cmp.Or(strings.Join(names, " "), "no arguments"), len(args), plural)
	}
}

// configFlag adds --config to a command that takes a PROFILE.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "config that holds PROFILE when that is a name (default: the user's, then /etc/sandboxfs/config.yaml)")
}

// auditFlag adds --audit to a command that mounts.
func auditFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "audit", "", "append refusals and audited operations to this file, one JSON object per line")
}

// exitCode prints err and returns the code that it stands for. What goes wrong
// before a command begins is a usage error, and the help of command tells more.
func (a *app) exitCode(command string, err error) int {
	var code status
	var usage usageError
	var problems strictyaml.Problems
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case !a.began, errors.As(err, &usage):
		a.complain("%v (see %s --help)", err, command)
		return exitUsage
	case errors.As(err, &problems):
		for _, p := range problems {
			a.complain("%v", p)
		}
	default:
		a.complain("%v", err)
	}
	return exitFailed
}

// complain writes one line to stderr.
func (a *app) complain(format string, args ...any) {
	fmt.Fprintln(a.stderr, "sandboxfs:", oneLine(fmt.Sprintf(format, args...)))
}

// oneLine returns s without line breaks and other control characters, which
// could come from the name of a file and mislead whoever reads them on a
// terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return '\uFFFD'
		}
		return r
	}, s)
}

// printJSON writes v to stdout, indented.
func (a *app) printJSON(v any) error {
	out := json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
