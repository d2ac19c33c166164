// Command sandboxfs serves a project directory as a file system on which every
// operation is checked against policies.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
