module github.com/sandboxfs/sandboxfs/bench/loopback

go 1.26.0

tool github.com/hanwen/go-fuse/v2/example/loopback

require (
	github.com/hanwen/go-fuse/v2 v2.12.1 // indirect
	golang.org/x/sys v0.28.0 // indirect
)
