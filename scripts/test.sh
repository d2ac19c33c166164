#!/bin/bash
# The one door for tests: test.sh [all|race|integration|soak|fuzz]. It goes on after
# a failure, so that one run shows all of them, and fails at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
tmp=$(mktemp -d)
trap 'scripts/engine.sh stop "$tmp/dockerd.pid"; rm -rf "$tmp"' EXIT
failed=()

# step NAME COMMAND…
step() {
	echo "== $1"
	"${@:2}" || failed+=("$1")
}

# tests NAME ARGUMENTS…: go test, with its numbers added to the total.
tests() {
	step "$1" "$tmp/testreport" -tally "$tmp/tally" "$1" go test -json -count=1 "${@:2}"
}

# fuzz_one fails for no reason at times, with "context deadline exceeded" when its
# time is over. An input that fails is kept, and fails again.
fuzz_one() { go test -run '^$' -fuzz "^$1\$" -fuzztime "${SANDBOXFS_FUZZTIME:-1m}" "$2"; }

# fuzz runs every fuzz target for a while.
fuzz() {
	local pkg name
	for pkg in "${unit[@]}"; do
		for name in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz'); do
			fuzz_one "$name" "$pkg" || fuzz_one "$name" "$pkg" || return 1
		done
	done
}

# The packages of integration tests run one after the other: each looks at the
# mounts, containers and processes of the whole host.
integration=(-p 1 ./integration/...)

# running lists the mounts, processes, containers and networks of sandboxfs.
running() {
	awk '$3 == "fuse.sandboxfs" {print "mount " $2}' /proc/mounts
	docker ps --all --filter name=sandboxfs --format 'container {{.Names}}' 2>/dev/null
	docker network ls --filter name=sandboxfs --format 'network {{.Name}}' 2>/dev/null
	for exe in /proc/[0-9]*/exe; do
		case $(readlink "$exe" 2>/dev/null) in
		*/sandboxfs | */sandboxfs-race | */sandboxfs\ \(deleted\)) echo "process ${exe//[!0-9]/}" ;;
		esac
	done
}

# leftovers fails if there is a mount or process that was not there before, and
# that does not end within five seconds.
leftovers() {
	local left
	for _ in {1..50}; do
		left=$(comm -13 <(sort "$tmp/before") <(running | sort))
		[ -z "$left" ] && return
		sleep 0.1
	done
	printf 'left behind: %s\n' "$left" >&2
	return 1
}

scripts/setup.sh || exit 1
scripts/engine.sh start "$tmp/dockerd.pid"
running >"$tmp/before"
make --no-print-directory build && go build -o "$tmp/testreport" ./internal/testreport || exit 1
mapfile -t unit < <(go list ./... | grep -v /integration)
export SANDBOXFS_BIN=$PWD/bin/sandboxfs

case $what in
all)
	step lint scripts/lint.sh
	tests unit -race -timeout 10m "${unit[@]}"
	tests integration -timeout 15m "${integration[@]}"
	;;
race)
	go build -race -o bin/sandboxfs-race ./cmd/sandboxfs || exit 1
	export SANDBOXFS_BIN=$PWD/bin/sandboxfs-race GORACE=halt_on_error=1
	tests unit -race -timeout 20m "${unit[@]}"
	tests integration -race -timeout 60m "${integration[@]}"
	;;
integration)
	tests integration -timeout 15m "${integration[@]}"
	;;
soak)
	export SANDBOXFS_SOAK=1
	tests unit -race -timeout 0 "${unit[@]}"
	tests integration -timeout 0 "${integration[@]}"
	step fuzz fuzz
	step mutate go run ./internal/mutate -long
	;;
fuzz)
	step fuzz fuzz
	;;
*)
	echo "usage: test.sh [all|race|integration|soak|fuzz]" >&2
	exit 2
	;;
esac

step leftovers leftovers
echo
"$tmp/testreport" -total "$tmp/tally" || [ ${#failed[@]} -gt 0 ] || failed=(tests)
if [ ${#failed[@]} -gt 0 ]; then
	echo "FAIL	$what: ${failed[*]}"
	exit 1
fi
echo "ok	$what"
