#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# One run, recorded and counted by everything at once: 'record' with events,
# 'record --aggregate', 'stat' and its file, trace-cmd, perf, and tracefs's text,
# which a slow model reads too. All give the same answers, the known ones.
#
# The run is three tasks that send messages (msgq.c): 400 of 52 bytes that stay,
# then 700 of 1000 and 300 of 3000 that are received. Each is a kmalloc of 48
# bytes more. Foreign tools record these three tasks only, so nothing that others
# do makes them lose anything.

load lib.bash

# worked out by hand: 400 x 100 + 700 x 1048 + 300 x 3048
REQUESTED=1688000
# 400 x 128 + 700 x 2048 + 300 x 4096
GIVEN=2713600
LIVE_REQUESTED=40000	# 400 x 100
LIVE_GIVEN=51200	# 400 x 128
PEAK=1484800		# with the 700, 400 x 128 + 700 x 2048
# A queue takes 16384 bytes: 315, 16 and 5 messages each, so 2 + 44 + 60 queues
QUEUES=106

BOOKS="[1400,1000,400,$REQUESTED,$GIVEN,$LIVE_REQUESTED,$LIVE_GIVEN,0,0]"
NAME=kmtagree

setup_file() {
	export R=$BATS_FILE_TMPDIR SITE
	SITE=$(msg_site)
	live_setup_file
	# shellcheck disable=SC2034 # of lib.bash
	JOBS=()
	why_not >"$R/why" || return 0
	local try
	for try in 1 2 3 4; do
		rm -rf "$R/run"
		mkdir "$R/run"
		one_run "$R/run" >"$R/log.$try" 2>&1 || { echo "the run failed: $(tail -n 3 "$R/log.$try")" >"$R/failed"; live_teardown; return 0; }
		live_teardown
		lost_nothing && return 0
	done
	echo "events were lost in each of $try runs" >"$R/failed"
}

setup() {
	live_setup
	[ ! -s "$R/why" ] || skip "$(cat "$R/why")"
	[ ! -e "$R/failed" ] || fail "$(cat "$R/failed")"
	cd "$R/run" || return 1
}

teardown() { live_teardown; }

# Succeeds if it can run here; else prints what is missing. In setup_file nothing
# is skipped, so that the tests say it one by one.
why_not() {
	local why
	[ "$(id -u)" = 0 ] || { echo "not root"; return 1; }
	why=$("$B/tests/bench/emptybpf" -t 2>&1) || { echo "$why"; return 1; }
	tracefs_mount 2>/dev/null || { echo "tracefs cannot be mounted"; return 1; }
	tracefs_unmount
	unshare --ipc true 2>/dev/null || { echo "no IPC namespaces"; return 1; }
	unshare -m true 2>/dev/null || { echo "no mount namespaces"; return 1; }
}

# other_tool NAME: in the background, if it is there; pid in JOB.
other_tool() {
	JOB=
	command -v "$1" >/dev/null || return 0
	background unshare -m bash "$ROOT/tests/live/other_tools.bash" "$1" "$D" "$FILTER" \
		"$(basename "$INSTANCE")-$1" >"$D/$1.log" 2>&1
	local pid=$JOB
	# on, or ended because it cannot
	until_true 30 eval "[ -e '$D/$1.on' ] || ! kill -0 $pid"
	JOB=$pid
}

# other_tool_ends NAME PID: its command ends, and it with it.
other_tool_ends() {
	[ -n "$2" ] || return 0
	[ ! -e "$D/$1.on" ] || kill "$(cat "$D/$1.on")"
	until_true 30 eval "! kill -0 $2" || kill -KILL "$2"
	wait "$2" || echo "$1 ended with $?"
}

# task LETTER MSGQ-OPTIONS: a task that waits for the fifo go.LETTER; pid in JOB.
task() {
	mkfifo "$D/go.$1"
	background "$D/$NAME" -W "$D/go.$1" -p "$D/phase.$1" "${@:2}"
	until_true 60 grep -qx "$NAME" "/proc/$JOB/comm"
}

