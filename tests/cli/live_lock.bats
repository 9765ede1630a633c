#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The lock that files of live tests take one after the other.

load lib.bash

setup() {
	[ "$(id -u)" = 0 ] || skip "only root's live tests take it"
	export KMT_LIVE_LOCK=$BATS_TEST_TMPDIR/lock KMT_LIVE_LOCK_SECONDS=1
	SET_UP=". '$ROOT/tests/live/lib.bash'; live_setup_file"
}

@test "one at a time; who waits in vain says who holds it" {
	local holder
	BATS_TEST_FILENAME=$ROOT/tests/live/first.bats bash -c "$SET_UP; exec sleep 60" \
		3>&- >/dev/null 2>&1 &
	holder=$!
	for _ in $(seq 100); do ! grep -q first "$KMT_LIVE_LOCK" 2>/dev/null || break; sleep 0.1; done
	run bash -c "$SET_UP"
	expect status "$status" = 1
	[[ $output == *"held for 1 s by: process $holder, "*/first.bats* ]] || fail "$output"
	# also after two have asked
	run bash -c "$SET_UP"
	[[ $output == *"process $holder, "* ]] || fail "$output"
	kill "$holder"
	wait "$holder" || true
	run bash -c "$SET_UP"
	expect "status, free again" "$status" = 0
}
