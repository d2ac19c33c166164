// Package archtest holds the shape of the program: which package may import
// which, and which words may stand where. It has tests only; each prints the
// file, the line and the reason.
package archtest
