#!/bin/bash
# Installs the packages of commands that are missing: setup.sh [COMMAND:PACKAGE…].
# Without arguments, all that the tests call.
set -euo pipefail

if [ $# -eq 0 ]; then
	set -- fusermount3:fuse3 dockerd:docker.io busybox:busybox-static ip:iproute2 bwrap:bubblewrap rsync:rsync sqlite3:sqlite3 setfattr:attr setfacl:acl mkfs.ext4:e2fsprogs mkfs.btrfs:btrfs-progs mkfs.vfat:dosfstools mkfs.exfat:exfatprogs mount.exfat-fuse:exfat-fuse lowntfs-3g:ntfs-3g
fi
PATH=$PATH:/usr/sbin:/sbin
missing=()
for pair; do
	command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

give_up() {
	echo "setup: missing packages: ${missing[*]}; $1" >&2
	exit 1
}

command -v apt-get >/dev/null || give_up "there is no apt-get here, install them by hand"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	sudo -n true 2>/dev/null || give_up "install them as root: apt-get install ${missing[*]}"
	sudo=(sudo -n)
fi

install() {
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install >"$log" 2>&1 || { "${sudo[@]}" apt-get update -qq && install; } >>"$log" 2>&1 || {
	tail -5 "$log" >&2
	give_up "apt-get could not install them"
}
