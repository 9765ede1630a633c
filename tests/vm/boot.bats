#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# What took memory during boot: the machine was booted with the options that
# 'kmemtrace boot' prints (tests/vm/flavours), and its buffer becomes a recording.
# Compared with the text of the same buffer, counted by awk, and with
# /proc/slabinfo.

load ../live/lib.bash

ALLOC='/: (kmalloc|kmalloc_node|kmem_cache_alloc|kmem_cache_alloc_node): /'
FREE='/: (kfree|kmem_cache_free): /'

buffer() {
	local dir=/sys/kernel/tracing
	! grep -q ' trace_instance=' /proc/cmdline || dir=$dir/instances/boot
	echo "$dir"
}

# stat_sum WORDS...: these lines of the CPUs' stats, added up
stat_sum() {
	local re
	re=$(IFS='|'; echo "$*")
	cat "$T"/per_cpu/cpu*/stats | awk -F': ' -v re="^($re)\$" '$1 ~ re { n += $2 } END { print n + 0 }'
}

setup_file() {
	live_setup_file
	T=$(buffer)
	[ -d "$T" ] || return 0
	# the buffer stays as it is from now on, for several readers to agree; reading
	# sysfs makes inodes, so the kernel's counts come first
	cat /proc/slabinfo >"$BATS_FILE_TMPDIR/slabinfo"
	echo 0 >"$T/tracing_on"
	stat_sum entries >"$BATS_FILE_TMPDIR/entries"
	cat "$T/trace" >"$BATS_FILE_TMPDIR/trace"
	"$KMT" record --from-boot -o "$BATS_FILE_TMPDIR/boot.kmt" 2>"$BATS_FILE_TMPDIR/err" ||
		echo "status $?" >>"$BATS_FILE_TMPDIR/err"
	sed 's/^/# boot: /' "$BATS_FILE_TMPDIR/err" | tr '\r' '\n' | tail -n 3 >&3
}

setup() {
	live_setup
	need_root
	grep -qE ' trace_(event|instance)=[^ ]*kmem:' /proc/cmdline || skip "not booted with slab events"
	T=$(buffer)
	[ -d "$T" ] || skip "kernel has no trace_instance="
	F=$BATS_FILE_TMPDIR/boot.kmt
	TEXT=$BATS_FILE_TMPDIR/trace
	LOST=$(stat_sum overrun "commit overrun" "dropped events")
	[ -e "$F" ] || fail "no recording: $(cat "$BATS_FILE_TMPDIR/err")"
}

teardown() { live_teardown; }

count() {
	awk "$1"' { n++ } END { print n + 0 }' "$TEXT"
}

# report VIEW...: of the boot's recording, into $OUT
report() {
	"$KMT" report "$F" "$@" --format json --limit 0 >"$OUT" 2>"$ERR" || fail "$(cat "$ERR")"
}

@test "boot says what this kernel was booted with, what is in the buffer and what was lost" {
	"$KMT" boot --format json >"$OUT"
	expect "booted with" "$(value summary.booted_with)" = \
		"$(tr ' ' '\n' </proc/cmdline | grep '^trace_' | xargs)"
	expect events "$(value summary.events)" = "$(stat_sum entries)"
	expect lost "$(value summary.lost)" = "$LOST"
	"$KMT" boot | tr '\n' ' ' | grep -q ": $(stat_sum entries) events are in the buffer, $LOST were lost"
	"$KMT" boot >"$D/text"
	expect lines "$(wc -l <"$D/text")" -le 25
	awk 'length > 80 { print; bad = 1 } END { exit bad }' "$D/text" || fail "too wide"
}

@test "boot --line asks for the slab events that this kernel has" {
	expect events "$("$KMT" boot --line | grep -o 'kmem:[a-z_]*' | sort | xargs)" = \
		"$(cd /sys/kernel/tracing/events/kmem && ls -d kfree kmem_cache_free kmalloc kmalloc_node \
			kmem_cache_alloc kmem_cache_alloc_node 2>/dev/null | sed 's/^/kmem:/' | sort | xargs)"
	"$KMT" boot --line | grep -q ' trace_buf_size=[0-9]*[MK] trace_clock=mono trace_options=nooverwrite$'
}

@test "each event of the buffer is in the recording, and the buffer is as it was" {
	report
	expect allocations "$(value summary.allocs)" = "$(count "$ALLOC")"
	expect frees "$(($(value summary.frees) + $(value quality.frees_before_start) +
		$(value quality.null_frees)))" = "$(count "$FREE")"
	expect "in the buffer" "$(stat_sum entries)" = "$(cat "$BATS_FILE_TMPDIR/entries")"
	expect "taken out" "$(stat_sum "read events")" = 0
	expect switched "$(cat "$T/tracing_on") $(cat "$T/events/kmem/kfree/enable")" = "0 1"
}

