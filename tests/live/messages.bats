#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# System V messages: N messages of S bytes are N allocations of S + 48 bytes at
# load_msg(), live from msgsnd() to msgrcv(). Nothing else on a normal machine
# allocates there.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; SITE=$(msg_site); }
teardown() { live_teardown; }

# End a msgq that was left holding its messages: $1 is its fifo.
let_go() {
	: >"$1"
	until_true 60 grep -q received "$D/phase"
}

# What the kernel gives for a message of kmalloc's class 128 or 2k: as much as the
# name says, and more where slub_debug keeps its notes behind each object.
given() {
	local family n
	for family in msg_msg kmalloc-cg kmalloc; do
		n=$(awk -v c="$family-$1" '$1 == c { print $4 }' /proc/slabinfo) 2>/dev/null
		[ -z "$n" ] || { echo "$n"; return; }
	done
	echo "${1/2k/2048}"
}

@test "1000 messages of 1000 bytes, held: live objects and bytes to the byte" {
	local each
	each=$(given 2k)
	mkfifo "$D/go"
	stat_json -- "$LOAD/msgq" -n 1000 -s 1000 -d -w "$D/go" -p "$D/phase"
	let_go "$D/go"
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect live "$(sum live_objects "$SITE")" = 1000
	expect requested "$(sum live_bytes_requested "$SITE")" = 1048000
	expect given "$(sum live_bytes_allocated "$SITE")" = $((1000 * each))
	expect waste "$(sum waste_bytes "$SITE")" = $((1000 * (each - 1048)))
	expect "bytes_requested" "$(sum bytes_requested "$SITE")" = 1048000
	expect "bytes_allocated" "$(sum bytes_allocated "$SITE")" = $((1000 * each))
	expect peak "$(sum peak_bytes_allocated "$SITE")" = $((1000 * each))
	expect frees "$(sum frees "$SITE")" = 0
	expect failures "$(sum failures "$SITE")" = 0
	expect "lost events" "$(value quality.lost_objects)" = 0
}

@test "1000 messages of 1000 bytes, received: nothing is live" {
	stat_json -- "$LOAD/msgq" -n 1000 -s 1000
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect frees "$(sum frees "$SITE")" = 1000
	expect live "$(sum live_objects "$SITE")" = 0
	expect "live requested" "$(sum live_bytes_requested "$SITE")" = 0
	expect "live given" "$(sum live_bytes_allocated "$SITE")" = 0
	expect untraced "$(sum untraced_frees "$SITE")" = 0
	expect requested "$(sum bytes_requested "$SITE")" = 1048000
}

@test "the cache of the messages is named as the kernel names it" {
	mkfifo "$D/go"
	stat_json -- "$LOAD/msgq" -n 300 -s 1000 -d -w "$D/go" -p "$D/phase"
	local name
	name=$(jq -r --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f)) | .cache] | unique | join(\",\")" "$OUT")
	let_go "$D/go"
	# a 1048-byte request comes from a 2 KiB cache of one of kmalloc's families
	[ -d "/sys/kernel/slab/$name" ] || fail "no such cache: '$name'"
	expect "size of $name" "$(cat "/sys/kernel/slab/$name/object_size")" = 2048
}

@test "small messages: sizes are counted per request, not per cache" {
	mkfifo "$D/go"
	# 52 + 48 = 100 bytes requested, 128 given
	local each
	each=$(given 128)
	stat_json -- "$LOAD/msgq" -n 500 -s 52 -d -w "$D/go" -p "$D/phase"
	let_go "$D/go"
	expect requested "$(sum live_bytes_requested "$SITE")" = 50000
	expect given "$(sum live_bytes_allocated "$SITE")" = $((500 * each))
	expect waste "$(sum waste_bytes "$SITE")" = $((500 * (each - 100)))
}

@test "sent on CPU 0 and received on CPU 1: every free is a cross-CPU free" {
	need_cpus 2
	stat_json -- "$LOAD/msgq" -n 1000 -s 1000 -c 0 -r 1
	expect frees "$(sum frees "$SITE")" = 1000
	expect "cross-CPU frees" "$(sum cross_cpu_frees "$SITE")" = 1000
}

@test "sent and received on one CPU: no free is a cross-CPU free" {
	stat_json -- "$LOAD/msgq" -n 1000 -s 1000 -c 0 -r 0
	expect frees "$(sum frees "$SITE")" = 1000
	expect "cross-CPU frees" "$(sum cross_cpu_frees "$SITE")" = 0
}

