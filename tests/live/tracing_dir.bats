#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The tracing directory, used as in 2009: by echo, cat, head and awk. Known answers
# are those of messages.bats: N messages of S bytes are N allocations of S + 48 bytes.

load lib.bash
load tracing_dir.bash

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_bpf
	need_fuse
	SITE=$(msg_site)
	mount_dir
	cd "$T" || return
}

teardown() {
	cd /
	unmount_dir_anyhow
	live_teardown
}

@test "echo kmemtrace, cat trace, the option there and back, echo nop" {
	expect "tracers" "$(cat available_tracers)" = "kmemtrace nop"
	expect "at first" "$(cat current_tracer)" = nop
	echo kmemtrace > current_tracer
	expect "then" "$(cat current_tracer)" = kmemtrace
	"$LOAD/msgq" -n 100 -s 1000
	cat trace > "$D/default"
	echo kmem_minimalistic > trace_options
	cat trace > "$D/table"
	expect "the option" "$(cat options/kmem_minimalistic)" = 1
	echo nokmem_minimalistic > trace_options
	echo nop > current_tracer
	cat trace > "$D/kept"

	expect "head of the default" "$(head -2 "$D/default")" = $'# tracer: kmemtrace\n#'
	# the header of 2008, behind the two lines that every tracer's begins with
	head -7 "$D/table" | cmp - <(printf '# tracer: kmemtrace\n#\n'
		cat "$ROOT/tests/golden/samples/table-header-2008.txt")
	# 100 messages and their frees, in either form and after the end
	local n
	n=$(awk '$1 == "+" && $3 == 1048 && $8 == site' "site=$SITE" "$D/table" | grep -c .)
	expect "messages in the table" "$n" = 100
	n=$(grep -c ' bytes_req 1048 bytes_alloc 2048 ' "$D/default")
	expect "messages in the default" "$n" -ge 100
	n=$(grep -c ' bytes_req 1048 bytes_alloc 2048 ' "$D/kept")
	expect "messages kept after nop" "$n" -ge 100
	[ "$(head -1 "$D/kept")" = "# tracer: nop" ]
}

@test "both forms tell of the same events, field by field" {
	echo kmemtrace > current_tracer
	"$LOAD/msgq" -n 200 -s 1000
	"$LOAD/msgq" -n 200 -s 52
	echo 0 > tracing_on
	cat trace > "$D/default"
	echo kmem_alternative > trace_options
	cat trace > "$D/table"
	echo nokmem_alternative > trace_options
	cat trace > "$D/again"
	cmp "$D/default" "$D/again"
	"$ROOT/tests/live/same_events.py" "$D/default" "$D/table" > "$D/counts"
	expect "allocations" "$(awk '/^allocs/ { print $2 }' "$D/counts")" -ge 400
	expect "frees" "$(awk '/^frees/ { print $2 }' "$D/counts")" -ge 400
}

@test "trace_stat: 1000 messages are 1000 live objects of load_msg, with their ages" {
	echo kmemtrace > current_tracer
	messages 1000 1000
	sleep 1.1
	expect allocs "$(sum_cells trace_stat/call_site allocs "$SITE")" = 1000
	expect live "$(sum_cells trace_stat/call_site live "$SITE")" = 1000
	expect frees "$(sum_cells trace_stat/call_site frees "$SITE")" = 0
	expect "live bytes" "$(sum_cells trace_stat/call_site live_bytes "$SITE")" = 2048000
	expect requested "$(sum_cells trace_stat/call_site req_bytes "$SITE")" = 1048000
	expect waste "$(sum_cells trace_stat/call_site waste_bytes "$SITE")" = 1000000

	cat trace_stat/object > "$D/object"
	expect objects "$(cells "$D/object" age_ns "$SITE" | grep -c .)" = 1000
	expect addresses "$(cells "$D/object" address "$SITE" | sort -u | grep -c '^0x')" = 1000
	expect "bytes of all" "$(sum_cells "$D/object" alloc_bytes "$SITE")" = 2048000
	expect "youngest, ns" "$(cells "$D/object" age_ns "$SITE" | sort -n | head -1)" -ge 1000000000
	# the oldest first, unknown ages last
	awk 'NR > 1 { if ($1 == "-") none = 1; else if (none || (NR > 2 && $1 + 0 > last)) exit 1
		      last = $1 }' "$D/object" || fail "not in the order of ages"

	# 1000 of 2048 bytes given for 1048
	expect "fragmentation" "$(cells trace_stat/fragmentation waste_pct "$SITE")" = 48.83
	let_messages_go
	expect "live then" "$(sum_cells trace_stat/call_site live "$SITE")" = 0
	expect "frees then" "$(sum_cells trace_stat/call_site frees "$SITE")" = 1000
	expect "by free_msg" "$(sum_cells trace_stat/free_site frees free_msg)" = 1000
	expect "lifetimes" "$(sum_cells trace_stat/lifetime ended "$SITE")" = 1000
	expect "objects then" "$(cells trace_stat/object age_ns "$SITE" | grep -c .)" = 0
}

