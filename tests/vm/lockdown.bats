#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# lockdown=confidentiality: the kernel lets nobody read it, root or not. Its BPF
# has no function that reads memory, and tracefs cannot be opened. What does not
# work is said in one line, what needs no kernel works.

load ../live/lib.bash

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_root
	[ "${KMT_VM_FLAVOUR:-}" = lockdown ] || skip "not in a virtual machine of flavour 'lockdown'"
}

teardown() { live_teardown; }

@test "doctor names the lockdown, and no source" {
	local status=0
	"$KMT" doctor --format json >"$OUT" 2>"$ERR" || status=$?
	expect "exit status" "$status" = 3
	expect lockdown "$(jq -r '.rows[] | select(.check == "lockdown") | .status' "$OUT")" = no
	expect source "$(value summary.source)" = null
}

@test "tracing: exit status 3 and one line that says why, nothing left behind" {
	local command status
	for command in stat trace "stat --source bpf" "stat --source tracefs" \
		"record -f -o $D/a.kmt"; do
		status=0
		"$KMT" $command --for 200ms >"$OUT" 2>"$ERR" || status=$?
		[ "$status" = 3 ] || fail "$command: exit status $status: $(cat "$ERR")"
		[ "$(wc -l <"$ERR")" = 1 ] || fail "$command: not one line: $(cat "$ERR")"
		expect "bytes on standard output" "$(wc -c <"$OUT")" = 0
		[[ $command == *tracefs* || $(cat "$ERR") == *lockdown=confidentiality* ]] ||
			fail "$command: the lockdown is not named: $(cat "$ERR")"
	done
	expect_nothing_attached
}

# The programs for pages read no memory of the kernel: 6.12 takes them.
@test "tracer of pages: a report, or one line that says why not" {
	local status=0
	"$KMT" stat --tracer page --for 200ms --format json >"$OUT" 2>"$ERR" || status=$?
	if [ "$status" = 0 ]; then
		expect source "$(value quality.source)" = bpf
	else
		expect "exit status" "$status" = 3
		expect "lines on standard error" "$(wc -l <"$ERR")" = 1
	fi
}

@test "a file that was recorded elsewhere is read" {
	"$KMT" stat --from "$ROOT/tests/golden/samples/default-2008.txt" --format json >"$OUT"
	expect "rows" "$(jq '.rows | length' "$OUT")" -gt 0
}
