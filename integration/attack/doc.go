// Package attack tries to get round a view: to read, write, make, remove, move
// or learn of what its policy denies or hides, to plant what runs on the host
// later, and to make a decision stale. Each test names the hole that it tries.
//
// What a caller may do is tried by four of them: a process of the host as root
// and as an ordinary user, and the same two in a container that binds the view.
// The container is given no network, and its engine is one that the tests start
// and stop themselves.
package attack
