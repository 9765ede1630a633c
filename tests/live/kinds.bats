#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
# Views with a known answer: System V messages of S bytes are kmallocs of S + 48
# bytes (struct msg_msg) at load_msg(), and nothing else on a normal machine
# allocates there. Each view is asked of counts (bpf) and of events (tracefs).

load lib.bash

setup_file() { live_setup_file; }
setup() { live_setup; need_root; SITE=$(msg_site); }
teardown() { live_teardown; }

# ask VIEW SOURCE [MSGQ OPTIONS]: the view of a run of msgq that receives what it sent.
ask() {
	if [ "$2" = bpf ]; then need_bpf; else need_tracefs; fi
	lossless measure "$@"
}

measure() {
	local view=$1 source=$2
	shift 2
	"$KMT" stat --buffer 16M --source "$source" --format json --limit 0 --by "$view" -- \
		"$LOAD/msgq" "$@" >"$OUT" 2>"$ERR" || fail "$(cat "$ERR")"
}

# The same, with the messages still there when the view is printed.
ask_held() {
	if [ "$2" = bpf ]; then need_bpf; else need_tracefs; fi
	lossless measure_held "$@"
}

measure_held() {
	rm -f "$D/go" "$D/phase"
	mkfifo "$D/go"
	measure "$@" -d -w "$D/go" -p "$D/phase"
	: >"$D/go"
	until_true 60 grep -q received "$D/phase"
}

# field NAME: of the one row of that site
field() {
	jq -r --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f)) | .$1] | map(tostring) | join(\",\")" "$OUT"
}

# class FIELD BYTES: of the row of a size class
class() {
	jq -r "[.rows[] | select(.layer == \"slab\" and .size_max_bytes == $2) | .$1] | first" "$OUT"
}

# 1000 + 48 = 1048 bytes in 2048
check_waste() {
	ask_held waste "$1" -n 600 -s 1000
	expect "live waste" "$(field waste_bytes)" = 600000
	expect "waste" "$(field waste_total_bytes)" = 600000
	expect "requests" "$(field request_bytes)" = 1048
	expect "given" "$(field object_size)" = 2048
	expect "fit" "$(field fit)" = "cache 1048"
	expect "spared per object" "$(field saved_bytes_per_object)" = 1000
	expect "spared live" "$(field saved_live_bytes)" = 600000
	expect "too long by" "$(field over_bytes)" = 24
}

@test "waste, counted: 1048 bytes in 2048, and the cache that would fit" {
	check_waste bpf
}

@test "waste, streamed: the same" {
	check_waste tracefs
}

@test "waste: messages that fill their objects waste nothing" {
	ask_held waste bpf -n 600 -s 976	# 976 + 48 = 1024
	expect "rows of $SITE" "$(field waste_bytes)" = ""
	ask_held site bpf -n 600 -s 976
	expect "given" "$(field live_bytes_allocated)" = $((600 * 1024))
}

# Other work on the machine can only add to a class.
@test "sizes: the class of the messages has them all, with their waste" {
	local source
	for source in bpf tracefs; do
		ask_held sizes "$source" -n 2000 -s 1000
		expect "allocations ($source)" "$(class allocs 2048)" -ge 2000
		expect "waste ($source)" "$(class waste_bytes 2048)" -ge 2000000
		expect "from ($source)" "$(class size_min_bytes 2048)" = 1025
		expect "live ($source)" "$(class live_bytes_allocated 2048)" -ge $((2000 * 2048))
	done
}

# Held for 300 ms: none lives shorter; how much longer is the machine's affair.
@test "lifetimes: messages held for 300 ms live at least that long" {
	local source
	for source in bpf tracefs; do
		ask site,lifetimes "$source" -n 500 -s 1000 -t 300
		expect "ended ($source)" "$(field lifetimes)" = 500
		expect "median ($source)" "$(field lifetime_p50_ns)" -ge 300000000
		# buckets end at 268 ms and below: nothing is there
		expect "shorter ($source)" \
			"$(jq -r --arg f "$SITE" "$JQ_SITE [.rows[] | select(at(\$f)) | .lifetimes_log2[:18][]] | map(tonumber) | add" "$OUT")" = 0
		ask lifetimes "$source" -n 500 -s 1000 -t 300
		expect "all sites ($source)" "$(jq '[.rows[] | select(.lifetime_min_ns >= 268435456) | .frees] | add' "$OUT")" -ge 500
		ask temporary "$source" -n 500 -s 1000 -t 300
		expect "temporary ($source)" "$(field temporary)" = ""
	done
}

