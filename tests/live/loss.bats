#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A reader that is too slow costs events, never silence about them:
# events + losses = what the kernel's own counters say.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; }
teardown() { live_teardown; }

recursion_misses() {
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '/^recursion_misses:/ { n += $2 } END { print n + 0 }'
}

# storm_in_between TRACE_OPTIONS...: a forked storm on all CPUs while the reader
# of the stream does not read. Two tracefs instances count the same events, one
# switched on before kmemtrace and off after it, one inside its time:
#     inner <= events + losses <= outer
storm_in_between() {
	need_tracefs
	tracefs_mount
	stalled_pipe
	instance outer 64
	local outer=$INSTANCE
	instance inner 64
	local inner=$INSTANCE
	instance_on "$outer"
	background "$KMT" trace --own "$@" >"$D/pipe" 2>"$ERR"
	local tracer=$JOB
	wait_attached "$tracer"
	instance_on "$inner"
	"$LOAD/forkstorm" -t 1500 -p "$D/phase"
	instance_off "$inner"
	MISSES=$(recursion_misses "$tracer")
	read_pipe "$D/events"
	local reader=$JOB
	kill -INT "$tracer"
	local status=0
	wait "$tracer" || status=$?
	instance_off "$outer"
	wait "$reader"
	expect "exit status" "$status" = 0
	INNER=$(instance_events "$inner")
	OUTER=$(instance_events "$outer")
	"$MODEL" default <"$D/events" >"$OUT"
}

@test "forked storm, stalled reader: losses are told in place, events + losses = the kernel's count" {
	storm_in_between --buffer 1M
	local events lost
	events=$(value events)
	lost=$(jq '[.overflow | to_entries[] | select(.key | test("ring")) | .value.events] | add // 0' "$OUT")
	echo "events $events lost $lost misses $MISSES inner $INNER outer $OUTER" >&2
	expect "strange lines" "$(jq '.strange_lines | length' "$OUT")" = 0
	expect lost "$lost" -gt 0
	expect "events + losses" $((events + lost)) -le "$OUTER"
	expect "events + losses + misses" $((events + lost + MISSES)) -ge "$INNER"
}

# A kernel that waited would come to a stop with its first ring full: what was lost
# is what it did after that, and that is many rings.
@test "forked storm, stalled reader: the kernel does not wait for the reader" {
	storm_in_between --buffer 64K
	local kept lost
	kept=$(value events)
	lost=$(jq '[.overflow[].events] | add // 0' "$OUT")
	echo "turns $(awk '{ print $2 }' "$D/phase"), events kept $kept, lost $lost" >&2
	expect "lost" "$lost" -gt $((4 * kept))
}

@test "--strict: lost events give exit status 5" {
	stalled_pipe
	background "$KMT" trace --strict --buffer 64K >"$D/pipe" 2>"$ERR"
	local tracer=$JOB
	wait_attached "$tracer"
	"$LOAD/forkstorm" -t 500
	read_pipe /dev/null
	kill -INT "$tracer"
	local status=0
	wait "$tracer" || status=$?
	expect "exit status" "$status" = 5
}

@test "a full call-site table is counted, and counts as a loss" {
	# 64 rows are not enough for the sites that any machine uses
	stat_json --sites 64 -- "$LOAD/forkstorm" -t 300
	expect "rows" "$(jq '.rows | length' "$OUT")" -le 64
	expect "lost sites" "$(value quality.lost_sites)" -gt 0
	local status=0
	"$KMT" stat --sites 64 --strict -- "$LOAD/forkstorm" -t 300 >/dev/null 2>&1 || status=$?
	expect "exit status with --strict" "$status" = 5
}

@test "counted mode under a storm loses nothing" {
	stat_json -- "$LOAD/forkstorm" -t 1000
	expect "lost sites" "$(value quality.lost_sites)" = 0
	expect "lost in the ring" "$(value quality.lost_ring)" = 0
	expect "recursion misses are told" "$(value quality.recursion_misses)" != null
	# the sum over the sites is what the programs saw
	expect "allocations and failures" $(($(total allocs) + $(total failures))) -gt 10000
}
