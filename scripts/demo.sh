#!/bin/bash
# Shows sandboxfs at work: demo.sh BINARY. It mounts a view of a clone of this
# repository, reads, is denied, asks why, and leaves nothing behind.
set -euo pipefail

PATH=$(dirname "$(realpath "$1")"):$PATH
cd "$(dirname "$0")/.."
scripts/setup.sh fusermount3:fuse3

tmp=$(mktemp -d)
daemon=
cleanup() {
	trap '' INT TERM
	if [ -n "$daemon" ]; then
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" 2>/dev/null || true
	fi
	sandboxfs umount "$tmp/view" >/dev/null 2>&1 || true
	rm -rf --one-file-system "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n# %s\n' "$*"; }
# show COMMAND: prints and runs a line of shell.
show() {
	printf '$ %s\n' "$1"
	bash -c "$1"
}
# refused COMMAND: likewise, and it must fail.
refused() {
	if show "$1"; then
		echo 'demo: this should have been refused' >&2
		exit 1
	fi
}

git clone --quiet --local . "$tmp/project"
echo 'API_KEY=not-for-agents' >"$tmp/project/.env"
mkdir "$tmp/view" "$tmp/policies"
cat >"$tmp/profile.yaml" <<'YAML'
version: 1
name: demo
root: ./project
policy: demo
policies: [./policies]
YAML
cat >"$tmp/policies/demo.yaml" <<'YAML'
version: 1
name: demo
file_rules:
  - name: no-dotenv
    paths: ["/**/.env"]
    operations: [read, write]
    decision: deny
    message: "secrets stay out of the view"
  - name: reviewed-dependencies
    paths: [/go.mod, /go.sum]
    operations: [write, delete]
    decision: deny
    message: "a person adds dependencies"
  - name: everything-else
    paths: ["/**"]
    operations: ["*"]
    decision: allow
YAML
cd "$tmp"

say 'A profile: which directory, under which policy'
show 'cat profile.yaml'
say 'The policy: no secrets, no new dependencies, else everything'
show 'cat policies/demo.yaml'

say 'Mount the view'
metrics=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print("127.0.0.1:%d" % s.getsockname()[1])')
echo "\$ sandboxfs mount --metrics $metrics profile.yaml view &"
mkfifo ready
sandboxfs mount --metrics "$metrics" profile.yaml view >ready &
daemon=$!
read -r line <ready || { echo 'demo: the view could not be mounted; try: sandboxfs doctor' >&2; exit 1; }
echo "$line"

say 'Work goes on as always'
show 'head -1 view/go.mod'
show 'echo "# notes" > view/NOTES.md && git -C view add NOTES.md && git -C view status --short'

say 'What the policy denies: the agent sees an errno, you see the rule'
refused 'cat view/.env'
refused 'echo "require example.com/evil v1.0.0" >> view/go.mod'

say 'Why? (exit code 3 means: denied)'
code=0
show 'sandboxfs explain profile.yaml write /go.mod' || code=$?
echo "exit code $code"
[ "$code" -eq 3 ]

say "What Prometheus sees at http://$metrics/metrics, in part"
python3 - "$metrics" <<'PYTHON'
import sys, urllib.request
page = urllib.request.urlopen("http://%s/metrics" % sys.argv[1], timeout=10).read().decode()
print("\n".join(l for l in page.splitlines() if l.startswith(("sandboxfs_decisions_total", "sandboxfs_rule_hits_total"))))
PYTHON

say 'Unmount'
show 'sandboxfs umount view'
wait "$daemon"
daemon=
printf '\nDone. Now with a project of yours:  bin/sandboxfs mount ~/project ~/agent\n'
