// Command sandboxfs serves a project directory as a file system on which every
// operation is checked against policies.
//
// A command line begins in run.go. Each command has a file of its own name; the
// further ones of mount are mount_*.go, of which mount_serve.go puts together all
// that serves a view, those of run and exec run_command_*.go, and what doctor
// looks at is in examine*.go.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
