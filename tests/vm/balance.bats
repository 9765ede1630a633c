#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The books balance: what kmemtrace says a cache gained or lost is what the kernel
# says. Each load runs between two readings of /proc/slabinfo; for each cache with at
# least 1000 traced allocations the two may differ by 2 % of these or by the tolerance
# of the kernel's own count, whichever is more.
#
# Needs the machine for itself: runs in virtual machines only.

load ../live/lib.bash
load balance.bash

# off_allowed WORKLOAD: how many caches may be off (tests/vm/balance)
off_allowed() {
	awk -v k="$KMT_VM_KERNEL" -v w="$1" '$1 == k && $2 == w { print $3; found = 1 }
		END { exit !found }' "$VM/balance" || echo 0
}

# balances WORKLOAD COMMAND...
balances() {
	local name=$1
	shift
	measured -- "$@"
	say "$name"
	expect_marks
	expect "caches that are off" \
		"$(jq '[.[] | select((.balanced or .skipped) | not)] | length' "$D/books")" \
		-le "$(off_allowed "$name")"
}

@test "4000 messages sent and received" {
	load_messages balances
}

@test "2000 pipes made and closed" {
	load_pipes balances
}

@test "500 TCP connections over loopback" {
	load_tcp balances
}

@test "500 processes forked and ended" {
	load_forks balances
}

@test "mappings split by mprotect and unmapped" {
	load_mprotect balances
}

@test "a find over a file system, whose caches are dropped afterwards" {
	load_find balances
}

@test "3000 files with long names, older than the trace, are moved" {
	load_renames balances
	[[ $(value quality.functions) != *kvfree_call_rcu* || $(value quality.functions) == *"not seen:"*kvfree* ]] ||
		expect "older ones given up" "$(value quality.given_up_before_start)" -ge 2900
}

@test "hackbench" {
	load_hackbench balances
}

@test "tracepoints alone: the caches that are off are marked, all of them, and no other" {
	measured --tracer slab -- "$LOAD/mprotect"
	say slab-only
	expect_marks
	expect_off_nodes
}
