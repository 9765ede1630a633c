#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# A module from its load to its unload. kmt_test says itself what it leaves
# (tests/kmod/kmt_test.c); brd makes as many devices as it is told, each from one
# kzalloc() of brd_alloc(). Both are there in the virtual machines of tests/vm.

load lib.bash

MODULES=${KMT_TEST_MODULES:-$B/tests/modules}

setup_file() { live_setup_file; }
setup() { live_setup; need_bpf; }

teardown() {
	live_teardown
	for name in kmt_test brd; do
		[ ! -e "/sys/module/$name/initstate" ] || rmmod "$name"
	done
}

# need_module NAME: its file in KO
need_module() {
	KO=$MODULES/$1.ko
	[ -e "$KO" ] || skip "there is no $1.ko for this kernel"
	[ ! -e "/sys/module/$1" ] || skip "$1 is there already"
}

# What came and went, as one command for kmemtrace to run.
come_and_go() {
	echo "insmod $KO $* && rmmod kmt_test"
}

# follow [OPTIONS] -- CMD
follow() {
	"$KMT" stat --module kmt_test --format json --limit 0 "$@" >"$OUT" 2>"$ERR" ||
		fail "status $?: $(cat "$ERR")"
}

# What the module said when it went, the last time.
left() {
	dmesg | sed -n "s/.*kmt_test: left .*$1=\\([0-9]*\\).*/\\1/p" | tail -n 1
}

# The calls of the survivors' stacks, without offsets.
calls() {
	jq -r '.rows[] | select(.surviving_objects > 0) | .stack | map(sub("\\+0x.*"; "")) | join(" ")' "$OUT"
}

@test "what the init function leaves is told, with its stack" {
	need_module kmt_test
	follow -- sh -c "$(come_and_go objects=7 size=100 leak=3)"
	expect "it says" "$(left kmalloc)" = 3
	expect survivors "$(value summary.surviving_objects)" = 3
	expect "rows" "$(total surviving_objects)" = 3
	# 100 bytes come from kmalloc-128
	expect bytes "$(value summary.surviving_bytes)" = 384
	expect loads "$(value summary.module_loads)" = 1
	# 7 objects and three tables of pointers
	expect allocs "$(value summary.allocs)" = 10
	expect frees "$(value summary.frees)" = 7
	[[ $(calls) == "take_objects_in_init kmt_test_init do_one_initcall"* ]] ||
		fail "stack: $(calls)"
	jq -e '.rows[0].site | test("^take_objects_in_init\\+0x[0-9a-f]+ \\[kmt_test\\]$")' "$OUT"
	jq -e '.summary.module_unloaded_ns > .summary.module_loaded_ns' "$OUT"
	jq -e '.rows[0] | .age_min_ns <= .age_max_ns and .age_min_ns >= 0' "$OUT"
}

@test "where all is freed, nothing survives" {
	need_module kmt_test
	follow -- sh -c "$(come_and_go objects=1000 size=3000 cache_objects=500)"
	expect "it says" "$(left kmalloc)$(left cache)" = 00
	expect allocs "$(value summary.allocs)" = 1503
	expect frees "$(value summary.frees)" = 1503
	expect survivors "$(value summary.surviving_objects)" = 0
	expect rows "$(value rows_total)" = 0
	jq -e '.notes | any(test("nothing that its code allocated survives"))' "$OUT"
}

@test "what a work item, the exit function and a failed init leave" {
	need_module kmt_test
	follow -- sh -c "$(come_and_go in_work=1 objects=9 leak=2)"
	expect "work item" "$(value summary.surviving_objects)" = 2
	[[ $(calls) == "take_objects work_fn process_one_work"* ]] || fail "stack: $(calls)"
	follow -- sh -c "$(come_and_go in_exit=1 objects=4)"
	expect "exit function" "$(value summary.surviving_objects)" = 1
	[[ $(calls) == "kmt_test_exit"* ]] || fail "stack: $(calls)"
	follow -- sh -c "! insmod $KO fail=1 objects=6 leak=5"
	expect "it says" "$(left kmalloc)" = 5
	expect "failed init" "$(value summary.surviving_objects)" = 5
	[[ $(calls) == "take_objects_in_init kmt_test_init"* ]] || fail "stack: $(calls)"
}

@test "every load of a run is followed" {
	need_module kmt_test
	follow -- sh -c "for i in 1 2 3 4 5; do $(come_and_go objects=6 leak=2); done"
	expect loads "$(value summary.module_loads)" = 5
	expect survivors "$(value summary.surviving_objects)" = 10
	expect rows "$(total surviving_objects)" = 10
	expect allocs "$(value summary.allocs)" = 45
}

@test "a module that is there already is followed from then on" {
	need_module kmt_test
	insmod "$KO" objects=5 leak=4 in_exit=1
	follow -- rmmod kmt_test
	# what it took before is not known
	expect survivors "$(value summary.surviving_objects)" = 1
	[[ $(calls) == "kmt_test_exit"* ]] || fail "stack: $(calls)"
	expect "loaded before" "$(value summary.module_loaded_ns)" = null
}

@test "without a command the trace ends when the module has gone" {
	need_module kmt_test
	background "$KMT" stat --module kmt_test --format json >"$OUT" 2>"$ERR"
	wait_attached "$JOB"
	insmod "$KO" objects=5 leak=1
	sleep 0.3
	kill -0 "$JOB" || fail "it ended while the module was there"
	rmmod kmt_test
	wait "$JOB" || fail "status $?: $(cat "$ERR")"
	expect survivors "$(value summary.surviving_objects)" = 1
}

