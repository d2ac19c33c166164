// Package attack tries to get round a view: to read, write, make, remove, move
// or learn of what its policy denies or hides, to plant what runs on the host
// later, and to make a decision stale. Each test names the hole that it tries.
//
// What a caller may do is tried by six of them: a process of the host as root
// and as an ordinary user, the same two in a container that binds the view, and
// the root of two user namespaces in one. The container is given no network, and
// its engine is one that the tests start and stop themselves.
//
// The way out is tried from inside what "sandboxfs run" makes, with an engine
// and without.
package attack