# step LETTER PHASE: let it go and wait until it has done it.
step() {
	timeout 60 bash -c ": >'$D/go.$1'"
	until_true 60 grep -q "$2" "$D/phase.$1" || { echo "$1: not $2"; return 1; }
}

# observe NAME COMMAND-OPTIONS: a kmemtrace in the background, on; pid in JOB.
observe() {
	ERR=$D/$1.err
	background "$KMT" "${@:2}" >"$D/$1.json" 2>"$ERR"
	wait_attached "$JOB"
}

text_on() {
	local e
	for e in kmalloc kmem_cache_alloc kfree kmem_cache_free; do
		echo "$FILTER" >"$INSTANCE/events/kmem/$e/filter"
		echo 1 >"$INSTANCE/events/kmem/$e/enable"
	done
}

text_off() {
	instance_off "$INSTANCE"
	instance_overwritten "$INSTANCE" >"$D/overwritten"
	# it is read to where it would wait
	dd if="$INSTANCE/trace_pipe" of="$D/text" iflag=nonblock bs=64k 2>/dev/null || true
}

# Everything in DIR: events.kmt, counted.kmt, stat.kmt, stat.json, trace.dat,
# perf.data, text, and model.json.
one_run() {
	D=$1
	local a b c events counted stat trace_cmd perf
	cp "$LOAD/msgq" "$D/$NAME"
	mkfifo "$D/held"
	task a -n 400 -s 52 -w "$D/held"; a=$JOB
	task b -n 700 -s 1000; b=$JOB
	task c -n 300 -s 3000; c=$JOB
	FILTER="common_pid==$a || common_pid==$b || common_pid==$c"
	tracefs_mount && instance text 16384 || return 1
	text_on
	# trace-cmd's own, so that a test that is killed leaves nothing behind either
	mkdir "$INSTANCE-trace-cmd"
	other_tool trace-cmd; trace_cmd=$JOB
	other_tool perf; perf=$JOB
	observe events record --stacks --buffer 32M -o "$D/events.kmt"; events=$JOB
	observe counted record --aggregate -o "$D/counted.kmt"; counted=$JOB
	observe stat stat --by site --limit 0 --format json -o "$D/stat.kmt"; stat=$JOB

	step a sent && step b received && step c received || return 1
	wait "$b" "$c" || return 1
	kill -INT "$stat" "$counted" "$events"
	wait "$stat" && wait "$counted" && wait "$events" || return 1
	text_off
	other_tool_ends trace-cmd "$trace_cmd"
	other_tool_ends perf "$perf"
	# held to here
	timeout 60 bash -c ": >'$D/held'"
	wait "$a" || return 1
	"$MODEL" ftrace "$SITE" newque <"$D/text" >"$D/model.json" || return 1
	perf_lost >"$D/perf_lost"
}

# By each one's own count; perf's is looked at where perf is compared.
lost_nothing() {
	local f
	[ "$(cat "$R/run/overwritten")" = 0 ] || return 1
	for f in events.kmt counted.kmt stat.kmt; do
		[ "$("$KMT" report "$R/run/$f" --format json | jq .quality.lost_total)" = 0 ] || return 1
	done
}

# The recordings there are, of all or with events only. trace-cmd and perf may be
# missing or not able to record here.
with_events() {
	echo events.kmt text
	[ ! -s trace.dat ] || echo trace.dat
	[ ! -s perf.data ] || [ "$(cat perf_lost)" != 0 ] || echo perf.data
}

# What perf says it lost.
perf_lost() {
	[ -s "$D/perf.data" ] || return 0
	perf report --stats -i "$D/perf.data" 2>/dev/null |
		awk '/LOST.* events:/ { n += $3 } END { print n + 0 }'
}

# report FILE [VIEW] [OPTIONS]: all rows as JSON in $OUT. perf and the text have no
# symbols with them.
report() {
	symbols "$1"
	"$KMT" report "$@" "${SYMBOLS[@]}" --limit 0 --format json >"$OUT" 2>"$ERR" ||
		fail "report $*: $(cat "$ERR")"
}

