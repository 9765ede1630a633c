#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The layers below slab: amounts of pages, per-CPU memory and vmalloc areas that
# follow from what a load generator asks the kernel for, and from nothing else.

load lib.bash

setup_file() { live_setup_file; }
setup() {
	live_setup
	need_bpf
	PAGE=$(getconf PAGESIZE)
	PIPE=$(first_function anon_pipe_write pipe_write)
	mkfifo "$D/go"
}
teardown() { live_teardown; }

# The first of these functions that the kernel has: compilers inline some.
first_function() {
	local f
	for f in "$@"; do
		! grep -q " $f\$" /proc/kallsyms || { echo "$f"; return; }
	done
}

# Older kernels have no events of areas; each event has a function of this name.
need_vmalloc() {
	need_function __traceiter_free_vmap_area_noflush
}

# measure TRACER [OPTIONS] -- PAGES-ARGS: a report of it, by site
measure() {
	local tracer=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	"$KMT" stat --format json --limit 0 --by site --tracer "$tracer" "${options[@]}" -- \
		"$LOAD/pages" "$@" >"$OUT" 2>"$ERR" || fail "$(cat "$ERR")"
}

# held TRACER [OPTIONS] -- PAGES-ARGS: what is held when the command has ended
held() {
	lossless measure_held "$@"
}

measure_held() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	measure "${options[@]}" -- -w "$D/go" "$@"
	: >"$D/go"
}

# gone TRACER [OPTIONS] -- PAGES-ARGS: the same when it was let go
gone() {
	lossless measure "$@"
}

# expect_live SITE OBJECTS BYTES
expect_live() {
	expect allocs "$(sum allocs "$1")" = "$2"
	expect "live objects" "$(sum live_objects "$1")" = "$2"
	expect "live bytes" "$(sum live_bytes_allocated "$1")" = "$3"
	expect lost "$(told_lost)" = 0
}

# expect_gone SITE OBJECTS
expect_gone() {
	expect allocs "$(sum allocs "$1")" = "$2"
	expect frees "$(sum frees "$1")" = "$2"
	expect "live objects" "$(sum live_objects "$1")" = 0
	expect "live bytes" "$(sum live_bytes_allocated "$1")" = 0
}

@test "200 pipes with a page each: 200 pages, which go with the pipes" {
	[ -n "$PIPE" ] || skip "no pipe_write"
	held page --follow -- pipe 200
	expect_live "$PIPE" 200 $((200 * PAGE))
	gone page --follow -- pipe 200
	expect_gone "$PIPE" 200
}

# with_stacks COMMAND...: the measurement, again while a page of the 200 is not at its
# site and stacks are told as missing. An event of pages has no call site in tracefs:
# it is taken from the stack.
with_stacks() {
	local try
	for try in 1 2 3 4; do
		"$@"
		[ "$(sum allocs "$PIPE")" != 200 ] && [ "$(told_stacks)" != 0 ] || return 0
		echo "run $try has no stack of $(told_stacks) events" >&2
	done
}

@test "the same from tracefs" {
	[ -n "$PIPE" ] || skip "no pipe_write"
	need_tracefs
	with_stacks held page --source tracefs --buffer 16M --follow -- pipe 200
	expect_live "$PIPE" 200 $((200 * PAGE))
	with_stacks gone page --source tracefs --buffer 16M --follow -- pipe 200
	expect_gone "$PIPE" 200
}

@test "a packet ring of 40 blocks of order 2: 40 blocks of 4 pages" {
	local site
	site=$(first_function alloc_one_pg_vec_page alloc_pg_vec packet_set_ring)
	[ -n "$site" ] || skip "no packet sockets"
	held page -- ring 2 40
	expect_live "$site" 40 $((40 * 4 * PAGE))
	gone page -- ring 2 40
	expect_gone "$site" 40
}

@test "by page: blocks of order 2 are unmovable, and the movable ones come with --user-pages" {
	[ -n "$(first_function alloc_one_pg_vec_page alloc_pg_vec packet_set_ring)" ] || skip "no packet sockets"
	"$KMT" stat --tracer page --by page --format json --limit 0 -- \
		"$LOAD/pages" -w "$D/go" ring 2 40 >"$OUT"
	: >"$D/go"
	expect "order 2, unmovable" "$(jq '[.rows[] |
		select(.order == 2 and .migratetype == "unmovable") | .live_objects] | add' "$OUT")" -ge 40
	expect movable "$(jq '[.rows[] | select(.migratetype == "movable")] | length' "$OUT")" = 0
	"$KMT" stat --tracer page --user-pages --by page --format json --limit 0 -- \
		"$LOAD/pages" pipe 1 >"$OUT"
	expect movable "$(jq '[.rows[] | select(.migratetype == "movable") | .allocs] | add' "$OUT")" -ge 1
}

@test "100 per-CPU arrays of 8 bytes: requested for each possible CPU" {
	local site cpus
	site=$(first_function bpf_map_alloc_percpu array_map_alloc)
	cpus=$(n_possible_cpus)
	held percpu -- percpu 100
	expect allocs "$(sum allocs "$site")" = 100
	expect "live objects" "$(sum live_objects "$site")" = 100
	expect requested "$(sum live_bytes_requested "$site")" = $((100 * 8 * cpus))
	gone percpu -- percpu 100
	expect_gone "$site" 100
}

@test "50 arrays of 64 KiB: areas of 17 pages and a guard page" {
	local site
	need_vmalloc
	site=$(first_function __bpf_map_area_alloc bpf_map_area_alloc)
	[ "$PAGE" = 4096 ] || skip "pages are not of 4 KiB"
	# 64 KiB and the array's head are 17 pages
	held vmalloc -- vmalloc 65536 50
	expect_live "$site" 50 $((50 * 18 * PAGE))
	gone vmalloc -- vmalloc 65536 50
	expect_gone "$site" 50
}

blocks_from() {
	"$KMT" trace --source "$1" --tracer page,vmalloc --follow --format table --buffer 16M \
		-- "$LOAD/pages" pipe 100 >"$D/$1" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "BPF and tracefs show the same blocks in one stream" {
	[ -n "$PIPE" ] || skip "no pipe_write"
	need_tracefs
	need_vmalloc
	local source
	for source in bpf tracefs; do
		lossless blocks_from "$source"
		expect "+ of $source" "$(grep -c "^  + *P .* $PIPE\$" "$D/$source")" = 100
		awk -v f="$PIPE" '$1 == "+" && $2 == "P" && $NF == f { a[$6] = 1 }
			$1 == "-" && $2 == "P" && ($3 in a) { n++; delete a[$3] }
			END { exit n != 100 }' "$D/$source" || fail "$source: not every page is freed"
	done
}

@test "slab alone loads no program of other tracers" {
	background "$KMT" stat -i 10 --for 60
	wait_attached "$JOB"
	local names
	names=$(cat /proc/"$JOB"/fdinfo/* 2>/dev/null | awk '/^prog_id:/ { print $2 }' | sort -u |
		while read -r id; do bpftool -j prog show id "$id" | jq -r .name; done)
	[[ $names == *kmt_kmalloc* ]] || fail "no slab program: $names"
	[[ $names != *kmt_page* && $names != *kmt_percpu* && $names != *kmt_vmap* ]] ||
		fail "loaded too: $names"
	kill -INT "$JOB"
}

@test "a report is about one layer" {
	run "$KMT" stat --tracer slab,page --for 1ms
	expect status "$status" = 2
}
