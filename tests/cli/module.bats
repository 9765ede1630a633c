#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What --module refuses, and what it says where there is no module.
load lib.bash

@test "a name that is none: status 2" {
	for name in '' a/b 'brd zram' 'brd*' "$(printf 'x%.0s' {1..56})"; do
		refused 2 "--module" stat --module "$name"
	done
	refused 2 "without '.ko'" stat --module brd.ko
}

@test "a module is followed where events are traced, and with the bpf source" {
	refused 2 "--module belongs to tracing" stat --module brd \
		--from "$ROOT/tests/golden/samples/default-2008.txt"
	[ "$(id -u)" = 0 ] || skip "not root"
	refused 2 "--module needs the bpf source" stat --module brd --source tracefs
}

@test "a recording knows of no module" {
	kmt report "$ROOT/tests/golden/samples/default-2008.txt" unload
	expect status "$status" = 0
	[[ $output == *"no module was followed"* ]] || fail "got: $output"
}
