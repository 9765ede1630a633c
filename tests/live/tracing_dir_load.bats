#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# The tracing directory under many readers and writers, by the build with
# AddressSanitizer where there is one.

load lib.bash
load tracing_dir.bash

# Longer by hand: HAMMER_SECONDS=60 bats tests/live/tracing_dir_load.bats
SECONDS_EACH=${HAMMER_SECONDS:-5}

setup_file() { live_setup_file; }

setup() {
	live_setup
	need_bpf
	need_fuse
	[ ! -x "$ROOT/build/san/kmemtrace" ] || KMT=$ROOT/build/san/kmemtrace
	mount_dir
}

teardown() {
	unmount_dir_anyhow
	live_teardown
}

@test "50 readers and writers at once: nothing torn, nothing unexpected, no leak" {
	"$ROOT/tests/live/hammer.py" "$T" "$SECONDS_EACH" 50 1
	# it is alive and in its senses
	echo nop > "$T/current_tracer"
	expect "tracer" "$(cat "$T/current_tracer")" = nop
	rmdir "$T"/instances/* 2>/dev/null || true
	unmount_dir
	if grep -q Sanitizer "$D/mount.err"; then fail "$(cat "$D/mount.err")"; fi
	expect_nothing_attached
}

@test "trace at any offset and size is the text of one reading, while tracing goes on" {
	echo 1024 > "$T/buffer_size_kb"
	echo kmemtrace > "$T/current_tracer"
	background "$LOAD/churn" pipes 100000000
	"$LOAD/msgq" -n 1000 -s 1000
	"$ROOT/tests/live/readat.py" "$T/trace" 3 100 1
	echo kmem_minimalistic > "$T/trace_options"
	"$ROOT/tests/live/readat.py" "$T/trace" 2 100 2
	"$ROOT/tests/live/readat.py" "$T/trace_stat/object" 2 100 3
}
