#!/bin/bash
# Builds and installs what the benchmark compares with, and runs it:
# bench.sh SANDBOXFS [-full] [-containers] [-rounds N] [-dir DIR]
set -euo pipefail

sandboxfs=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
scripts/setup.sh fusermount3:fuse3 bindfs:bindfs busybox:busybox-static
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd bench/loopback && go build -o "$tmp/loopback" github.com/hanwen/go-fuse/v2/example/loopback)
go build -o "$tmp/bench" ./bench
"$tmp/bench" "$@" "$sandboxfs" "$tmp/loopback"
