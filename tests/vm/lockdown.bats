#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# lockdown=confidentiality: the kernel lets nobody read it, root or not. What
# still works is used, what does not is said with its reason, nothing crashes.

load ../live/lib.bash

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_root
	[ "${KMT_VM_FLAVOUR:-}" = lockdown ] || skip "not in a virtual machine of flavour 'lockdown'"
}

teardown() { live_teardown; }

@test "doctor names the lockdown" {
	local status=0
	"$KMT" doctor --format json >"$OUT" 2>"$ERR" || status=$?
	jq -r '.rows[] | "# \(.check): \(.status): \(.value)"' "$OUT" >&3
	expect lockdown "$(jq -r '.rows[] | select(.check == "lockdown") | .status' "$OUT")" = no
	echo "# status $status $(value summary.source)" >&3
	[ "$status" -lt 126 ]
}

@test "stat and trace: a report, or one line that says why not" {
	local command status
	for command in stat trace "stat --source bpf" "stat --source tracefs" "stat --tracer page"; do
		status=0
		"$KMT" $command --for 200ms >"$OUT" 2>"$ERR" || status=$?
		echo "# $command: $status: $(cat "$ERR")" >&3
		[ "$status" -lt 126 ]
		[ "$status" = 0 ] || expect "lines on standard error" "$(wc -l <"$ERR")" = 1
	done
}