symbols() {
	SYMBOLS=()
	case $1 in perf.data | text) SYMBOLS=(--kallsyms /proc/kallsyms) ;; esac
}

# The numbers of a call site as BOOKS has them.
books() {
	jq -c --arg f "$1" "$JQ_SITE [.rows[] | select(at(\$f))] | [
		(map(.allocs) | add), (map(.frees) | add), (map(.live_objects) | add),
		(map(.bytes_requested) | add), (map(.bytes_allocated) | add),
		(map(.live_bytes_requested) | add), (map(.live_bytes_allocated) | add),
		(map(.untraced_frees) | add), (map(.failures) | add)]" "${2:-$OUT}"
}

# allocations, requested, given of each function that allocated
by_function() {
	jq -r '[.rows[] | select(.allocs > 0)] | group_by(.site | sub("[+].*"; ""))[] |
		[(.[0].site | sub("[+].*"; "")), (map(.allocs) | add),
		 (map(.bytes_requested) | add), (map(.bytes_allocated) | add)] | @tsv' "$OUT" | LC_ALL=C sort
}

@test "the slow model's books of the text are the known ones" {
	jq -c --arg s "$SITE" '.sites[$s] | [.allocs, .frees, .live_objects, .bytes_requested,
		.bytes_allocated, .live_bytes_requested]' model.json >"$D/model"
	expect books "$(cat "$D/model")" = "[1400,1000,400,$REQUESTED,$GIVEN,$LIVE_REQUESTED]"
	expect queues "$(jq .sites.newque.allocs model.json)" = "$QUEUES"
	expect "lines nobody knows" "$(jq -c .strange_lines model.json)" = "[]"
}

@test "every recording gives the known books, and live stat does" {
	expect stat "$(books "$SITE" stat.json)" = "$BOOKS"
	local f
	for f in $(with_events) counted.kmt stat.kmt; do
		report "$f" site
		expect "$f" "$(books "$SITE")" = "$BOOKS"
		# queues go in the background, where only some look: allocations alone
		expect "queues in $f" "$(sum allocs newque)" = "$QUEUES"
		expect "requested for queues in $f" "$(sum bytes_requested newque)" = \
			"$(jq .sites.newque.bytes_requested model.json)"
		expect "given for queues in $f" "$(sum bytes_allocated newque)" = \
			"$(jq .sites.newque.bytes_allocated model.json)"
	done
}

@test "trace-cmd's recording was among them" {
	command -v trace-cmd >/dev/null || skip "trace-cmd is not installed"
	[ -s trace.dat ] || skip "trace-cmd cannot record here: $(grep -m 1 trace-cmd: trace-cmd.log)"
	report trace.dat
	expect source "$(value quality.source)" = trace_dat
	expect lost "$(value quality.lost_total)" = 0
}

@test "perf's recording was among them" {
	command -v perf >/dev/null || skip "perf is not installed"
	[ -s perf.data ] || skip "perf cannot record here: $(head -n 1 perf.log)"
	local lost
	lost=$(cat perf_lost)
	report perf.data
	expect source "$(value quality.source)" = perf_data
	[ "$lost" = 0 ] || expect lost "$(value quality.lost_total)" -gt 0
	[ "$lost" = 0 ] || skip "perf lost $lost events"
	expect lost "$(value quality.lost_total)" = 0
}

@test "every call site of the three tasks: the same allocations in all" {
	report text site --filter "task=$NAME"
	by_function >"$D/want"
	expect "call sites" "$(wc -l <"$D/want")" -gt 2
	local f misses
	for f in $(with_events); do
		report "$f" site --filter "task=$NAME"
		by_function >"$D/got"
		misses=$(jq '.quality.recursion_misses // 0' "$OUT")
		if [ "$misses" = 0 ] || [ "$f" != events.kmt ]; then
			diff "$D/want" "$D/got" >&2 || fail "$f differs"
			continue
		fi
		# events in interrupts may be missing, and nothing else
		awk 'NR == FNR { n[$1] = $2; next } $2 > n[$1] { print; bad = 1 } END { exit bad }' \
			"$D/want" "$D/got" || fail "$f has more"
		expect "missing in $f" "$(($(awk '{ n += $2 } END { print n }' "$D/want") - \
			$(awk '{ n += $2 } END { print n }' "$D/got")))" -le "$misses"
	done
}

