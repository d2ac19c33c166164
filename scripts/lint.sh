#!/bin/bash
# gofmt, go vet, the architecture tests, and words that do not belong. Every
# finding has its file, its line and the reason.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0

# ban PATTERN REASON FILE…: fails for each line of the files that matches.
ban() {
	local found
	found=$(grep -nE -- "$1" "${@:3}" /dev/null) || return 0
	printf '%s\n\t^ %s\n' "$found" "$2" >&2
	failed=1
}

unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf '%s\n\t^ not formatted: gofmt -w\n' "$unformatted" >&2
	failed=1
fi
go vet ./... || failed=1
if ! shape=$(go test -count=1 ./internal/archtest); then
	printf '%s\n' "$shape" >&2
	failed=1
fi

mapfile -t go < <(find . -name '*.go' -not -path './bench/loopback/*')
mapfile -t source < <(printf '%s\n' "${go[@]}" | grep -v '_test\.go$')
mapfile -t tests < <(printf '%s\n' "${go[@]}" | grep '_test\.go$')
mapfile -t library < <(printf '%s\n' "${source[@]}" | grep -vE '^\./(cmd|bench|integration|internal/(testreport|mutate))/')
mapfile -t road < <(printf '%s\n' "${source[@]}" | grep '^\./fs/[^/]*$')
mapfile -t scripts < <(find scripts -name '*.sh')

ban '\b(fmt\.Print|log\.(Print|Fatal|Panic)|println\()' 'a library is silent: it returns errors, and logs through the slog.Logger that it was given' "${library[@]}"
ban '\b(promauto\.|prometheus\.(DefaultRegisterer|MustRegister\())' 'there is no global registry: metrics.New takes one' "${go[@]}"
ban '\bhttp\.(Handle|HandleFunc|ListenAndServe)\(|http\.DefaultServeMux' 'the default mux is everybody'\''s; make one' "${source[@]}"
ban '\b(os|unix|syscall)\.(Open|Create|Stat|Fstatat|Lstat|Remove|Unlink|Rmdir|Rename|Mkdir|Mknod|Symlink|Link|Readlink|Chmod|Fchmodat|Chown|Lchown|Fchownat|Truncate|Access|ReadDir|WriteFile)[A-Za-z0-9]*\(|\bfilepath\.Join\(' 'only internal/backing touches user files, by descriptor and name and never by a joined string' "${road[@]}"
ban '\bcontext\.TODO\(' 'pass the context that there is' "${go[@]}"
ban '//.*\b(TODO|FIXME|XXX|HACK)\b|//nolint' 'do it now, or say in an issue what is missing' "${go[@]}"
ban '\b(errors\.New|fmt\.Errorf)\("[A-Z][a-z]' 'an error starts in lower case, because it ends up inside another' "${source[@]}"
ban '^\s*// ?[-=*#]{4,}' 'no banners; a file that needs one is two files' "${go[@]}"
ban '\.Skip(Now)?\(\)' 'a test that is skipped says why' "${tests[@]}"
ban 'stretchr/testify|gomock|onsi/g' 'tests use the standard library; a fake is a small real implementation' "${go[@]}" go.mod
for s in "${scripts[@]}"; do
	bash -n "$s" || failed=1
done

exit $failed
