#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The same run seen by several instruments at once: they must agree per call
# site whenever none of them lost anything.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; SITE=$(msg_site); }
teardown() { live_teardown; }

# The run: messages of three sizes, two CPUs where there are two.
run_messages() {
	local last=$(($(nproc) > 1))
	"$LOAD/msgq" -n 700 -s 1000 -c 0 -r "$last"
	"$LOAD/msgq" -n 500 -s 52 -c "$last" -r 0
	"$LOAD/msgq" -n 300 -s 3000 -c 0 -r 0
}
# worked out by hand: 700 x 1048 + 500 x 100 + 300 x 3048
REQUESTED=1698000
# 700 x 2048 + 500 x 128 + 300 x 4096
GIVEN=2726400

expect_books() {
	local who=$1 file=$2 path=$3
	expect "$who allocs" "$(jq "$path.allocs" "$file")" = 1500
	expect "$who frees" "$(jq "$path.frees" "$file")" = 1500
	expect "$who requested" "$(jq "$path.bytes_requested" "$file")" = "$REQUESTED"
	expect "$who given" "$(jq "$path.bytes_allocated" "$file")" = "$GIVEN"
	expect "$who live" "$(jq "$path.live_objects" "$file")" = 0
	expect "$who untraced" "$(jq "$path.untraced_frees" "$file")" = 0
}

# The rows of one site of a kmemtrace report as one object, like the model's.
fold_report() {
	jq --arg f "$SITE" "$JQ_SITE
		[.rows[] | select(at(\$f))] |
		{ allocs: (map(.allocs) | add // 0), frees: (map(.frees) | add // 0),
		  bytes_requested: (map(.bytes_requested) | add // 0),
		  bytes_allocated: (map(.bytes_allocated) | add // 0),
		  live_objects: (map(.live_objects) | add // 0),
		  untraced_frees: (map(.untraced_frees) | add // 0) }" "$1"
}

# The run under three instruments at once: $OUT, $D/events and $D/ftrace. What each
# of them lost stands in $ERR.
three_at_once() {
	instance agree 65536
	# only kmalloc of our sizes and kfree: room for the storms of others
	echo 'bytes_req == 1048 || bytes_req == 100 || bytes_req == 3048' \
		>"$INSTANCE/events/kmem/kmalloc/filter"
	instance_on "$INSTANCE" kmalloc kfree
	background "$KMT" trace --buffer 32M >"$D/events" 2>"$D/err.trace"
	local tracer=$JOB
	wait_attached "$tracer"
	stat_json -- bash -c run_messages
	kill -INT "$tracer"
	wait "$tracer"
	instance_off "$INSTANCE"
	echo "tracefs: $(instance_overwritten "$INSTANCE") lost (overwritten)" >"$ERR"
	grep -oE '[0-9]+ lost .*' "$D/err.trace" >>"$ERR"
	cat "$INSTANCE/trace" >"$D/ftrace"
	rmdir "$INSTANCE"
	"$MODEL" default "$SITE" <"$D/events" >"$D/streamed.json"
}

# streamed [OPTIONS] -- CMD: its events in $D/events
streamed() {
	"$KMT" trace --buffer 16M "$@" >"$D/events" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "counted, streamed and a tracefs instance agree on the same run" {
	need_tracefs
	tracefs_mount
	export -f run_messages
	export LOAD
	# events in interrupts may be missed (recursion); ours are system calls
	lossless three_at_once
	"$MODEL" ftrace "$SITE" <"$D/ftrace" >"$D/ftrace.json"
	fold_report "$OUT" >"$D/counted.json"
	expect_books tracefs "$D/ftrace.json" ".sites.$SITE"
	expect_books streamed "$D/streamed.json" ".sites.$SITE"
	expect_books counted "$D/counted.json" ""
}

@test "counted from tracefs (--source tracefs) gives the same" {
	need_tracefs
	lossless stat_json --source tracefs --buffer 16M -- bash -c "$(declare -f run_messages); LOAD='$LOAD'; run_messages"
	expect source "$(value quality.source)" = tracefs
	expect lost "$(value quality.lost_ring)" = 0
	fold_report "$OUT" >"$D/counted.json"
	expect_books "counted from tracefs" "$D/counted.json" ""
}

@test "streamed from tracefs gives the same" {
	need_tracefs
	lossless streamed --source tracefs -- bash -c "$(declare -f run_messages); LOAD='$LOAD'; run_messages"
	"$MODEL" default "$SITE" <"$D/events" >"$D/streamed.json"
	expect "overflow records" "$(jq '.overflow | length' "$D/streamed.json")" = 0
	expect_books "streamed from tracefs" "$D/streamed.json" ".sites.$SITE"
}

@test "the stream has nothing but events, in an order in which every free follows its allocation" {
	lossless streamed -- "$LOAD/msgq" -n 1000 -s 1000 -c 0 -r "$(($(nproc) > 1))"
	"$MODEL" default "$SITE" <"$D/events" >"$OUT"
	expect "strange lines" "$(jq '.strange_lines | length' "$OUT")" = 0
	expect "kfree(NULL) among the events" "$(value null_frees)" = 0
	# a free before its allocation would leave the object live in the model
	expect live "$(value "sites.$SITE.live_objects")" = 0
	expect frees "$(value "sites.$SITE.frees")" = 1000
}

@test "free sites: the same number where they are freed as where they were allocated" {
	"$KMT" stat --by free-site --limit 0 --format json -- "$LOAD/msgq" -n 1000 -s 3000 >"$OUT"
	need_function free_msg
	expect "frees at free_msg" "$(sum frees free_msg)" = 1000
}

@test "two eventfds per iteration: 2000 contexts are allocated and freed" {
	need_function do_eventfd
	stat_json --follow -- "$B/tests/bench/allocstorm" -q -m eP -n 1000 -k 1
	# the site also takes a file and a dentry on some kernels: only kmalloc counts
	local n
	n=$(jq --arg f do_eventfd "$JQ_SITE [.rows[] | select(at(\$f) and .type == \"K\") | .allocs] | add" "$OUT")
	expect allocs "$n" = 2000
	n=$(jq --arg f do_eventfd "$JQ_SITE [.rows[] | select(at(\$f) and .type == \"K\") | .frees] | add" "$OUT")
	expect frees "$n" = 2000
}
