#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The tracefs source: the same known answers without BPF, losses in their place,
# and nothing left behind, in the kernel or in the mount table.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_tracefs; SITE=$(msg_site); }
teardown() { rm -rf "${PUBLIC:-}"; live_teardown; }

# Run kmemtrace as nobody, from a place where nobody may look.
as_nobody() {
	PUBLIC=$(mktemp -d /tmp/live-nobody.XXXXXX)
	chmod 755 "$PUBLIC"
	install -m 755 "$KMT" "$PUBLIC/kmemtrace"
	(cd / && setpriv --reuid=65534 --clear-groups --inh-caps=-all "$PUBLIC/kmemtrace" "$@")
}

# Trace instances of kmemtrace, seen through a mount of the test's own.
instances() {
	ls "$TRACEFS/instances" | grep '^kmemtrace-' || true
}

expect_no_instance() {
	[ -n "${TRACEFS:-}" ] || tracefs_mount
	until_true 5 test -z "$(instances)" || fail "instances left: $(instances)"
	[ "$(grep -cs kmemtrace /proc/mounts)" = 0 ] || fail "a mount was left behind"
}

# Until a kmemtrace has its instance and records: a new one is on, is switched off
# before its events are chosen, and then on again.
recording() {
	local dir=$TRACEFS/instances/kmemtrace-$1
	[ "$(cat "$dir/events/enable" 2>/dev/null)" != 0 ] &&
		[ "$(cat "$dir/tracing_on" 2>/dev/null)" = 1 ]
}

wait_recording() {
	until_true 60 recording "$1" || fail "no instance in 15 s: $(cat "$ERR" 2>/dev/null)"
	sleep 0.3
}

@test "1000 messages of 1000 bytes, received on another CPU" {
	need_cpus 2
	lossless stat_json --source tracefs --buffer 16M -- "$LOAD/msgq" -n 1000 -s 1000 -c 0 -r 1
	expect source "$(value quality.source)" = tracefs
	expect lost "$(value quality.lost_ring)" = 0
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect frees "$(sum frees "$SITE")" = 1000
	expect live "$(sum live_objects "$SITE")" = 0
	# worked out by hand: 1000 x (1000 + 48), given 2048 each
	expect requested "$(sum bytes_requested "$SITE")" = 1048000
	expect given "$(sum bytes_allocated "$SITE")" = 2048000
	expect cross "$(sum cross_cpu_frees "$SITE")" = 1000
	expect_no_instance
}

@test "events come in the order of time over all CPUs" {
	"$KMT" trace --source tracefs --time --for 2s >"$D/events" 2>"$ERR"
	expect events "$(wc -l <"$D/events")" -gt 0
	# the time is the value behind the word 'time' on each line
	awk '{ for (i = 1; i < NF; i++) if ($i == "time") { t = $(i + 1) + 0
	       if (t < last) { print NR; exit 1 } last = t; n++ } } END { exit !n }' "$D/events" ||
		fail "an event is older than the one before it"
}

# streamed [OPTIONS] -- CMD: its events in $D/events
streamed() {
	"$KMT" trace --source tracefs --buffer 16M "$@" >"$D/events" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "a site filter passes the frees of what it passed and nothing else" {
	lossless streamed --filter "site=$SITE" -- "$LOAD/msgq" -n 50 -s 1000
	# bytes_req stands in allocations only
	expect allocs "$(grep -c bytes_req "$D/events")" = 50
	expect frees "$(grep -vc bytes_req "$D/events")" = 50
}

@test "stacks are those of the event" {
	lossless streamed --stacks --filter "site=$SITE" -- "$LOAD/msgq" -n 20 -s 1000
	expect stacks "$(grep -cE '=> (do_msgsnd|ksys_msgsnd|__x64_sys_msgsnd)' "$D/events")" -ge 20
}

@test "losses stand in the stream and add up to the kernel's own count" {
	tracefs_mount
	background "$KMT" trace --source tracefs --buffer 64K --no-realtime >"$D/events" 2>"$ERR"
	local tool=$JOB
	wait_recording "$tool"
	kill -STOP "$tool"
	local kernel try
	for try in {1..20}; do	# a slow machine makes few events in a storm
		"$LOAD/forkstorm" -t 1500
		kernel=$(instance_overwritten "$TRACEFS/instances/kmemtrace-$tool")
		[ "$kernel" -le 1000 ] || break
	done
	echo 0 >"$TRACEFS/instances/kmemtrace-$tool/tracing_on"
	kernel=$(instance_overwritten "$TRACEFS/instances/kmemtrace-$tool")
	expect "overwritten" "$kernel" -gt 1000
	kill -CONT "$tool"
	kill -INT "$tool"
	wait "$tool" || true
	local told
	told=$(awk -F'events lost: ' '/^# overflow/ { n += $2 } END { print n + 0 }' "$D/events")
	expect "told in the stream" "$told" = "$kernel"
	expect_no_instance
}

@test "SIGINT and SIGTERM leave nothing behind" {
	tracefs_mount
	local sig
	for sig in INT TERM; do
		background "$KMT" stat --source tracefs --format json --for 60s >"$OUT" 2>"$ERR"
		local tool=$JOB
		wait_recording "$tool"
		kill -"$sig" "$tool"
		wait "$tool" || true
		expect "source" "$(value quality.source)" = tracefs
		expect_no_instance
	done
}

@test "the instance of a killed run is removed at the next start" {
	tracefs_mount
	background "$KMT" stat --source tracefs --for 60s >/dev/null 2>"$ERR"
	local killed=$JOB
	wait_recording "$killed"
	kill -KILL "$killed"
	wait "$killed" || true
	expect leftover "$(instances)" = "kmemtrace-$killed"
	"$KMT" stat --source tracefs --for 100ms >/dev/null
	expect_no_instance
}

@test "another run's instance is left alone" {
	tracefs_mount
	background "$KMT" stat --source tracefs --for 60s >/dev/null 2>"$ERR"
	local other=$JOB
	wait_recording "$other"
	"$KMT" stat --source tracefs --for 100ms >/dev/null
	recording "$other" || fail "the other run lost its instance"
	kill -INT "$other"
	wait "$other" || true
	expect_no_instance
}

@test "works where tracefs is not mounted, and mounts nothing" {
	unshare -m bash -c 'grep " tracefs " /proc/mounts | while read -r _ dir _; do
		umount "$dir" || exit 1; done
		"$1" stat --source tracefs --format json --for 200ms >"$2" || exit 1
		! grep " tracefs " /proc/mounts' - "$KMT" "$OUT" || fail "see above"
	expect source "$(value quality.source)" = tracefs
}

@test "absurd buffer size and missing privilege: one line, exit status" {
	local status=0
	"$KMT" stat --source tracefs --buffer 1T --for 1s >/dev/null 2>"$ERR" || status=$?
	expect "lines" "$(wc -l <"$ERR")" = 1
	expect "exit status" "$status" -ge 2
	status=0
	as_nobody stat --source tracefs --for 1s >/dev/null 2>"$ERR" || status=$?
	expect "lines" "$(wc -l <"$ERR")" = 1
	expect "exit status" "$status" = 3
	expect_no_instance
}
