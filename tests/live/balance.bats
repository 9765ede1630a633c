#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What survives for a good reason, and what only seems to: TIME-WAIT sockets,
# merged caches, and frees that no tracepoint tells of.

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; }
teardown() { live_teardown; }

# Sockets in TIME-WAIT (state 06), all or to one port, IPv4 and IPv6.
time_wait() {
	local port=
	[ -z "$1" ] || port=$(printf ':%04X' "$1")
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		awk -v port="$port" '$4 == "06" && (port == "" || index($3, port)) { n++ } END { print n + 0 }'
}

# All names by which sysfs knows a cache: links to the same directory.
sysfs_names() {
	local dir link
	dir=$(readlink -f "/sys/kernel/slab/$1")
	for link in /sys/kernel/slab/*; do
		if [ "$(readlink -f "$link")" = "$dir" ]; then basename "$link"; fi
	done | grep -v '^:' | sort -u
}

# The cache's name and aliases of a site's rows, one a line.
reported_names() {
	jq -r --arg f "$1" "$JQ_SITE .rows[] | select(at(\$f)) |
		[.cache] + ((.aliases // []) | if type == \"string\" then split(\",\") else . end) | .[]" "$OUT" |
		grep -v '^:' | sort -u
}

connections() {
	rm -f "$D/phase"
	stat_json -- "$LOAD/tcp" -n "$1" -p "$D/phase"
}

@test "200 connections closed by the client: 200 TIME-WAIT sockets are live" {
	need_function inet_twsk_alloc
	# the last step of a connection is taken in an interrupt
	lossless -i connections 200
	local port ours all
	port=$(awk '$1 == "port" { print $2 }' "$D/phase")
	ours=$(time_wait "$port")
	all=$(time_wait "")
	expect "ours in /proc/net/tcp" "$ours" = 200
	local live
	live=$(sum live_objects inet_twsk_alloc)
	expect live "$live" -ge "$ours"
	# others may have closed connections meanwhile
	expect live "$live" -le "$all"
	expect "untraced frees" "$(sum untraced_frees inet_twsk_alloc)" = 0
	expect cache "$(reported_names inet_twsk_alloc | grep -cx tw_sock_TCP)" = 1
}

@test "merged caches: every name the kernel knows is reported" {
	need_function inet_bind2_bucket_create
	lossless -i connections 50
	local names
	names=$(reported_names inet_bind2_bucket_create)
	[ "$(wc -l <<<"$names")" -gt 1 ] || [ "$(sysfs_names tcp_bind2_bucket | wc -l)" -le 1 ] ||
		fail "no aliases: '$names'"
	expect "names of tcp_bind2_bucket" "$(sysfs_names tcp_bind2_bucket)" = "$names"
}

# By tracepoints alone: with tracer bulk the books balance, which is tests/vm/balance.bats.
@test "mprotect loop: maple_node has untraced frees and its books do not balance" {
	grep -q '^maple_node ' /proc/slabinfo || skip "this kernel has no maple_node"
	"$KMT" stat --tracer slab --by cache --limit 0 --format json -- "$LOAD/mprotect" >"$OUT"
	local row
	row=$(jq '.rows[] | select(.cache == "maple_node")' "$OUT")
	[ -n "$row" ] || fail "no row for maple_node"
	# 64 splits of 100 mappings need more than one node per 10 areas of two
	expect allocs "$(jq .allocs <<<"$row")" -ge 1000
	expect "untraced frees" "$(jq .untraced_frees <<<"$row")" -gt 0
	local verdict traced real
	verdict=$(jq -r .balance.verdict <<<"$row")
	traced=$(jq .balance.traced_net <<<"$row")
	real=$(jq .balance.real_net <<<"$row")
	[ "$verdict" != balanced ] || fail "books said to balance: traced $traced, real $real"
	[ "$verdict" != null ] || fail "no verdict: $row"
	# too many where frees are silent, too few where allocations are (6.1 to 6.12)
	local off=$((traced - real))
	expect "traced net change $traced against the kernel's own $real" "${off#-}" -gt 500
}

@test "mprotect loop: no site of maple_node is a suspect, and a note says why" {
	grep -q '^maple_node ' /proc/slabinfo || skip "this kernel has no maple_node"
	"$KMT" stat --tracer slab --by leaks --limit 0 --format json -- "$LOAD/mprotect" >"$OUT"
	expect "survivors of maple_node" "$(jq '[.rows[] | select(.cache == "maple_node") |
		.surviving_objects] | add' "$OUT")" -ge 500
	expect "what they are" "$(jq -r '[.rows[] | select(.cache == "maple_node") | .state] | unique[]' "$OUT")" = surviving
	expect "balanced rows" "$(jq '[.rows[] | select(.cache == "maple_node" and .untraced_frees > 0) |
		select(.balance.verdict == "balanced")] | length' "$OUT")" = 0
	jq -r '.notes[]' "$OUT" | grep -q maple_node || fail "no note names maple_node: $(jq -c .notes "$OUT")"
}

by_cache() {
	"$KMT" stat --by cache --limit 0 --format json -- "$@" >"$OUT" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "messages: the books of their cache balance" {
	# on a busy machine an interrupt may cost an event; then nothing is claimed
	lossless -i by_cache "$LOAD/msgq" -n 4000 -s 3000
	# 3048 bytes: a 4 KiB cache of its own family where the kernel has one
	[ -d /sys/kernel/slab/msg_msg-4k ] || skip "kernel has no cache of its own for messages"
	local row
	row=$(jq '.rows[] | select(.cache == "msg_msg-4k")' "$OUT")
	expect allocs "$(jq .allocs <<<"$row")" = 4000
	expect frees "$(jq .frees <<<"$row")" = 4000
	expect traced_net "$(jq .balance.traced_net <<<"$row")" = 0
	expect verdict "$(jq -r .balance.verdict <<<"$row")" = balanced
}
