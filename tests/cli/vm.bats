#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The harness of the kernel matrix, with a machine that is none: what it makes of
# machines that hang, panic or end too early, and of kernels that cannot be had.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

setup() {
	command -v cpio >/dev/null || skip "no cpio"
	D=$BATS_TEST_TMPDIR
	export KMT_VM=$D/vm KMT_VM_BASE=$D/base PATH=$D/bin:$PATH
	mkdir -p "$KMT_VM/kernels/6.1/lib/modules" "$D/bin"
	echo 6.1.0-0 >"$KMT_VM/kernels/6.1/version"
	: >"$KMT_VM/kernels/6.1/vmlinuz"
	: >"$KMT_VM_BASE"
}

# machine COMMANDS: qemu, with the console as 3 and the port for TAP as 4
machine() {
	cat >"$D/bin/qemu-system-x86_64" <<-END
		#!/bin/bash
		ports=()
		while [ \$# != 0 ]; do [ "\$1" != -serial ] || ports+=("\${2#file:}"); shift; done
		exec 3>"\${ports[0]}" 4>"\${ports[1]}"
		$1
	END
	chmod +x "$D/bin/qemu-system-x86_64"
}

@test "a machine whose tests all pass" {
	machine 'printf "%s\n" 1..2 "ok 1 a" "ok 2 b # skip no c" "# done after 1 s" >&4'
	run "$ROOT/tests/vm/run" 6.1
	[ "$status" = 0 ]
	grep -qx 'ok 1 Linux 6.1, default: a' <<<"$output"
	grep -qx 'ok 2 Linux 6.1, default: b # skip no c' <<<"$output"
	[ "${lines[-1]}" = 1..3 ]
}

@test "a test that fails in the machine" {
	machine 'printf "%s\n" 1..2 "ok 1 a" "not ok 2 b" "# why" "# done after 1 s" >&4'
	run "$ROOT/tests/vm/run" 6.1
	[ "$status" = 1 ]
	grep -qx 'not ok 2 Linux 6.1, default: b' <<<"$output"
}

@test "a machine that hangs: stopped, a failure, the end of its console" {
	machine 'echo 1..2 >&4; echo the last word >&3; exec sleep 100'
	KMT_VM_LIMIT=3 run "$ROOT/tests/vm/run" 6.1
	[ "$status" = 1 ]
	grep -q '^not ok 1 Linux 6.1, default: the machine hangs' <<<"$output"
	grep -qx '# the last word' <<<"$output"
}

@test "a machine that panics, also after its tests" {
	machine 'printf "%s\n" 1..1 "ok 1 a" "# done after 1 s" >&4; echo "[ 1.0] Kernel panic - not syncing" >&3'
	run "$ROOT/tests/vm/run" 6.1
	[ "$status" = 1 ]
	grep -q '^not ok 2 .*fault' <<<"$output"
}

@test "a machine that ends before its last test, or before the first" {
	machine 'printf "%s\n" 1..3 "ok 1 a" "# done after 1 s" >&4'
	run "$ROOT/tests/vm/run" 6.1
	[ "$status" = 1 ]
	grep -q '^not ok 2 .*1 results of 3 tests' <<<"$output"
	machine true
	run "$ROOT/tests/vm/run" 6.1
	[ "$status" = 1 ]
	grep -q '^not ok 1 .*ended before its tests' <<<"$output"
}

@test "a kernel that cannot be had is left out with the reason" {
	KMT_VM_MIRROR=http://127.0.0.1:9 run "$ROOT/tests/vm/run" 6.12
	[ "$status" = 3 ]
	[[ $output == *"Linux 6.12 cannot be had: "* ]]
}

@test "unknown kernels and flavours: one line, exit status 2" {
	run "$ROOT/tests/vm/run" 2.4
	[ "$status" = 2 ] && [ "${#lines[@]}" = 1 ]
	run "$ROOT/tests/vm/run" 6.1 vanilla
	[ "$status" = 2 ] && [ "${#lines[@]}" = 1 ]
}
