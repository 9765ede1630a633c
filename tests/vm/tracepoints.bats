#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Where no function can be attached to, as under lockdown, what comes and goes without
# an event is not seen. The same loads as in balance.bats: the caches whose books are
# off by that are marked, all of them, and no other.

load ../live/lib.bash
load balance.bash

# marked WORKLOAD COMMAND...
marked() {
	local name=$1
	shift
	measured --tracer slab -- "$@"
	say "slab-only-$name"
	expect_marks
}

@test "4000 messages sent and received" {
	load_messages marked
}

@test "2000 pipes made and closed" {
	load_pipes marked
}

@test "500 TCP connections over loopback" {
	load_tcp marked
}

@test "500 processes forked and ended" {
	load_forks marked
}

@test "mappings split by mprotect and unmapped" {
	load_mprotect marked
	expect_off_nodes
}

@test "a find over a file system, whose caches are dropped afterwards" {
	load_find marked
}

@test "3000 files with long names, older than the trace, are moved" {
	load_renames marked
}

@test "hackbench" {
	load_hackbench marked
}