@test "the file of stat -o and --aggregate: row by row what was counted" {
	local row='[.rows[] | [.site, .allocs, .frees, .live_objects, .bytes_requested,
		.bytes_allocated, .live_bytes_allocated, .untraced_frees]] | sort'
	report stat.kmt site
	jq -c "$row" "$OUT" >"$D/file"
	jq -c "$row" stat.json >"$D/live"
	cmp "$D/file" "$D/live" || fail "stat's file is not what it printed"
	# others' allocations differ: each counts the other tool's, and not its own
	report counted.kmt site
	expect mode "$(value quality.mode)" = counted
}

@test "summary, peak and timeline: the same totals and the same moment" {
	local f
	for f in $(with_events); do
		report "$f" --filter "site=$SITE"
		expect "summary of $f" "$(jq -c '.summary | [.allocs, .frees, .live_objects, .bytes_requested,
			.bytes_allocated, .live_bytes_requested, .live_bytes_allocated,
			.failures, .peak_bytes_allocated]' "$OUT")" = \
			"[1400,1000,400,$REQUESTED,$GIVEN,$LIVE_REQUESTED,$LIVE_GIVEN,0,$PEAK]"
		report "$f" peak --filter "site=$SITE"
		expect "held at the peak of $f" "$(total at_peak_bytes_allocated)" = "$PEAK"
		expect "objects at the peak of $f" "$(total at_peak_objects)" = 1100
		expect "requested at the peak of $f" "$(total at_peak_bytes_requested)" = 773600
		report "$f" timeline --filter "site=$SITE"
		expect "highest of the timeline of $f" "$(jq '[.rows[].peak_bytes_allocated] | max' "$OUT")" = "$PEAK"
		expect "end of the timeline of $f" "$(jq '.rows[-1].live_bytes_allocated' "$OUT")" = "$LIVE_GIVEN"
		expect "allocations over the timeline of $f" "$(total allocs)" = 1400
		expect "frees over the timeline of $f" "$(total frees)" = 1000
	done
}

@test "leaks: what stays is found in all, what was received in none" {
	local f
	for f in $(with_events); do
		report "$f" leaks --filter "site=$SITE" --tail 1%
		expect "live in $f" "$(total live_objects)" = 400
		expect "live bytes in $f" "$(total live_bytes_allocated)" = "$LIVE_GIVEN"
		expect "freed objects among the leaks of $f" "$(total frees)" = 0
	done
}

@test "objects: each of the 400, and no other" {
	local f
	for f in $(with_events) counted.kmt stat.kmt; do
		report "$f" object
		expect "objects of $f" "$(jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f))] | length" "$OUT")" = 400
	done
}

@test "stacks: the same path from the system call, with the same numbers" {
	local f path=
	report events.kmt stacks --filter "site=$SITE"
	path=$(jq -r '[.rows[].function] | join(" ")' "$OUT")
	[[ $path == *" $SITE" ]] || fail "path: $path"
	for f in $(with_events); do
		report "$f" stacks --filter "site=$SITE"
		expect "numbers in $f" "$(jq -c '[.rows[] | [.allocs, .frees, .live_objects,
			.live_bytes_allocated, .bytes_allocated]] | unique' "$OUT")" = \
			"[[1400,1000,400,$LIVE_GIVEN,$GIVEN]]"
		# the text was made without stacks: the call site is all there is
		[ "$f" != text ] || path=$SITE
		expect "path in $f" "$(jq -r '[.rows[].function] | join(" ")' "$OUT")" = "$path"
		report events.kmt stacks --filter "site=$SITE"
		path=$(jq -r '[.rows[].function] | join(" ")' "$OUT")
	done
}