@test "trace_stat: every file is a table, sorted by its main number, stable while open" {
	echo kmemtrace > current_tracer
	messages 300 1000
	local f
	for f in trace_stat/*; do
		cat "$f" > "$D/file"
		awk 'NR == 1 { n = NF } NF != n { exit 1 } END { exit !NR }' "$D/file" ||
			fail "$f is no table"
	done
	awk 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "live_bytes") c = i; next }
	     NR > 2 && $c + 0 > last + 0 { exit 1 } { last = $c }' trace_stat/call_site
	awk 'NR > 2 && $1 + 0 > last + 0 { exit 1 } { last = $1 }' trace_stat/free_site
	awk 'NR > 2 && $1 + 0 > last + 0 { exit 1 } { last = $1 }' trace_stat/overflow

	# one reader begins, another reads all, the kernel goes on: the first ends as it began
	exec {first}< trace_stat/object
	local begin rest
	IFS= read -r begin <&"$first"
	cat trace_stat/object > "$D/second"
	let_messages_go
	cat <&"$first" > "$D/first"
	exec {first}<&-
	[ "$begin" = "$(head -1 "$D/second")" ]
	rest=$(awk -v site="$SITE" 'index($NF "+", site "+") == 1' "$D/first" | grep -c .)
	expect "objects of the first reader" "$rest" = 300
}

@test "trace_stat: writing 0 resets, what is live stays live, 1 is refused" {
	echo kmemtrace > current_tracer
	messages 500 1000
	expect "before" "$(sum_cells trace_stat/call_site allocs "$SITE")" = 500
	echo 0 > trace_stat/call_site
	expect "after" "$(sum_cells trace_stat/call_site allocs "$SITE")" = 0
	expect "live" "$(sum_cells trace_stat/call_site live "$SITE")" = 500
	let_messages_go
	expect "frees" "$(sum_cells trace_stat/call_site frees "$SITE")" = 500
	expect "live then" "$(sum_cells trace_stat/call_site live "$SITE")" = 0
	if echo 1 2> "$D/why" > trace_stat/call_site; then fail "1 was not refused"; fi
	grep -q "Invalid argument" "$D/why"
	grep -q "trace_stat/call_site" error_log
}

@test "a small object_table_kb: overruns count, and trace has an overflow row" {
	echo 4 > object_table_kb
	echo kmemtrace > current_tracer
	messages 1000 1000
	local live lost
	live=$(sum_cells trace_stat/call_site live "$SITE")
	lost=$(awk '/^lost_objects:/ { print $2 }' overruns)
	expect "live in the table" "$live" -lt 1000
	expect "lost objects" "$lost" -ge $((1000 - live))
	expect "allocations all the same" "$(sum_cells trace_stat/call_site allocs "$SITE")" = 1000
	grep -q '^# overflow: events lost: [0-9]* (live-object table full)' trace
	awk '$2 == "lost_objects" { n = $1 } END { exit !(n + 0 >= want) }' "want=$lost" \
		trace_stat/overflow
	let_messages_go
}

@test "cache_notrace excludes a cache, cache_filter all others" {
	echo kmemtrace > current_tracer
	messages 100 1000
	local cache
	cache=$(cells trace_stat/object cache "$SITE" | head -1)
	let_messages_go
	echo nop > current_tracer
	[ -d "/sys/kernel/slab/$cache" ] || fail "no such cache: '$cache'"

	echo "$cache" > cache_notrace
	echo kmemtrace > current_tracer
	messages 100 1000
	expect "excluded" "$(sum_cells trace_stat/call_site allocs "$SITE")" = 0
	expect "in the trace" "$(grep -c ' bytes_req 1048 ' trace)" = 0
	expect "other sites" "$(awk 'NR > 1' trace_stat/call_site | grep -c .)" -ge 1
	let_messages_go
	echo nop > current_tracer

	echo > cache_notrace
	echo "$cache" > cache_filter
	echo kmemtrace > current_tracer
	messages 100 1000
	expect "filtered" "$(sum_cells trace_stat/call_site allocs "$SITE")" = 100
	awk -v cache="$cache" 'NR > 1 && $NF != cache && $1 > 0 { print; bad = 1 }
		END { exit bad }' trace_stat/slab_cache
	let_messages_go
}

@test "two instances with different caches each see only theirs" {
	# which caches those of 1048 and of 100 bytes are, the kernel says
	echo kmemtrace > current_tracer
	messages 50 1000
	local large small
	large=$(cells trace_stat/object cache "$SITE" | head -1)
	let_messages_go
	messages 50 52
	small=$(cells trace_stat/object cache "$SITE" | head -1)
	let_messages_go
	echo nop > current_tracer
	[ "$large" != "$small" ]

	mkdir instances/large instances/small
	echo "$large" > instances/large/cache_filter
	echo "$small" > instances/small/cache_filter
	echo kmemtrace > instances/large/current_tracer
	echo kmemtrace > instances/small/current_tracer
	expect "the root" "$(cat current_tracer)" = nop
	messages 200 1000
	let_messages_go
	messages 300 52
	expect "large" "$(sum_cells instances/large/trace_stat/call_site allocs "$SITE")" = 200
	expect "its live" "$(sum_cells instances/large/trace_stat/call_site live "$SITE")" = 0
	expect "small" "$(sum_cells instances/small/trace_stat/call_site allocs "$SITE")" = 300
	expect "its live" "$(sum_cells instances/small/trace_stat/call_site live "$SITE")" = 300
	# 128 for 100 bytes
	expect "its bytes" "$(sum_cells instances/small/trace_stat/call_site live_bytes "$SITE")" = 38400
	expect "small in large" "$(grep -c ' bytes_req 100 bytes_alloc 128 ' instances/large/trace)" = 0
	expect "large in small" "$(grep -c ' bytes_req 1048 ' instances/small/trace)" = 0
	let_messages_go

	# ending one leaves the other alone
	rmdir instances/large
	[ ! -e instances/large ]
	messages 10 52
	expect "small goes on" "$(sum_cells instances/small/trace_stat/call_site allocs "$SITE")" = 310
	let_messages_go
	rmdir instances/small
}

@test "objects that another CPU frees are in pingpong" {
	need_cpus 2
	echo kmemtrace > current_tracer
	"$LOAD/msgq" -n 400 -s 1000 -c 0 -r 1
	expect "cross" "$(sum_cells trace_stat/pingpong cross_cpu "$SITE")" = 400
	expect "bytes" "$(sum_cells trace_stat/pingpong cross_cpu_bytes "$SITE")" = 819200
	expect "percent" "$(cells trace_stat/pingpong cross_cpu_pct "$SITE")" = 100.00
}

# KiB of its own memory that the process has, without the mapped tables.
own_memory() {
	awk '/^RssAnon:/ { print $2 }' "/proc/$MOUNT/status"
}

@test "what tracers and readers needed is given back when they end" {
	local i before
	"$LOAD/msgq" -n 100 -s 1000
	for i in 1 2 3 4; do
		mkdir "instances/$i"
		echo 16384 > "instances/$i/buffer_size_kb"
		echo kmemtrace > "instances/$i/current_tracer"
	done
	for i in 1 2 3 4 5 6 7 8; do "$LOAD/msgq" -n 4000 -s 3000; done
	for i in 1 2 3 4; do cat "instances/$i"/trace_stat/* "instances/$i/trace" >/dev/null; done
	before=$(own_memory)
	rmdir instances/*
	expect "KiB before" "$before" -ge 8192
	expect "KiB left of $before" "$(own_memory)" -le 49152
}

@test "the end leaves nothing behind" {
	echo kmemtrace > current_tracer
	mkdir instances/one
	echo kmemtrace > instances/one/current_tracer
	cd /
	unmount_dir
	expect_nothing_attached
}