@test "a module that stays has no survivors; one that never comes is no error" {
	need_module kmt_test
	follow -- insmod "$KO" objects=5 leak=1
	expect survivors "$(value summary.surviving_objects)" = null
	expect live "$(value summary.live_objects)" = 8
	jq -e '.notes | any(test("is still there"))' "$OUT"
	rmmod kmt_test
	follow -- true
	expect loads "$(value summary.module_loads)" = 0
	jq -e '.notes | any(test("was never loaded"))' "$OUT"
}

@test "what is in a cache when it is destroyed is told, and not called live" {
	need_module kmt_test
	need_function kmem_cache_destroy
	"$KMT" doctor --format json | jq -e '.rows[] | select(.check == "cache destruction") | .status == "ok"' ||
		skip "functions cannot be attached to"
	local by
	for by in bulk bulk:kprobe; do
		follow --tracer "slab,$by" --by cache -- \
			sh -c "$(come_and_go objects=5 cache_objects=9 cache_leak=4)"
		expect "it says" "$(left cache)" = 4
		expect survivors "$(value summary.surviving_objects)" = 0
		expect live "$(jq '[.rows[] | select(.cache == "kmt_test_cache") | .live_objects] | add' "$OUT")" = 0
		jq -e '.notes | any(test("4 objects were in the cache .kmt_test_cache. when it was destroyed"))' "$OUT"
		[[ $(value quality.functions) == *cache_destroy* ]] ||
			fail "not told: $(value quality.functions)"
	done
}

@test "filters and views combine with it" {
	need_module kmt_test
	follow --by cache --filter cache=kmt_test_cache -- \
		sh -c "$(come_and_go objects=7 cache_objects=40)"
	expect rows "$(value 'rows | length')" = 1
	expect allocs "$(value 'rows[0].allocs')" = 40
	expect requested "$(value 'rows[0].bytes_requested')" = $((40 * 200))
	# the cache has a constructor, so the pointer to the next free object is behind it
	expect size "$(value 'rows[0].object_size')" = 208
	follow --by site,cache -- sh -c "$(come_and_go objects=7 cache_objects=40)"
	expect "by site" "$(sum allocs take_objects_in_init)" = 7
	expect "by site" "$(sum allocs take_cached)" = 40
}

# bulk FIELD: of the module's cache
bulk() {
	jq "[.rows[] | select(.cache == \"kmt_test_bulk\") | .$1] | add // 0" "$OUT"
}

# 30 calls of 4 objects at once. A return probe has room for 10 of them on 2 CPUs; on
# 5.10 without preemption for one on each CPU (register_kretprobe(), kernel/kprobes.c).
return_room() {
	[[ $(uname -r) == 5.* && $(uname -v) != *PREEMPT* ]] || { echo 10; return; }
	n_possible_cpus
}

@test "bulk allocations whose return probe the kernel missed are counted" {
	need_module kmt_test
	need_function kmem_cache_alloc_bulk
	local untold
	"$KMT" stat --tracer slab,bulk:kprobe --by cache --format json --limit 0 -- \
		sh -c "insmod $KO bulk_calls=30 && rmmod kmt_test" >"$OUT" 2>"$ERR" ||
		fail "status $?: $(cat "$ERR")"
	[[ $(value quality.functions) == "kprobe: alloc_bulk"* ]] || skip "no kprobes here"
	echo "seen $(bulk allocs), misses $(value quality.recursion_misses)" >&2
	[ "$(nproc)" -gt 5 ] || expect "of the calls with room" "$(bulk allocs)" = $((4 * $(return_room)))
	expect "all are told" $(($(bulk allocs) + $(value quality.recursion_misses))) -ge 120
	# told since Linux 6.7 (docs/SUPPORT.md)
	untold=4
	[ "$(printf '6.7\n%s\n' "$(uname -r)" | sort -V | head -n 1)" != 6.7 ] || untold=0
	expect "kprobes of which it is not told" "$(value quality.misses_untold)" = "$untold"
	"$KMT" stat --tracer slab,bulk --format json -- true >"$OUT"
	[[ $(value quality.functions) != fentry:* ]] ||
		expect "of fentry" "$(value quality.misses_untold)" = 0
}

@test "a module of the kernel's own: five devices of brd come and go" {
	need_module brd
	"$KMT" stat --module brd --by site,cache --format json --limit 0 -- \
		sh -c "insmod $KO rd_nr=5 && ls /sys/block >$D/devices && rmmod brd" >"$OUT" 2>"$ERR"
	expect devices "$(grep -c '^ram' "$D/devices")" = 5
	expect allocs "$(sum allocs 'brd_alloc[.a-z0-9]*')" = 5
	expect frees "$(sum frees 'brd_alloc[.a-z0-9]*')" = 5
	expect survivors "$(value summary.surviving_objects)" = 0
}

@test "what is built in is refused" {
	[ -d /sys/module/printk ] && [ ! -e /sys/module/printk/initstate ] || skip "no such module"
	grep -qs . /proc/modules || [ -e /proc/modules ] || skip "this kernel cannot load modules"
	run "$KMT" stat --module printk --for 1s
	[ "$status" != 0 ] || fail "got: $output"
	[[ $output == *"'printk' is built into this kernel"* ]] || fail "got: $output"
}