@test "diff: no difference to any other, converted to have the same symbols" {
	local f
	for f in $(with_events); do
		symbols "$f"
		"$KMT" convert "$f" -o "$D/$f.kmt" "${SYMBOLS[@]}" 2>"$ERR" || fail "$f: $(cat "$ERR")"
		report "$D/$f.kmt" site
		expect "converted $f" "$(books "$SITE")" = "$BOOKS"
		"$KMT" diff events.kmt "$D/$f.kmt" --filter "site=$SITE" --limit 0 --format json >"$OUT"
		expect "rows against $f" "$(jq -c '[.rows[] | [.status, .allocs_delta, .frees_delta,
			.live_objects_delta, .live_bytes_allocated_delta]]' "$OUT")" = '[["same",0,0,0,0]]'
	done
}

@test "check: the same limits hold and break in all" {
	local f status
	for f in $(with_events); do
		symbols "$f"
		"$KMT" check "$f" --filter "site=$SITE" "${SYMBOLS[@]}" -q --max-live "$LIVE_GIVEN" \
			--max-peak "$PEAK" --max-untraced 0 --max-failures 0 --max-lost 0 2>"$ERR" ||
			fail "$f: $(cat "$ERR")"
		for limit in live=$((LIVE_GIVEN - 1)) peak=$((PEAK - 1)) waste=21.8%; do
			status=0
			"$KMT" check "$f" --filter "site=$SITE" "${SYMBOLS[@]}" -q "--max-$limit" 2>"$ERR" || status=$?
			expect "status of $f with $limit" "$status" = 1
			expect "lines" "$(wc -l <"$ERR")" = 1
		done
	done
}

# Storms until half the ring is full, and three times as many more: it has come round.
storms() {
	local front n=0
	front=$(stat -c %s "$D/ring.kmt")
	while [ "$(stat -c %s "$D/ring.kmt")" -lt $((front + 500000)) ] && [ $n -lt 30 ]; do
		"$LOAD/forkstorm" -t 1000
		n=$((n + 1))
	done
	for ((n = 3 * n; n > 0; n--)); do "$LOAD/forkstorm" -t 1000; done
}

# 400 messages, then a storm that pushes them out of the file, then 700 more, and
# the 400 are received: frees of what was there before the start
ring_run() {
	rm -f "$D/go" "$D/held" "$D/phase"
	mkfifo "$D/go" "$D/held"
	background "$LOAD/msgq" -n 400 -s 52 -W "$D/go" -w "$D/held" -p "$D/phase"
	local early=$JOB recorder
	background "$KMT" record -f --ring 1M --buffer 32M -o "$D/ring.kmt" 2>"$ERR"
	recorder=$JOB
	wait_attached "$recorder"
	timeout 60 bash -c ": >'$D/go'"
	until_true 60 grep -q sent "$D/phase"
	storms
	"$LOAD/msgq" -n 700 -s 1000
	timeout 60 bash -c ": >'$D/held'"
	wait "$early"
	kill -INT "$recorder"
	wait "$recorder"
}

@test "--ring: the last part is there, the beginning is said to be unknown" {
	lossless ring_run
	report "$D/ring.kmt" site
	expect "lost in the ring" "$(value quality.lost_ring)" = 0
	expect books "$(books "$SITE")" = "[700,700,0,733600,1433600,0,0,0,0]"
	expect "frees of what was there before" "$(value quality.frees_before_start)" -ge 400
	# what came before is a loss of unknown size, and is told
	expect "losses of unknown size" "$(value quality.lost_unknown)" -ge 1
	expect "of them the beginning" "$(value quality.lost_beginning)" = 1
	expect "unreadable" "$(value quality.lost_input)" = 0
	jq -r '.notes[]' "$OUT" | grep -q 'its beginning, which was written over' ||
		fail "notes: $(jq -c .notes "$OUT")"
	expect "what the stream says first" "$("$KMT" trace --from "$D/ring.kmt" |
		sed -n '1s/^\(# overflow\).*/\1/p')" = "# overflow"
}
