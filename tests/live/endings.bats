#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# However a run ends, its report is whole and nothing stays in the kernel.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; SITE=$(msg_site); }
teardown() { live_teardown; }

# A report that a script can rely on.
expect_whole_report() {
	jq -e '.schema == "kmemtrace.report/1" and .window_ns > 0 and (.rows | length) > 0 and
		.quality.events > 0 and .quality.source == "bpf"' "$1" >/dev/null ||
		fail "not a whole report: $(head -c 400 "$1")"
}

@test "SIGINT: a full report while the messages are still held, exit status 0" {
	mkfifo "$D/start" "$D/go"
	background "$LOAD/msgq" -n 1000 -s 1000 -W "$D/start" -w "$D/go" -p "$D/phase"
	background "$KMT" stat --by site,cache --limit 0 --format json --for 60s >"$OUT" 2>"$ERR"
	local tool=$JOB
	wait_attached "$tool"
	: >"$D/start"
	until_true 60 grep -q sent "$D/phase"
	kill -INT "$tool"
	local status=0
	wait "$tool" || status=$?
	: >"$D/go"
	expect "exit status" "$status" = 0
	expect_whole_report "$OUT"
	expect live "$(sum live_objects "$SITE")" = 1000
	expect "live requested" "$(sum live_bytes_requested "$SITE")" = 1048000
	expect_nothing_attached
}

@test "SIGTERM ends as SIGINT does" {
	background "$KMT" stat --format json --for 60s >"$OUT" 2>"$ERR"
	local tool=$JOB
	wait_attached "$tool"
	"$LOAD/msgq" -n 10
	kill -TERM "$tool"
	wait "$tool" || true
	expect_whole_report "$OUT"
	expect_nothing_attached
}

@test "SIGINT ends the stream at a line's end, exit status 0" {
	background "$KMT" trace --buffer 16M >"$D/events" 2>"$ERR"
	local tool=$JOB
	wait_attached "$tool"
	"$LOAD/msgq" -n 100
	kill -INT "$tool"
	local status=0
	wait "$tool" || status=$?
	expect "exit status" "$status" = 0
	expect "last byte" "$(tail -c 1 "$D/events" | od -An -tx1 | tr -d ' ')" = 0a
	expect lines "$(wc -l <"$D/events")" -ge 200
}

@test "the command's exit status is passed on" {
	local want status
	for want in 0 1 7 42; do
		status=0
		"$KMT" stat --format json -- sh -c "exit $want" >"$OUT" 2>"$ERR" || status=$?
		expect "exit status of stat" "$status" = "$want"
		expect_whole_report "$OUT"
		status=0
		"$KMT" trace -- sh -c "exit $want" >/dev/null 2>"$ERR" || status=$?
		expect "exit status of trace" "$status" = "$want"
	done
}

@test "a command that dies of a signal: 128 + signal, and a report" {
	local status=0
	"$KMT" stat --format json -- sh -c 'kill -TERM $$' >"$OUT" 2>"$ERR" || status=$?
	expect "exit status" "$status" = 143
	expect_whole_report "$OUT"
}

@test "a command that does not exist: one line, exit status 2, nothing attached" {
	local status=0
	"$KMT" stat -- /no/such/command >"$OUT" 2>"$ERR" || status=$?
	expect "exit status" "$status" = 2
	expect "lines on standard error" "$(wc -l <"$ERR")" = 1
	grep -q /no/such/command "$ERR" || fail "the command is not named: $(cat "$ERR")"
	expect_nothing_attached
}

@test "a closed pipe ends the stream quietly with status 0" {
	local status=
	status=$( { "$KMT" trace --for 30s 2>"$ERR"; echo $? >"$D/status"; } | head -n 1 >"$D/first"; cat "$D/status")
	expect "exit status" "$status" = 0
	expect "lines read" "$(wc -l <"$D/first")" = 1
	expect "bytes on standard error" "$(wc -c <"$ERR")" = 0
	expect_nothing_attached
}

@test "a closed pipe ends a report quietly" {
	local status
	status=$( { "$KMT" stat --limit 0 --for 1s 2>"$ERR"; echo $? >"$D/status"; } | true; cat "$D/status")
	expect "exit status" "$status" = 0
	expect "bytes on standard error" "$(wc -c <"$ERR")" = 0
}

@test "a full disk is an error that is told" {
	[ -c /dev/full ] || skip "no /dev/full"
	local status=0
	"$KMT" stat --for 1s >/dev/full 2>"$ERR" || status=$?
	expect "exit status" "$status" != 0
	expect "lines on standard error" "$(wc -l <"$ERR")" = 1
}

@test "SIGKILL leaves no program behind, counted or streamed" {
	local command
	for command in stat trace; do
		background "$KMT" "$command" --for 60s >/dev/null 2>"$ERR"
		wait_attached "$JOB"
		kill -KILL "$JOB"
		wait "$JOB" 2>/dev/null || true
		expect_nothing_attached
	done
}

# As nobody, with a copy of the program that nobody can reach.
as_nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$@"
}

@test "not root: exit status 3, one line, nothing on standard output" {
	local dir command status
	dir=$(mktemp -d /tmp/live-nobody.XXXXXX)
	chmod 755 "$dir"
	cp "$KMT" "$dir/kmemtrace"
	chmod 755 "$dir/kmemtrace"
	for command in stat trace; do
		status=0
		as_nobody "$dir/kmemtrace" "$command" --for 1s >"$OUT" 2>"$ERR" || status=$?
		[ "$status" = 3 ] && [ "$(wc -l <"$ERR")" = 1 ] && [ ! -s "$OUT" ] || break
	done
	rm -r "$dir"
	expect "exit status of $command" "$status" = 3
	expect "lines on standard error" "$(wc -l <"$ERR")" = 1
	expect "bytes on standard output" "$(wc -c <"$OUT")" = 0
}

@test "not root: the command is not run" {
	local dir
	dir=$(mktemp -d /tmp/live-nobody.XXXXXX)
	chmod 777 "$dir"
	cp "$KMT" "$dir/kmemtrace"
	chmod 755 "$dir/kmemtrace"
	as_nobody "$dir/kmemtrace" stat -- touch "$dir/was-here" >/dev/null 2>&1 || true
	local ran=0
	[ ! -e "$dir/was-here" ] || ran=1
	rm -r "$dir"
	expect "command run" "$ran" = 0
}

@test "an offline CPU in the middle of a run" {
	local switch=/sys/devices/system/cpu/cpu1/online
	[ -w "$switch" ] || skip "no CPU can be switched off"
	background "$KMT" stat --by site,cache --limit 0 --format json --for 60s >"$OUT" 2>"$ERR"
	local tool=$JOB
	wait_attached "$tool"
	if ! echo 0 2>/dev/null >"$switch"; then
		kill -INT "$tool"
		wait "$tool" || true
		skip "the kernel does not switch CPU 1 off"
	fi
	"$LOAD/msgq" -n 100 -s 1000
	echo 1 >"$switch"
	"$LOAD/msgq" -n 100 -s 1000
	kill -INT "$tool"
	wait "$tool"
	expect allocs "$(sum allocs "$SITE")" = 200
	expect frees "$(sum frees "$SITE")" = 200
}