@test "the ten largest call sites are those of the text" {
	awk "$ALLOC"' { sub(/.*call_site=/, ""); sub(/\/.*/, ""); n[$0]++ }
		END { for (s in n) print n[s], s }' "$TEXT" | sort -rn | head -n 10 >"$D/want"
	report site
	while read -r n site; do
		expect "$site" "$(jq --arg s "$site" '[.rows[] | select(.site | split(" ")[0] == $s) |
			.allocs] | add // 0' "$OUT")" = "$n"
	done <"$D/want"
}

@test "times count from the boot" {
	grep -qE ' trace_clock=mono( |$)' /proc/cmdline || skip "the clock is another"
	# the first ones are of ticks of 4 ms or less: nothing happens at 1.0005 s
	awk "$ALLOC"' && match($0, / [0-9]+\.[0-9]+: /) && substr($0, RSTART) + 0 < 1.0005 { n++ }
		END { print n + 0 }' "$TEXT" >"$D/first"
	report --until 1000500us
	expect "in the first second" "$(value summary.allocs)" = "$(cat "$D/first")"
	expect "in the first second" "$(cat "$D/first")" -gt 1000
}

@test "losses are the kernel's own, by CPU, and in the recording" {
	report
	expect lost "$(value quality.lost_ring)" = "$LOST"
	[ "$LOST" -gt 0 ] || skip "nothing was lost"
	grep -q "CPU [0-9]*: 0 events overwritten, [0-9]* without room, 0 taken out" \
		"$BATS_FILE_TMPDIR/err" || fail "$(cat "$BATS_FILE_TMPDIR/err")"
	local status=0
	"$KMT" record --from-boot --strict -o "$D/x.kmt" 2>"$ERR" || status=$?
	expect "exit status" "$status" = 5
}

@test "the total is set against slabinfo, cache by cache" {
	[ "$LOST" = 0 ] || skip "events were lost"
	local cache traced active
	report slabinfo
	jq -r '.notes[] | select(test("begins with the boot"))' "$OUT" >"$D/note"
	sed 's/^/# /' "$D/note" >&3
	expect "percent explained" "$(sed 's/.*(\([0-9]*\)\.[0-9]%).*/\1/' "$D/note")" -ge 40
	for cache in kernfs_node_cache inode_cache shmem_inode_cache proc_inode_cache task_struct; do
		traced=$(jq --arg c "$cache" '[.rows[] | select(.cache == $c) | .balance.traced_net] | add // 0' "$OUT")
		active=$(awk -v c="$cache" '$1 == c { print $2 }' "$BATS_FILE_TMPDIR/slabinfo")
		echo "# boot: $cache: traced $traced, kernel ${active:-none}" >&3
		# several caches of one size: the events do not tell which
		[ "${active:-0}" -ge 200 ] && [ "$traced" != 0 ] || continue
		# slabinfo counts the free objects of the CPUs' slabs: two slabs at most here
		expect "$cache" "$traced" -le $((active + 64))
		expect "$cache" "$traced" -ge $((active * 8 / 10))
	done
}

@test "every view answers from it" {
	local view
	for view in $("$KMT" list --names views); do
		"$KMT" report "$F" "$view" --limit 3 >"$D/out" 2>"$ERR" && continue
		# what no event says, no recording of events can answer
		[ "$view" = cgroup ] && grep -q 'do not say in which cgroup' "$ERR" ||
			fail "$view: $(cat "$ERR")"
	done
}

@test "--stop switches the events off and nothing else" {
	"$KMT" record --from-boot --stop -o "$D/x.kmt" 2>"$ERR" || fail "$(cat "$ERR")"
	expect enabled "$(cat "$T"/events/kmem/{kfree,kmalloc,kmem_cache_alloc}/enable | xargs)" = "0 0 0"
	expect "in the buffer" "$(stat_sum entries)" = "$(cat "$BATS_FILE_TMPDIR/entries")"
}

@test "--clear records the same and leaves an empty buffer" {
	local status=0
	"$KMT" record --from-boot --clear -o "$D/x.kmt" 2>"$ERR" || fail "$(cat "$ERR")"
	F=$D/x.kmt
	report
	expect allocations "$(value summary.allocs)" = "$(count "$ALLOC")"
	expect frees "$(($(value summary.frees) + $(value quality.frees_before_start) +
		$(value quality.null_frees)))" = "$(count "$FREE")"
	expect lost "$(value quality.lost_ring)" = "$LOST"
	expect "in the buffer" "$(stat_sum entries)" = 0
	"$KMT" record --from-boot -o "$D/y.kmt" 2>"$ERR" || status=$?
	expect "exit status" "$status" = 3
	expect "error" "$(cat "$ERR")" = \
		"kmemtrace: the boot buffer is empty: it was taken out or cleared"
	[ ! -e "$D/y.kmt" ] || fail "an empty recording was left behind"
}