@test "held for 50 ms: not temporary; with --temporary 10s: all temporary" {
	stat_json -- "$LOAD/msgq" -n 200 -s 1000 -t 50
	expect "temporary at 1 ms" "$(sum temporary "$SITE")" = 0
	stat_json --temporary 10s -- "$LOAD/msgq" -n 200 -s 1000 -t 50
	expect "temporary at 10 s" "$(sum temporary "$SITE")" = 200
}

@test "kept for 2 s: --min-age 1s shows them all, none younger than 2 s" {
	mkfifo "$D/go"
	stat_json --min-age 1s -- "$LOAD/msgq" -n 1000 -s 1000 -t 2010 -d -w "$D/go" -p "$D/phase"
	let_go "$D/go"
	expect live "$(sum live_objects "$SITE")" = 1000
	expect "youngest, ns" "$(sum age_min_ns "$SITE")" -ge 2000000000
	expect "median, ns" "$(sum age_p50_ns "$SITE")" -ge "$(sum age_min_ns "$SITE")"
	expect "oldest, ns" "$(sum age_max_ns "$SITE")" -ge "$(sum age_p50_ns "$SITE")"
}

@test "kept for 2 s: --by object lists each message with its age" {
	mkfifo "$D/go"
	"$KMT" stat --by object --limit 0 --format json --min-age 1s -- \
		"$LOAD/msgq" -n 1000 -s 1000 -t 2010 -d -w "$D/go" -p "$D/phase" >"$OUT"
	let_go "$D/go"
	local n
	n=$(jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f))] | length" "$OUT")
	expect "objects listed" "$n" = 1000
	n=$(jq --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f)) |
		[to_entries[] | select(.key | startswith(\"age\")) | .value | numbers] | max] | min" "$OUT")
	expect "youngest, ns" "$n" -ge 2000000000
}

@test "younger than --min-age: not a survivor" {
	mkfifo "$D/go"
	stat_json --min-age 1m -- "$LOAD/msgq" -n 100 -s 1000 -d -w "$D/go" -p "$D/phase"
	let_go "$D/go"
	expect live "$(sum live_objects "$SITE")" = 0
}

@test "--objects 64: live stays within 64, what is not tracked is counted, totals are exact" {
	mkfifo "$D/go"
	stat_json --objects 64 -- "$LOAD/msgq" -n 1000 -s 1000 -d -w "$D/go" -p "$D/phase"
	let_go "$D/go"
	local live
	live=$(total live_objects)
	expect "live, whole table" "$live" -le 64
	expect allocs "$(sum allocs "$SITE")" = 1000
	expect requested "$(sum bytes_requested "$SITE")" = 1048000
	expect given "$(sum bytes_allocated "$SITE")" = $((1000 * $(given 2k)))
	# every message that is not live in the books was refused by the table or
	# pushed out by an address seen again; none was freed
	local here
	here=$(sum live_objects "$SITE")
	expect "not tracked" "$(value quality.lost_objects)" -ge $((1000 - here))
	expect "lost sites" "$(value quality.lost_sites)" = 0
	# over all sites: allocated = live + freed + untraced + refused. Of a file, whose
	# books are closed after the programs are off; stat reads them while they run.
	"$KMT" record --aggregate --objects 64 -o "$D/a.kmt" -- "$LOAD/msgq" -n 1000 -s 1000 2>"$ERR"
	"$KMT" stat --from "$D/a.kmt" --format json --limit 0 --by site,cache >"$OUT" 2>"$ERR"
	live=$(total live_objects)
	expect "sum of the books" "$(total allocs)" = \
		$((live + $(total frees) + $(total untraced_frees) + $(value quality.lost_objects)))
}

# Objects are refused, which is the point; the ring must not be full.
few_objects() {
	"$KMT" trace --buffer 16M --objects 64 -- "$LOAD/msgq" -n 1000 -s 1000 >"$D/events" 2>"$ERR" ||
		fail "$(cat "$ERR")"
	"$MODEL" default "$SITE" <"$D/events" >"$D/model"
	sed -i 's/[0-9]* lost (live-object table full)//' "$ERR"
}

@test "--objects 64: the stream says so in place" {
	lossless few_objects
	mv "$D/model" "$OUT"
	expect allocs "$(value "sites.$SITE.allocs")" = 1000
	expect "overflow records" "$(jq '[.overflow | to_entries[] | select(.key | test("object")) |
		.value.records] | add // 0' "$OUT")" -ge 1
	expect "objects refused" "$(jq '[.overflow | to_entries[] | select(.key | test("object")) |
		.value.events] | add // 0' "$OUT")" -ge $((1000 - 64))
}
