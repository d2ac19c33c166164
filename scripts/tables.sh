#!/bin/bash
# What the tests show, as tables: tables.sh matrix|attack|posix.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
matrix)
	# In its own directory go test prints what a test prints.
	cd fs/bazil
	SANDBOXFS_MATRIX=1 go test -count=1 -run '^TestMatrix|^TestTurnedTo|^TestRefus|^TestUndecided|^TestAccessOnTheWire|^TestProtocol'
	;;
attack)
	SANDBOXFS_BIN=$PWD/bin/sandboxfs go run ./internal/testreport -holes
	;;
posix)
	cd fs/bazil
	SANDBOXFS_COUNTS=1 go test -count=1 -timeout 15m -run '^TestPosix$|^TestUnprivileged$'
	;;
*)
	echo "usage: tables.sh matrix|attack|posix" >&2
	exit 2
	;;
esac
