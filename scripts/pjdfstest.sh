#!/bin/bash
# Runs pjdfstest (github.com/pjd/pjdfstest, built in the directory SUITE) as root
# beside a view and on it, in some minutes: pjdfstest.sh SUITE. It fails if a check
# fails on the view alone. What docs/semantics.md says that no view carries is left
# out: device files, and the set-uid bit.
set -euo pipefail
suite=$(realpath "${1:?usage: pjdfstest.sh SUITE}")
bin=$(realpath "$(dirname "$0")/../bin/sandboxfs")
tmp=$(mktemp -d)
trap '"$bin" umount "$tmp/mnt"; rm -rf --one-file-system "$tmp"' EXIT

mkdir "$tmp"/{back,beside,mnt}
chmod 755 "$tmp" "$tmp"/{back,beside}
cp -a "$suite" "$tmp/suite"
grep -rl 'block char' "$tmp/suite/tests" | xargs sed -i 's/block char//g'
rm "$tmp"/suite/tests/mknod/{02,03,11}.t "$tmp/suite/tests/unlink/00.t" # devices outside of such lists
printf 'root: ./back\nguards: []\npolicy: allow-all\n' >"$tmp/profile.yaml"
"$bin" mount --background --metrics off "$tmp/profile.yaml" "$tmp/mnt"

# checks DIR: each check made in DIR, with its file and outcome.
checks() (
	cd "$tmp/$1"
	{ prove -rv "$tmp/suite/tests" 2>"$tmp/$1.err" || true; } |
		awk -v "dir=$tmp/suite/tests/" 'index($0, dir) == 1 {file = substr($1, length(dir) + 1)}
			/^(not )?ok [0-9]/ && !/# (TODO|SKIP)/ {print file, $0}' >"$tmp/$1.out"
)
# failed DIR: the checks that failed there, without what they got.
failed() {
	grep ' not ok ' "$tmp/$1.out" | grep -vE 'expected \(?06[0-7]{3}.* got 02' | sed 's/ - .*//' | sort || true
}
checks beside &
checks mnt
wait $!
for d in beside mnt; do
	echo "$d: $(wc -l <"$tmp/$d.out") checks, $(failed $d | wc -l) failed"
done
worse=$(comm -13 <(failed beside) <(failed mnt))
[ -z "$worse" ] || { grep -F "$worse" "$tmp/mnt.out"; exit 1; }
[ -s "$tmp/mnt.out" ]
