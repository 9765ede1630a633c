#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Every BPF program in every combination of its knobs passes this kernel's
# verifier and is attached. The knobs are constants to the verifier, so each
# combination is another program to it.

load ../live/lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; }
teardown() { live_teardown; }

STAT_MODES=(
	"" "--no-objects" "--stacks" "--stacks --no-objects" "--by task" "--by task --no-objects"
	"--objects 64 --sites 16" "--tracer slab"
)
RECORD_MODES=("" "--stacks" "--objects 64" "--aggregate" "--aggregate --stacks")
TRACE_MODES=("" "--task" "--stacks" "--cache" "--task --stacks --cache" "--objects 64")

# One of each kind of filter.
filters() {
	local cgroup
	cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	FILTERS=(
		"cache=kmalloc-*" "cache!=*dentry*" "site=vfs_*" "size>=8" "size=1..4096"
		"task=ba*" "pid=$$" "tgid=$$" ${cgroup:+"cgroup=$cgroup"}
	)
}

# loads COMMAND...: the kernel took it.
loads() {
	local status=0
	"$KMT" "$@" --for 1ms >"$OUT" 2>"$ERR" || status=$?
	[ "$status" = 0 ] || fail "kmemtrace $*: exit status $status: $(cat "$ERR")"
}

@test "counted: all modes" {
	local mode
	for mode in "${STAT_MODES[@]}"; do
		loads stat $mode
	done
}

@test "counted: all modes with all filters and --follow" {
	local mode all=()
	filters
	for f in "${FILTERS[@]}"; do all+=(--filter "$f"); done
	for mode in "${STAT_MODES[@]}"; do
		loads stat $mode "${all[@]}" --follow
	done
}

@test "streamed: all modes" {
	local mode
	for mode in "${TRACE_MODES[@]}"; do
		loads trace $mode
	done
}

@test "streamed: all modes with all filters and --follow" {
	local mode all=()
	filters
	for f in "${FILTERS[@]}"; do all+=(--filter "$f"); done
	for mode in "${TRACE_MODES[@]}"; do
		loads trace $mode "${all[@]}" --follow
	done
}

@test "each filter alone: counted, by task, streamed" {
	filters
	for f in "${FILTERS[@]}"; do
		loads stat --filter "$f"
		loads stat --by task --filter "$f"
		loads trace --filter "$f"
	done
}

@test "many patterns: the longest loops over filters" {
	local all=() i
	for i in {0..14}; do
		all+=(--filter "cache!=*no*such*cache*$i*a" --filter "task=*$i*b*c*d*e*")
	done
	all+=(--filter "cache=?*?*?*" --filter "site=[a-f]*_alloc")
	loads stat "${all[@]}"
	loads stat --by task "${all[@]}"
	loads trace "${all[@]}"
}

@test "a command is followed" {
	loads stat --follow -- true
	loads trace --follow --stacks --task -- true
}

@test "recorded: all modes, and with all filters and --follow" {
	local mode all=()
	filters
	for f in "${FILTERS[@]}"; do all+=(--filter "$f"); done
	for mode in "${RECORD_MODES[@]}"; do
		loads record -f -o "$D/a.kmt" $mode
		loads record -f -o "$D/a.kmt" $mode "${all[@]}" --follow
	done
}

# Where functions can be attached to: by name, and in every mode by kprobes (by fentry it
# was in all the modes above); else one clear error.
@test "tracer bulk by name, and by kprobes" {
	local mode tracer=slab,bulk:kprobe
	if ! "$KMT" doctor | grep -q '^ok   bulk free'; then
		run "$KMT" stat --tracer slab,bulk --for 1ms
		[ "$status" = 3 ]
		[[ "$output" == "kmemtrace: tracer 'bulk' needs functions to attach to: "* ]]
		return
	fi
	loads stat --tracer slab,bulk
	loads trace --tracer slab,bulk
	for mode in "${STAT_MODES[@]}"; do
		[[ $mode == *--tracer* ]] || loads stat --tracer "$tracer" $mode
	done
	for mode in "${TRACE_MODES[@]}"; do
		loads trace --tracer "$tracer" $mode
	done
}
