// Package integration tests the built binary as people use it: real FUSE
// mounts, real git, tar and npm, several users. It imports no other package of
// this module; what it knows of sandboxfs is its command line, its files, its
// metrics and its events. docs/testing.md says how to run it.
package integration
