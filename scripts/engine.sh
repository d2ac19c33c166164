#!/bin/bash
# Sees to it that a container engine answers: engine.sh start PIDFILE starts
# dockerd if none does, and writes PIDFILE then; engine.sh stop PIDFILE ends what
# start started. Where that cannot be done, it says why: tests that need an
# engine are skipped then, and counted.
set -uo pipefail
pidfile=${2:?usage: engine.sh start|stop PIDFILE}
PATH=$PATH:/usr/sbin:/sbin

# answers tells whether an engine serves the API at DOCKER_HOST or the default socket.
answers() {
	case ${DOCKER_HOST:-} in
	'' | unix://*)
		local socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
		python3 - "${socket#unix://}" <<-'PYTHON' 2>/dev/null
			import socket, sys
			s = socket.socket(socket.AF_UNIX)
			s.settimeout(5)
			s.connect(sys.argv[1])
			s.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
			sys.exit(b" 200 " not in s.recv(64))
		PYTHON
		;;
	esac # another kind of address is somebody else's engine: it is not ours to start
}

case $1 in
start)
	answers && exit 0
	if [ "$(id -u)" -ne 0 ]; then
		echo "engine: no container engine answers, and only root can start dockerd" >&2
		exit 0
	fi
	if ! command -v dockerd >/dev/null; then
		echo "engine: no container engine answers, and there is no dockerd: apt-get install docker.io" >&2
		exit 0
	fi
	log=$(mktemp)
	setsid dockerd --pidfile "$pidfile" >"$log" 2>&1 </dev/null &
	for _ in {1..150}; do
		sleep 0.2
		answers && rm -f "$log" && exit 0
		kill -0 $! 2>/dev/null || break
	done
	echo "engine: dockerd does not start: $(grep -v level=info "$log" | tail -1)" >&2
	kill $! 2>/dev/null
	rm -f "$log"
	;;
stop)
	[ -s "$pidfile" ] || exit 0
	pid=$(<"$pidfile")
	kill "$pid" 2>/dev/null
	for _ in {1..100}; do
		kill -0 "$pid" 2>/dev/null || exit 0
		sleep 0.1
	done
	echo "engine: dockerd $pid does not end" >&2
	exit 1
	;;
esac