@test "pingpong: from the sending CPU to the receiving one" {
	need_cpus 2
	local source
	for source in bpf tracefs; do
		ask pingpong "$source" -n 700 -s 1000 -c 0 -r 1
		expect "frees on another CPU ($source)" "$(field cross_cpu_frees)" = 700
		expect "share ($source)" "$(field 'cross_cpu_percent | floor')" = 100
		expect "bytes ($source)" "$(field cross_cpu_bytes)" = $((700 * 2048))
	done
	expect "pair" "$(field top_pair)" = "0 to 1"
	expect "its frees" "$(field top_pair_frees)" = 700
	expect "pairs" "$(field pairs)" = 1
	ask pingpong,cpu tracefs -n 700 -s 1000 -c 1 -r 0
	expect "1 to 0" "$(jq '[.rows[] | select(.from_cpu == 1 and .to_cpu == 0) | .cross_cpu_frees] | add' "$OUT")" -ge 700
}

@test "pairs of CPUs of counts: one line that says what it takes" {
	need_bpf
	run "$KMT" stat --source bpf --by pingpong,cpu -- true
	expect "exit status" "$status" = 2
	[[ $output == *"needs the event stream: record first"* ]]
}

@test "modules and subsystems: messages are vmlinux's, and msg" {
	ask_held module bpf -n 500 -s 1000
	expect "vmlinux" "$(jq '[.rows[] | select(.module == "vmlinux") | .live_bytes_allocated] | add' "$OUT")" -ge $((500 * 2048))
	ask_held subsystem bpf -n 500 -s 1000
	expect "msg" "$(jq '[.rows[] | select(.subsystem == "msg") | .live_bytes_allocated] | add' "$OUT")" = $((500 * 2048))
}

# The kernel's own count of the cache grows by the messages, and the trace explains it.
@test "slabinfo: traced change and the kernel's agree for the messages' cache" {
	ask_held site,cache bpf -n 3000 -s 1000
	local cache
	cache=$(field cache)
	ask_held slabinfo bpf -n 3000 -s 1000
	row() { jq -r --arg c "$cache" "[.rows[] | select(.cache == \$c or ((.aliases // []) | index(\$c))) | .$1] | first" "$OUT"; }
	expect "traced" "$(row balance.traced_net)" -ge 3000
	# what lies ready for a CPU counts as active before it is handed out
	expect "real" "$(row balance.real_net)" -ge $((3000 - $(row balance.tolerance)))
	expect "size" "$(row object_size)" = 2048
	expect "agreement" "$(row 'explained_percent | floor')" -ge 90
	expect "memory" "$(row memory_bytes)" -ge $((3000 * 2048))
}

@test "reclaimable: what sysfs says, of every cache, and a recording keeps it" {
	local dir=/sys/kernel/slab n=0 cache said
	[ -e "$dir/dentry/reclaim_account" ] || skip "this kernel tells of no cache"
	"$KMT" stat --by cache --limit 0 --format json -o "$D/r.kmt" -- "$LOAD/msgq" -n 100 -s 1000 >"$OUT"
	"$KMT" report --format json --limit 0 "$D/r.kmt" cache >"$D/report.json"
	while read -r cache said; do
		[ -e "$dir/$cache/reclaim_account" ] || continue
		expect "$cache" "$said" = "$([ "$(cat "$dir/$cache/reclaim_account")" = 1 ] && echo yes || echo no)"
		n=$((n + 1))
	done < <(jq -r '.rows[] | "\(.cache) \(.reclaimable)"' "$OUT")
	expect "caches seen" "$n" -ge 5
	expect "recorded" "$(jq -S '[.rows[] | [.cache, .reclaimable]] | sort' "$D/report.json")" = \
		"$(jq -S '[.rows[] | [.cache, .reclaimable]] | sort' "$OUT")"
	expect "reclaimable ones" "$("$KMT" stat --by slabinfo --limit 0 --format json --for 100ms |
		jq '[.rows[] | select(.cache == "dentry")][0].reclaimable')" = '"yes"'
}
